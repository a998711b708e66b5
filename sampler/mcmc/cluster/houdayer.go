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
// between the two (Houdayer 2001). A step moves each of them once by Base. It then draws
// uniformly a site at which they differ. The cluster C is the connected component of that
// site in the graph of differing sites; x_C and y_C change places. All neighbours of C
// outside C are equal in x and y, so
//
//	E(x') + E(y') = E(x) + E(y)
//
// and the exchange is always accepted, for any couplings, fields and levels: p(x)·p(y) is
// invariant, and the exchange is its own reverse. It carries whole domains over barriers
// that single-site changes do not cross. It helps in spin glasses on lattices of two
// dimensions or diluted graphs, where differing sites form many clusters. If most sites are
// in one cluster, it only swaps the two replicas and gains nothing. Use it as the Base of
// mcmc.Tempering; every temperature then has two replicas.
//
// The model must be energy.Graphical. An exchange to states that Base cannot start from,
// such as one outside its language Within, is undone, which leaves p restricted to those
// states invariant. States and energies are those of x; Info.Rungs shows both replicas, at
// β = 1. A step costs two steps of Base and, after an exchange, an energy and a Reset of
// Base for each replica.
type Houdayer struct {
	// Base moves the replicas; nil means mcmc.Gibbs{}. During warm-up it is tuned
	// separately for each of the two.
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
		second: apart.Make[sampler.Info](chains), swapped: apart.Make[[]int32](chains), in: apart.Make[bool](sites),
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
