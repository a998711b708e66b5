package energy

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Func is a model given by a function E of one state. A struct literal is ready for use:
//
//	m := energy.Func{Sites: 8, Levels: 3, E: func(x []int32) float64 { … }}
//
// E returns the energy in nats, +Inf for a state of probability zero, or NaN for a failure. It must
// be a function of x alone, must be safe for concurrent calls, and must not modify or keep x. The
// same rules apply to Grad, Field and Estimate.
//
// A Func is [Differentiable]. Its table of energy differences comes from Grad or Field if one is
// set. Otherwise the table is exact and takes sites·(levels−1) + 1 calls of E. A Func is also
// [Conditional], [Binary] if Field is set, and [Stochastic] if Estimate is set. Methods panic if
// Sites or Levels is < 1 or E is nil.
type Func struct {
	Sites, Levels int                     // number of sites and of levels per site, both ≥ 1
	E             func(x []int32) float64 // energy of one state, in nats

	// Grad, if not nil, stores the table of [Differentiable] for one state x in g (sites·levels
	// entries) and returns E(x). The table may be a first-order approximation, for instance from
	// automatic differentiation. In that case, take the gradient with respect to the one-hot
	// encoding of x. Then subtract from each row its entry at the site's current level.
	Grad func(g []float32, x []int32) float64

	// Field, if not nil, stores in h the field of [Binary] for one state x, one entry per site,
	// and returns E(x). It requires two levels.
	Field func(h []float32, x []int32) float64

	// Estimate, if not nil, stores in g an unbiased estimate of the result of Field or, if Field is
	// nil, of Grad. It adds up only the terms of the data rows whose numbers are in the slice rows,
	// and multiplies the sum by Rows/Batch. For every state, the Func passes Batch random row
	// numbers from 0…Rows−1, drawn without replacement, in ascending order. Estimate must not keep
	// the slice.
	Estimate func(g []float32, x []int32, rows []int32)
	// Rows is the number of rows of the data. Batch is the number of rows that one call of Estimate
	// uses. If Estimate is set, 1 ≤ Batch ≤ Rows.
	Rows, Batch int
}

// Shape returns the fields Sites and Levels; it implements [Model].
func (f Func) Shape() (sites, levels int) { return f.Sites, f.Levels }

// Energy stores in e the value of the function E for every state of x; it implements [Model].
func (f Func) Energy(e []float64, x []int32) {
	f.check()
	check.Len("energy", "e", len(e), check.Rows("energy", "x", len(x), f.Sites))
	if len(e) == 0 {
		return
	}
	b := scratch.Int32s.Get(f.Sites)
	defer scratch.Int32s.Put(b)
	for s := range e {
		copy(*b, x[s*f.Sites:(s+1)*f.Sites])
		e[s] = f.E(*b)
	}
}

// Conditional stores in d the exact energy at each level of one site, minus the energy of the state
// x. It calls E at every level. It implements the interface [Conditional].
func (f Func) Conditional(d []float64, site int, x []int32) {
	f.check()
	check.Len("energy", "d", len(d), f.Levels)
	check.Len("energy", "x", len(x), f.Sites)
	check.Index("energy", "site", site, f.Sites)
	b := scratch.Int32s.Get(f.Sites)
	defer scratch.Int32s.Put(b)
	copy(*b, x)
	e := f.E(*b)
	for l := range d {
		d[l] = f.difference(*b, site, int32(l), x[site], e)
	}
}

// Gradient stores the energies in e. It stores in g the table of energy differences, which comes
// from Grad or Field if one is set. Otherwise the table is exact, rounded to float32. Gradient
// implements [Differentiable].
func (f Func) Gradient(e []float64, g []float32, x []int32) {
	f.check()
	check.Len("energy", "e", len(e), check.Rows("energy", "x", len(x), f.Sites))
	check.Len("energy", "g", len(g), len(x)*f.Levels)
	if len(e) == 0 {
		return
	}
	b := scratch.Int32s.Get(f.Sites)
	defer scratch.Int32s.Put(b)
	if f.Grad == nil && f.Field != nil && f.Levels == 2 {
		f.fields(e, g[len(x):], x)
		spread(g, g[len(x):], x)
		return
	}
	for s := range e {
		state := x[s*f.Sites : (s+1)*f.Sites]
		copy(*b, state)
		if f.Grad != nil {
			n := f.Sites * f.Levels
			e[s] = f.Grad(g[:n], *b)
			g = g[n:]
			continue
		}
		e[s] = f.E(*b)
		for i, at := range state {
			for l := range int32(f.Levels) {
				g[0] = float32(f.difference(*b, i, l, at, e[s]))
				g = g[1:]
			}
		}
	}
}

// fields calls f.Field for every state and stores the energies in e and the fields in h.
func (f Func) fields(e []float64, h []float32, x []int32) {
	if len(e) == 0 {
		return
	}
	b := scratch.Int32s.Get(f.Sites)
	defer scratch.Int32s.Put(b)
	for s := range e {
		lo, hi := s*f.Sites, (s+1)*f.Sites
		copy(*b, x[lo:hi])
		e[s] = f.Field(h[lo:hi], *b)
	}
}

// difference returns E(x with x_site = l) − e, where e = E(x) and at = x_site. It changes x during
// the call and restores it.
func (f Func) difference(x []int32, site int, l, at int32, e float64) float64 {
	if l == at {
		return 0
	}
	x[site] = l
	d := f.E(x) - e
	x[site] = at
	return d
}

func (f Func) check() {
	if f.Sites < 1 || f.Levels < 1 || f.E == nil {
		panic(fmt.Sprintf("energy: Func{Sites: %d, Levels: %d, E set: %t}, want Sites ≥ 1, Levels ≥ 1 and E", f.Sites, f.Levels, f.E != nil))
	}
}

// As implements [Capable]: a Func is also [Binary] if Field is set and there are two levels, and
// [Stochastic] if Estimate is set.
func (f Func) As(target any) bool {
	switch p := target.(type) {
	case *Binary:
		return f.Field != nil && f.Levels == 2 && Give(p, Binary(funcField{f}))
	case *Stochastic:
		return f.Estimate != nil && Give(p, Stochastic(funcEstimate{f}))
	}
	return false
}

// teller is implemented by models that estimate the cost of one energy and of one table of
// differences of a state, in nanoseconds on one core. Package auto uses these estimates, which are
// computed and not measured, to choose methods.
type teller = interface {
	Cost() (energy, table float64)
}

// Cost returns the estimated time in nanoseconds for the energy of a state and for its table of
// energy differences. It assumes that E takes one operation per site.
func (f Func) Cost() (energy, table float64) {
	energy = 30 + float64(3*float64(f.Sites))
	if f.Grad != nil || f.Field != nil {
		return energy, 3 * energy
	}
	return energy, float64(energy * (1 + float64(float64(f.Sites)*float64(f.Levels-1))))
}

// funcField implements [Binary] for a [Func] with Field.
type funcField struct{ Func }

// Field calls the user's function Field for every state of x, and stores the results in e and h. It
// implements [Binary].
func (f funcField) Field(e []float64, h []float32, x []int32) {
	f.check()
	check.Len("energy", "e", len(e), check.Rows("energy", "x", len(x), f.Sites))
	check.Len("energy", "h", len(h), len(x))
	f.fields(e, h, x)
}

// funcEstimate implements [Stochastic] for a [Func] with Estimate.
type funcEstimate struct{ Func }

// Estimate draws rows of the data for every state of x and passes them to the user's function
// Estimate, which stores its estimates in g. It implements [Stochastic].
func (f funcEstimate) Estimate(g []float32, x []int32, src []rand.Source) {
	f.check()
	if f.Batch < 1 || f.Batch > f.Rows {
		panic(fmt.Sprintf("energy: Func{Rows: %d, Batch: %d} with Estimate, want 1 ≤ Batch ≤ Rows", f.Rows, f.Batch))
	}
	check.Len("energy", "x", len(x), len(src)*f.Sites)
	compact := f.Grad == nil && f.Levels == 2
	width := f.Levels // entries per site that the function stores
	if compact {
		width = 1
	}
	b, rows := scratch.Int32s.Get(f.Sites), scratch.Int32s.Get(f.Batch)
	defer scratch.Int32s.Put(b)
	defer scratch.Int32s.Put(rows)
	t := scratch.Float32s.Get(f.Sites * width)
	defer scratch.Float32s.Put(t)
	for s := range src {
		state := x[s*f.Sites : (s+1)*f.Sites]
		copy(*b, state)
		drawRows(*rows, f.Rows, src[s])
		f.Func.Estimate(*t, *b, *rows)
		if len(g) != len(x) || f.Levels != 2 {
			g := g[s*f.Sites*f.Levels : (s+1)*f.Sites*f.Levels]
			if compact {
				spread(g, *t, state)
			} else {
				copy(g, *t)
			}
			continue
		}
		h := g[s*f.Sites : (s+1)*f.Sites]
		if compact {
			copy(h, *t)
			continue
		}
		for i := range h {
			h[i] = (*t)[2*i+1] - (*t)[2*i]
		}
	}
}

// drawRows stores in rows a uniformly drawn subset of 0 … n−1, in ascending order (Floyd's
// algorithm; Bentley and Floyd 1987).
func drawRows(rows []int32, n int, src rand.Source) {
	r := rand.New(src)
	k := len(rows)
	chosen := rows[:0]
	for j := n - k; j < n; j++ {
		v := int32(r.IntN(j + 1))
		at, taken := slices.BinarySearch(chosen, v)
		if taken {
			v, at = int32(j), len(chosen)
		}
		chosen = slices.Insert(chosen, at, v)
	}
}
