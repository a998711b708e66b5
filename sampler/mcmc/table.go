package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
)

// table evaluates a model together with the energy differences for every level of every site.
type table struct {
	sites, levels int

	// whole is the model's own first-order table, computed in one call. It is nil if the model
	// has none or if exact differences are required. These are computed from conditional, row by
	// row with checks for a stop, or from local, all rows of a state together.
	whole       func(e []float64, g []float32, x []int32)
	model       energy.Model
	conditional energy.Conditional
	local       energy.Local
	d           []float64

	// field, if not nil, makes the table compact: one column, with the energy difference of
	// flipping the site.
	field func(e []float64, h []float32, x []int32)
}

// newCompactTable returns a table with one column if the model is a two-level energy.Binary, and
// otherwise the table of newTable.
func newCompactTable(m energy.Model) *table {
	b, ok := energy.As[energy.Binary](m)
	if sites, levels := m.Shape(); ok && levels == 2 {
		return &table{sites: sites, levels: levels, model: m, field: b.Field}
	}
	return newTable(m)
}

// cols returns the number of columns of the table.
func (t *table) cols() int {
	if t.field != nil {
		return 1
	}
	return t.levels
}

// newTable returns the first-order table of a model, or an exact table if the model has no such
// table.
func newTable(m energy.Model) *table {
	sites, levels := m.Shape()
	t := &table{sites: sites, levels: levels, model: m}
	_, gradient := energy.As[energy.Differentiable](m)
	_, field := energy.As[energy.Binary](m)
	_, window := energy.As[energy.Windowed](m)
	if gradient || field && levels == 2 || window {
		t.whole = energy.Differences(m).Gradient
		return t
	}
	t.conditional, t.d = energy.Conditionals(m), make([]float64, levels)
	return t
}

// newExactTable returns a table of exact energy differences.
func newExactTable(m energy.Model) *table {
	sites, levels := m.Shape()
	t := &table{sites: sites, levels: levels, model: m}
	sweep.Prepare(m)
	if local, ok := energy.As[energy.Local](m); ok {
		t.local, t.d = local, make([]float64, sites*levels)
		return t
	}
	t.conditional, t.d = energy.Conditionals(m), make([]float64, levels)
	return t
}

// work returns the number of elementary operations of evaluating one state.
func (t *table) work() int {
	if t.conditional == nil {
		return sweep.Times(t.sites, t.cols())
	}
	return sweep.Times(t.sites, sweep.Times(t.sites, t.levels))
}

// evaluate stores in e and g the energies and differences of the states x. It returns false if it
// was stopped and must be called again.
func (t *table) evaluate(e []float64, g []float32, x []int32, at *sweep.Cursor) bool {
	if t.whole != nil {
		t.whole(e, g, x)
		return true
	}
	if t.field != nil {
		t.field(e, g, x)
		for i, l := range x {
			if l == 1 {
				g[i] = -g[i]
			}
		}
		return true
	}
	if at.Part == 0 {
		t.model.Energy(e, x)
	}
	if t.local != nil {
		for s := range e {
			state, rows := x[s*t.sites:(s+1)*t.sites], g[s*len(t.d):(s+1)*len(t.d)]
			t.local.Locals(t.d, state)
			for i, l := range state {
				difference(rows[i*t.levels:(i+1)*t.levels], t.d[i*t.levels:(i+1)*t.levels], l)
			}
		}
		return true
	}
	for ; at.Part < len(x); at.Part++ {
		if at.Stopped {
			return false
		}
		i := at.Part
		first := i - i%t.sites
		t.conditional.Conditional(t.d, i-first, x[first:first+t.sites])
		difference(g[i*t.levels:(i+1)*t.levels], t.d, x[i])
		at.Done(sweep.Times(t.sites, t.levels))
	}
	at.Part = 0
	return true
}

// weigh stores in w the weights of all single-site changes of the states x, and in sum the total
// weight of each state. The slice g holds the energy differences. The weight of the current level
// of a site is 0.
func (t *table) weigh(w []float32, sum []float64, g []float32, x []int32, balance Balance) {
	if balance == Barker && t.sigmoids(w, sum, g, x) {
		return
	}
	balance.logs(w, g)
	t.mask(w, x, float32(math.Inf(-1)))
	simd.Weights(w, sum, w, t.sites*t.cols(), leastWeight)
}

// mask stores v in the entry of the current level of each site. A compact table has no such
// entries.
func (t *table) mask(w []float32, x []int32, v float32) {
	if t.field != nil {
		return
	}
	for i, l := range x {
		w[i*t.levels+int(l)] = v
	}
}

// sigmoids computes the weights of weigh for Barker's function, t/(1+t) = σ(−d), without
// logarithms. It returns false if a difference is NaN. It also returns false if this is too
// inaccurate, because all weights of a state are near leastWeight.
func (t *table) sigmoids(w []float32, sum []float64, g []float32, x []int32) bool {
	for i, d := range g {
		w[i] = -d
	}
	simd.SigmoidTo(w, w)
	for i, d := range g {
		if w[i] < leastWeight && d <= math.MaxFloat32 {
			w[i] = leastWeight
		}
	}
	t.mask(w, x, 0)
	n := t.sites * t.cols()
	for s := range sum {
		if sum[s] = simd.Sum(w[s*n : (s+1)*n]); !(sum[s] > fineWeights) {
			return false
		}
	}
	return true
}

// fineWeights is the least accurate sum of weights. It is far above [leastWeight], so that
// weights raised to leastWeight hardly contribute.
const fineWeights = 0x1p-20

// difference stores in g the differences d[l] − d[level] for all levels l.
func difference(g []float32, d []float64, level int32) {
	own := d[level]
	for l, v := range d {
		g[l] = float32(v - own)
	}
}

// changes evaluates an incremental model for the chains of a block: each new state from the
// current state, with a cache per chain.
type changes struct {
	from   evaluation
	size   int // number of entries of the cache of a chain
	caches padded.Pair[float64]
	known  []bool // per chain: caches.Now holds the cache of its current state
}

// evaluation is the method FieldFrom of energy.Incremental or HiddenFieldFrom of
// energy.IncrementalBipartite.
type evaluation func(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32)

func newChanges(from evaluation, n, chains int) *changes {
	return padded.New(changes{from: from, size: n, caches: padded.NewPair[float64](chains, n), known: padded.Make[bool](chains)})
}

// field stores in e and h the energies and fields of the states y of the chains lo … hi−1. The
// argument x holds the current states of these chains; nil means that there are none. All slices
// hold only these chains.
func (c *changes) field(lo, hi int, e []float64, h []float32, y, x []int32) {
	now, next := c.caches.Now[lo*c.size:hi*c.size], c.caches.Next[lo*c.size:hi*c.size]
	if x == nil {
		c.from(e, h, next, y, nil, nil)
		return
	}
	for s := lo; s < hi; s++ {
		if !c.known[s] {
			// The caches are missing after a checkpoint. They are functions of the states, so
			// computing them anew gives the same bits; e and h are overwritten.
			c.from(e, h, now, x, nil, nil)
			c.setKnown(lo, hi, true)
			break
		}
	}
	c.from(e, h, next, y, now, x)
}

func (c *changes) setKnown(lo, hi int, known bool) {
	for s := lo; s < hi; s++ {
		c.known[s] = known
	}
}

// accept makes the caches of the states evaluated last the current caches of the chains lo …
// hi−1.
func (c *changes) accept(lo, hi int) {
	c.caches.Accept(lo, hi)
	c.setKnown(lo, hi, true)
}

// forget discards the caches of the current states, which were replaced from outside.
func (c *changes) forget() { clear(c.known) }
