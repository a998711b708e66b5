package cluster

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Houdayer gives every chain a second replica y of its state x and exchanges clusters
// between the two (Houdayer 2001). A step moves each of them once by Base, and then
// draws a site at which they differ, uniformly; the sites at which they differ and that
// neighbours lead to from there are the cluster C; x_C and y_C change places. Outside C
// all neighbours of C are equal in x and y, so that
//
//	E(x') + E(y') = E(x) + E(y)
//
// and the exchange is always accepted, whatever the energies, couplings, fields and
// levels: p(x)·p(y) is invariant, and the exchange is its own way back. It carries
// whole domains over barriers that changes of single sites do not pass, in spin glasses
// on graphs whose clusters of different sites do not all hang together: lattices of two
// dimensions, or diluted ones. Where most sites are in one cluster it renames the two
// replicas and gains nothing. Use it as the Base of mcmc.Tempering, where every
// temperature then has its pair.
//
// The model must be an energy.Graphical one. An exchange that leads out of what Base
// can start from, such as its language Within, is taken back, which leaves p restricted
// to that invariant. States and energies are those of x; Info.Rungs shows both replicas,
// at β = 1. A step costs two steps of Base and, where something was exchanged, an energy
// and a fresh start of Base's caches for each replica.
type Houdayer struct {
	// Base moves the replicas; nil means mcmc.Gibbs{}. What it tunes during warm-up it
	// tunes for each of the two on its own.
	Base sampler.Method
}

// Name implements [sampler.Named].
func (Houdayer) Name() string { return "houdayer" }

// Kernel implements [sampler.Method].
func (h Houdayer) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("cluster: Houdayer", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if h.Base == nil {
		h.Base = mcmc.Gibbs{}
	}
	if err := check.Given("cluster: Houdayer", "Base", h.Base); err != nil {
		return nil, err
	}
	graph, ok := energy.As[energy.Graphical](m)
	if !ok {
		return nil, fmt.Errorf("cluster: Houdayer: model = %T, want an energy.Graphical one, whose neighbours are known", m)
	}
	k := apart.New(houdayer{
		model: m, sites: sites, levels: levels, chains: chains,
		y: apart.Make[int32](chains * sites), was: apart.Make[int32](chains * sites),
		told: apart.Make[sampler.Info](chains), swapped: apart.Make[[]int32](chains), in: apart.Make[bool](sites),
	})
	k.start, k.adj = graph.Graph()
	for j := range k.base {
		if k.base[j], err = h.Base.Kernel(ctx, m, chains); err != nil {
			return nil, err
		}
		k.e[j] = make([]float64, chains)
	}
	k.views = make([]replicas, chains)
	for s := range k.views {
		k.views[s] = replicas{k: k, chain: s, x: [2][]int32{make([]int32, sites), k.state(k.y, s)}}
		k.swapped[s] = make([]int32, 0, sites)
	}
	k.different = make([]int32, sites)
	return k, nil
}
