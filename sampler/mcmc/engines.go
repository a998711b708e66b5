package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// request is what a kernel of sweeps is asked for.
type request struct {
	method        string
	scan          Scan
	m             energy.Model
	sites, levels int
	chains        int
	sweeps        [Chromatic + 1][]int32 // by scan, once somebody wants one
}

// order returns the free sites in the order of a scan, nil for a random one.
func (r *request) order(scan Scan) (sweep []int32, err error) {
	if scan != Random && r.sweeps[scan] == nil {
		r.sweeps[scan], err = order(r.method, scan, r.m)
	}
	return r.sweeps[scan], err
}

// Sets of scans.
const (
	byColour = 1<<Automatic | 1<<Chromatic
	inOrder  = byColour | 1<<Systematic
	inAny    = inOrder | 1<<Random
)

// gibbsEngines are the kernels of [Gibbs]: the first one that takes a model moves it. Each
// says how it holds states, how conditionals are rounded, and, by cost_constants.go, what a
// site of a chain takes: those that hold all chains of a block together, in blocks of 32.
// make returns nil where another does better.
var gibbsEngines = []struct {
	name   string
	models string
	scans  int
	make   func(r *request) (sampler.Kernel, error)
}{
	{"words", "two levels, pairs of one strength and any sign, ≤ 7 neighbours, ≤ 32 kinds of sites, < 32 sites for each chain: a chain is a bit; 2⁻⁶⁴; .4 ns", byColour,
		func(r *request) (sampler.Kernel, error) {
			if r.sites >= wordSites*r.chains {
				return nil, nil
			}
			return made(newWordGibbs(r.m, r.chains))
		}},
	{"torus", "energy.Toroidal with even sides: a site is a bit, hundreds at a time; 2⁻⁶⁴; .2 ns", byColour,
		func(r *request) (sampler.Kernel, error) { return made(newTorusGibbs(r.m, r.chains)) }},
	{"words", "as above, with more sites", byColour,
		func(r *request) (sampler.Kernel, error) { return made(newWordGibbs(r.m, r.chains)) }},
	{"rows", "as words with ≤ 127 neighbours and 256 kinds of fields, ≥ 8 chains a block: a chain is a byte; 2⁻⁶⁴; .5 ns and .01 ns a neighbour", inOrder,
		func(r *request) (sampler.Kernel, error) {
			scan, sweep := r.scan, []int32(nil)
			if scan != Automatic {
				var err error
				if sweep, err = r.order(scan); err != nil {
					return nil, err
				}
			}
			return made(newRowGibbs(r.m, r.chains, sweep))
		}},
	{"table", "energy.Matching, ≤ 16 neighbours on average: looked up by neighbours; 2⁻⁵³; 14 ns and 1.5 ns a neighbour", byColour,
		func(r *request) (sampler.Kernel, error) { return made(newSparseGibbs(r.m, r.chains)) }},
	{"counts", "energy.Matching of two levels, more neighbours: looked up by a count of them; 2⁻⁶⁴; 10 ns and 1.5 ns a neighbour of a site that changes", inOrder,
		func(r *request) (sampler.Kernel, error) {
			if !dense(r.m) {
				return nil, nil
			}
			sweep, err := r.order(r.scan)
			if err != nil {
				return nil, err
			}
			return made(newDenseGibbs(r.m, r.chains, sweep))
		}},
	{"memo", "energy.Graphical and Conditional of two levels, ≤ 2¹⁶ conditionals, ≤ 2¹³ where couplings can be added up: remembered by states of neighbours; 14 ns and 1.5 ns a neighbour", inOrder,
		func(r *request) (sampler.Kernel, error) {
			known := newMemo(r.m)
			whole, _ := unclamped(r.m)
			if known == nil || r.scan != Systematic && len(known.up) > memoPairs && sparsePairs(whole) != nil {
				return nil, nil
			}
			scan := r.scan
			if scan == Automatic { // sites of one colour do not wait for each other
				scan = Chromatic
			}
			sweep, err := r.order(scan)
			return apart.New(memoGibbs{sitewise: newSitewise(newUncached(r.m, r.chains)), memo: known, order: sweep}), err
		}},
	{"fields", "two levels, pairs, ≤ 16 neighbours on average: couplings added up; 14 ns and 1.5 ns a neighbour", byColour,
		func(r *request) (sampler.Kernel, error) { return made(newFieldGibbs(r.m, r.chains)) }},
	{"differences", "all models: energy.Local caches, or energy.Conditional, or one energy a level; 42 ns and what the model takes", inAny,
		func(r *request) (sampler.Kernel, error) {
			sweep, err := r.order(r.scan)
			updates := len(sweep)
			if r.scan == Random {
				updates = r.sites
			}
			k := apart.New(gibbs{updates: updates, order: sweep, sitewise: newSitewise(newLocals(r.m, r.chains)), w: apart.Make[float64](r.levels)})
			k.unpolled = max(1, pollWork/k.rowWork())
			return k, err
		}},
}

// choose returns the first engine that takes the model, and its kernel.
func (r *request) choose() (name string, k sampler.Kernel, err error) {
	for at := 0; k == nil && err == nil; at++ { // the last one takes all
		if e := &gibbsEngines[at]; e.scans>>r.scan&1 == 1 {
			name = e.name
			k, err = e.make(r)
		}
	}
	return name, k, err
}

// kernel returns that of the first engine that takes the model.
func (r *request) kernel() (sampler.Kernel, error) {
	_, k, err := r.choose()
	return k, err
}

// made returns a kernel, or nil if it is a pointer that is nil.
func made[K any, P interface {
	*K
	sampler.Kernel
}](k P) (sampler.Kernel, error) {
	if k == nil {
		return nil, nil
	}
	return k, nil
}
