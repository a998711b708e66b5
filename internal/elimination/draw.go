package elimination

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Prepare computes the messages that [Run.Draw] needs and returns log Σ_x exp(−E(x)).
func (r *Run) Prepare(ctx context.Context, tables [][]float64) (logZ float64, err error) {
	return r.start(ctx, tables, linear, true)
}

// Draw stores in x independent states with the distribution p ∝ e^−E of the tables given to
// [Run.Prepare]. It draws one state for each source; x has a row of len(src) levels for each
// variable. State s takes one Uint64 of src[s] per variable, in the reverse order of elimination.
func (r *Run) Draw(ctx context.Context, x []int32, src []rand.Source) error {
	r.meter.Watch(ctx)
	defer r.meter.Unwatch()
	n := len(src)
	index := make([][]int32, 0, 8)
	u := make([]float64, n)
	var w []float64
	for s := len(r.p.cuts) - 2; s >= 0; s-- {
		if err := r.segment(s); err != nil {
			return err
		}
		for k := r.p.cuts[s+1] - 1; k >= r.p.cuts[s]; k-- {
			b := &r.p.buckets[k]
			card := int(r.p.cards[b.v])
			if r.meter.Done(n * (card + len(b.ops))) {
				return r.meter.Poll()
			}
			if _, _, err := r.operands(b, false); err != nil {
				return err
			}
			for len(index) < len(b.ops) {
				index = append(index, make([]int32, n))
			}
			for i := range b.ops {
				r.places(index[i], &b.ops[i], x, n)
			}
			for q := range u {
				u[q] = float64(src[q].Uint64()>>11) * 0x1p-53
			}
			row := x[int(b.v)*n : (int(b.v)+1)*n]
			switch {
			case len(b.ops) == 0:
				for q, v := range u {
					row[q] = min(int32(v*float64(card)), int32(card-1))
				}
			case card == 2 && r.mode == linear:
				r.coins(row, u, index)
			default:
				w = slices.Grow(w[:0], card)[:card]
				for q, v := range u {
					row[q] = r.pick(w, index, q, v)
				}
			}
			r.drop(b)
		}
	}
	return nil
}

// places stores, for each state, the position in an operand of the state's levels, with level 0
// of the operand's first variable.
func (r *Run) places(index []int32, op *operand, x []int32, n int) {
	clear(index)
	vars, step := op.vars[1:], int32(1)
	row := func(v int32) (levels []int32, at int32) {
		at, step = step, step*r.p.cards[v]
		return x[int(v)*n : (int(v)+1)*n][:len(index)], at
	}
	for ; len(vars) >= 4; vars = vars[:len(vars)-4] { // four at a time, for speed
		k := len(vars)
		a, p := row(vars[k-1])
		b, q := row(vars[k-2])
		c, s := row(vars[k-3])
		d, t := row(vars[k-4])
		for i := range index {
			index[i] += a[i]*p + b[i]*q + c[i]*s + d[i]*t
		}
	}
	for k := len(vars) - 1; k >= 0; k-- {
		a, p := row(vars[k])
		for i, l := range a {
			index[i] += l * p
		}
	}
}

// coins draws the levels of a variable with two levels for all states.
func (r *Run) coins(row []int32, u []float64, index [][]int32) {
	row = row[:len(u)]
	if len(r.ops) == 2 { // as nearly always
		c, d := r.ops[0], r.ops[1]
		e, f := c[len(c)/2:], d[len(d)/2:]
		at, to := index[0][:len(u)], index[1][:len(u)]
		for q, v := range u {
			i, j := at[q], to[q]
			row[q] = coin(float64(c[i]*d[j]), float64(e[i]*f[j]), v)
		}
		return
	}
	for q, v := range u {
		p0, p1 := 1.0, 1.0
		for i, d := range r.ops {
			at := int(index[i][q])
			p0 *= d[at]
			p1 *= d[at+len(d)/2]
		}
		row[q] = coin(p0, p1, v)
	}
}

// coin returns 1 if u·(p + q) ≥ p and 0 otherwise, without a branch.
func coin(p, q, u float64) int32 {
	return int32(1 - math.Float64bits(float64(u*(p+q))-p)>>63)
}

// pick draws a level of a variable for state q, given a number u in [0, 1).
func (r *Run) pick(w []float64, index [][]int32, q int, u float64) int32 {
	r.conditional(w, index, q)
	sum := 0.0
	if r.mode != linear {
		top := slices.Max(w)
		for l := range w {
			w[l] = simd.Exp(w[l] - top)
		}
	}
	for _, v := range w {
		sum += v
	}
	u *= sum
	last := 0
	for l, v := range w {
		if v > 0 {
			if last = l; u < v {
				break
			}
		}
		u -= v
	}
	return int32(last)
}

// conditional stores the weights of the levels, or their logarithms, for state q.
func (r *Run) conditional(w []float64, index [][]int32, q int) {
	for l := range w {
		v := 1.0
		if r.mode != linear {
			v = 0
		}
		for i, d := range r.ops {
			e := d[int(index[i][q])+l*(len(d)/len(w))]
			if r.mode == linear {
				v *= e
			} else {
				v += e
			}
		}
		w[l] = v
	}
}
