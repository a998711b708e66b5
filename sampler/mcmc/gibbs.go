package mcmc

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Scan is the order in which a sweep visits sites.
type Scan int

const (
	// Automatic is Chromatic where a model has a kernel that is faster in that
	// order, or one that the kernel chooses (see [Gibbs]), and Systematic otherwise.
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
// in float64 (heat bath; Geman and Geman 1984). A step is a sweep of as many
// updates as there are sites.
//
// It uses exact differences only: cached ones of an energy.Local model, at the
// cost of a site's neighbourhood per change; those of an energy.Conditional
// model otherwise; and failing that one evaluation of the energy per level. The
// first-order table of energy.Differentiable is never used.
//
// Seven kinds of models have faster kernels; Automatic and Chromatic use them all, in the
// order of this list, a fixed order those of which that is said.
//
// Of an energy.Toroidal model with even sides, unless it has fewer than 32 sites a chain of
// the block, the first holds a site as a bit and redraws hundreds at a time, by colour, a
// hundred times faster and on several cores if there are fewer chains than those;
// conditionals are rounded to multiples of 2⁻⁶⁴. The second does so with the chains of a
// block, two at least, of an energy.Matching model of two levels or of one of pairs
// (ground.Pairwise) whose couplings have one strength and any sign, with at most seven
// neighbours a site and 32 kinds of sites by field and number of neighbours of either
// sign: a bit is a chain there, and all chains of a block draw from the stream of the
// first. The third takes these models with at most 127 neighbours a site, in blocks of
// eight chains and more and in any order but Random (that of Automatic is one of its own),
// whatever the temperature: a byte is a chain there, all chains of a block draw from the
// stream of the first, and one visit redraws a site in all of them, which takes as long
// for 32 chains as for one; it wants at most 256 kinds of sites by field, of which those
// whose fields differ by multiples of the coupling are one. Steps that nobody reads are made
// by two blocks side by side, where the processor has AVX-512.
//
// Of an energy.Matching model (Ising, Potts) on a sparse graph, at most 16 neighbours on
// average, the fourth looks conditionals up by the levels of the neighbours, about ten
// times faster, by colour; these are rounded to multiples of 2⁻⁵³. Of a Matching model of
// two levels on a denser graph the fifth keeps how many neighbours are in state 1, as
// integers, and looks conditionals up by that, in any order but Random. The sixth
// remembers the conditionals of any other energy.Graphical and Conditional model of two
// levels by the states of the neighbours, whatever couplings and fields differ from site
// to site, if there are at most 2¹⁶ of them in all; in any order but Random, and by colour
// in that of Automatic. The seventh, for Automatic and Chromatic, adds up the couplings to
// the neighbours at every visit of larger models of two levels and pairs with at most 16
// neighbours on average, by colour. The second, the fourth and the seventh share a large state out
// among several cores, too.
//
// On weakly coupled sparse models it is the kernel to beat.
type Gibbs struct {
	Scan Scan // order of the sites; the zero value is Automatic
}

// Name implements [sampler.Named].
func (Gibbs) Name() string { return "gibbs" }

// Kernel implements [sampler.Method].
func (g Gibbs) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	sites, levels, err := check.Shape("mcmc: Gibbs", m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if g.Scan == Automatic || g.Scan == Chromatic {
		if sites < wordSites*chains {
			if k := newWordGibbs(m, chains); k != nil {
				return k, nil
			}
		}
		if k := newTorusGibbs(m, chains); k != nil {
			return k, nil
		}
		if k := newWordGibbs(m, chains); k != nil {
			return k, nil
		}
		var sweep []int32
		if g.Scan == Chromatic {
			sweep, err = order("Gibbs", g.Scan, m)
		}
		if err == nil {
			if k := newRowGibbs(m, chains, sweep); k != nil {
				return k, nil
			}
		}
		if k := newSparseGibbs(m, chains); k != nil {
			return k, nil
		}
	}
	var sweep []int32
	switch g.Scan {
	case Automatic, Systematic, Chromatic:
		if sweep, err = order("Gibbs", g.Scan, m); err != nil {
			return nil, err
		}
		if k := newRowGibbs(m, chains, sweep); k != nil {
			return k, nil
		}
		if dense(m) {
			if fast := newDenseGibbs(m, chains, sweep); fast != nil {
				return fast, nil
			}
		}
		if known := newMemo(m); known != nil {
			if g.Scan == Automatic { // sites of one colour do not wait for each other
				sweep, _ = order("Gibbs", Chromatic, m)
			}
			return apart.New(memoGibbs{locals: newUncached(m, chains), memo: known, order: sweep}), nil
		}
		if g.Scan != Systematic {
			if k := newFieldGibbs(m, chains); k != nil {
				return k, nil
			}
		}
	case Random:
	default:
		return nil, fmt.Errorf("mcmc: Gibbs: Scan = %v, want Automatic, Systematic, Random or Chromatic", g.Scan)
	}
	k := apart.New(gibbs{sites: sites, levels: levels, order: sweep, locals: newLocals(m, chains), w: apart.Make[float64](levels)})
	k.unpolled = max(1, pollWork/k.rowWork())
	return k, nil
}

// order returns the sites in the order of a sweep.
func order(method string, scan Scan, m energy.Model) ([]int32, error) {
	sites, _ := m.Shape()
	sweep := make([]int32, 0, sites)
	if scan != Chromatic {
		for i := range sites {
			sweep = append(sweep, int32(i))
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
				sweep = append(sweep, int32(i))
			}
		}
	}
	return sweep, nil
}

type gibbs struct {
	sites, levels int
	*locals
	order []int32 // nil: random scan
	w     []float64

	unpolled int // updates between two questions whether to stop
}

var _ sampler.Costed = (*gibbs)(nil)

// Step implements [sampler.Transition]. It asks whether to stop every few thousand sites.
func (k *gibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.step(ctl, k, info, x, r, k.sites)
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

func (k *gibbs) UnmarshalBinary(b []byte) error { return k.restore(b, k.sites) }
