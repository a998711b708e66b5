package energy

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// As implements [Capable].
func (f Func) As(target any) bool {
	switch p := target.(type) {
	case *Binary:
		return f.Field != nil && f.Levels == 2 && Give(p, Binary(funcField{f}))
	case *Stochastic:
		return f.Estimate != nil && Give(p, Stochastic(funcEstimate{f}))
	}
	return false
}

// teller is a model that says what an energy and a table of differences of one state
// cost, in nanoseconds of one core: a count, by which package auto chooses methods.
type teller = interface {
	Cost() (energy, table float64)
}

// Cost counts a call of E as a look at every site.
func (f Func) Cost() (energy, table float64) {
	energy = 30 + float64(3*float64(f.Sites))
	if f.Grad != nil || f.Field != nil {
		return energy, 3 * energy
	}
	return energy, float64(energy * (1 + float64(float64(f.Sites)*float64(f.Levels-1))))
}

// funcField is a [Func] with a field.
type funcField struct{ Func }

// Field implements [Binary].
func (f funcField) Field(e []float64, h []float32, x []int32) {
	f.check()
	check.Len("energy", "e", len(e), check.Rows("energy", "x", len(x), f.Sites))
	check.Len("energy", "h", len(h), len(x))
	f.fields(e, h, x)
}

// funcEstimate is a [Func] that estimates.
type funcEstimate struct{ Func }

// Estimate implements [Stochastic].
func (f funcEstimate) Estimate(g []float32, x []int32, src []rand.Source) {
	f.check()
	if f.Batch < 1 || f.Batch > f.Rows {
		panic(fmt.Sprintf("energy: Func{Rows: %d, Batch: %d} with Estimate, want 1 ≤ Batch ≤ Rows", f.Rows, f.Batch))
	}
	check.Len("energy", "x", len(x), len(src)*f.Sites)
	compact := f.Grad == nil && f.Levels == 2
	width := f.Levels // of a site in what the function stores
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

// drawRows stores a uniform subset of 0 … n−1 in rows, ascending (Floyd's
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
