package mcmc

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Scan is the order in which a sweep visits sites.
type Scan int

const (
	// Automatic is Chromatic where a model has a kernel that is faster in that
	// order, or one that the kernel chooses, and Systematic otherwise.
	Automatic Scan = iota

	// Systematic visits sites 0, 1, 2, …. Leaves π invariant; not reversible.
	Systematic

	// Random visits as many sites as there are, each drawn uniformly.
	// Reversible; about half as fast as Systematic.
	Random

	// Chromatic visits the colours of a greedy colouring of the model's graph
	// in turn; sites of one colour do not interact. Needs energy.Graphical.
	Chromatic
)

func (s Scan) String() string {
	switch s {
	case Automatic:
		return "automatic"
	case Systematic:
		return "systematic"
	case Random:
		return "random"
	case Chromatic:
		return "chromatic"
	}
	return fmt.Sprintf("Scan(%d)", int(s))
}

// Gibbs redraws one site at a time from its exact conditional
//
//	p(x_i = l | rest) ∝ exp(−E(x with x_i = l)),
//
// by exact differences (heat bath; Geman and Geman 1984). A step is a sweep of as many updates
// as there are sites. On weakly coupled sparse models it is the kernel to beat: models of two
// levels and pairs, and Ising and Potts models, are redrawn many sites or chains at a time,
// there with conditionals rounded to multiples of 2⁻⁵³ or finer, in float64 elsewhere; the
// chains of a block may then share a random stream.
type Gibbs struct {
	Scan Scan // order of the sites; the zero value, Automatic, is the fastest
}

// Name implements [sampler.Named].
func (Gibbs) Name() string { return "gibbs" }

// Kernel implements [sampler.Method].
func (g Gibbs) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("mcmc: Gibbs", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if g.Scan < Automatic || g.Scan > Chromatic {
		return nil, fmt.Errorf("mcmc: Gibbs: Scan = %v, want Automatic, Systematic, Random or Chromatic", g.Scan)
	}
	r := &request{method: "Gibbs", scan: g.Scan, m: m, sites: sites, levels: levels, chains: chains}
	if k := follow(ctx, g, m, chains, r.kernel); k != nil {
		return k, nil
	}
	return r.kernel()
}

// order returns the free sites in the order of a sweep; all, which stay as they are, if none
// are.
func order(method string, scan Scan, m energy.Model) ([]int32, error) {
	sites, _ := m.Shape()
	_, fixed := unclamped(m)
	if freeOf(fixed, sites) == 0 {
		fixed = nil
	}
	sweep := make([]int32, 0, sites)
	visit := func(i int) {
		if fixed == nil || fixed[i] < 0 {
			sweep = append(sweep, int32(i))
		}
	}
	if scan != Chromatic {
		for i := range sites {
			visit(i)
		}
		return sweep, nil
	}
	g, ok := energy.As[energy.Graphical](m)
	if !ok {
		return nil, fmt.Errorf("mcmc: %s: Scan = %v needs an energy.Graphical model, %T is not", method, scan, m)
	}
	colour, colours := colouring(g.Graph())
	for c := range colours {
		for i, ci := range colour {
			if int(ci) == c {
				visit(i)
			}
		}
	}
	return sweep, nil
}

type gibbs struct {
	sitewise
	updates  int
	order    []int32 // nil: random scan
	w        []float64
	unpolled int // updates between two questions whether to stop
}

var (
	_ sampler.Costed    = (*gibbs)(nil)
	_ sampler.Exchanger = (*gibbs)(nil)
)

// Step implements [sampler.Transition]. It asks whether to stop every few thousand sites.
func (k *gibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.step(ctl, k, info, x, r, k.updates)
}

// walk implements walker.
func (k *gibbs) walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	for made < n && k.at.told[s].Err == nil && !k.at.stopped {
		m := min(n-made, k.unpolled)
		k.sweep(k.at.update+made, m, s, x, &r[s])
		made += m
		k.at.done(pollWork)
	}
	return made
}

// sweep makes updates first … first+n−1 of chain s at state x.
func (k *gibbs) sweep(first, n, s int, x []int32, r *sampler.Stream) {
	told := &k.at.told[s]
	told.Accept = 1
	for at := first; at < first+n; at++ {
		i := 0
		if k.order != nil {
			i = int(k.order[at])
		} else {
			i = r.IntN(k.sites)
		}
		row := k.row(s, i, x)
		l := heatBath(k.w, row, r.Float64())
		if l < 0 {
			told.Err = fmt.Errorf("site %d: %w", i, sampler.ErrNaN)
			return
		}
		if int32(l) != x[i] {
			k.move(s, i, int32(l), x, row)
			told.Moved++
		}
	}
}

func (k *gibbs) UnmarshalBinary(b []byte) error { return k.restore(b, k.updates) }
