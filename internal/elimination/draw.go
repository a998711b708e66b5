package elimination

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Prepare computes the messages that [Run.Draw] needs. It returns log Σ_x exp(−E(x)), where E(x) is
// the sum of the tables' entries at the state x.
func (r *Run) Prepare(ctx context.Context, tables [][]float64) (logZ float64, err error) {
	return r.start(ctx, tables, linear, true)
}

// Draw stores in x independent states with the distribution p ∝ e^−E, where E is the sum of the
// tables given to [Run.Prepare]. It draws one state for each source; x has a row of len(src) levels
// for each variable. State s takes one Uint64 of src[s] per variable, in the reverse order of
// elimination.
func (r *Run) Draw(ctx context.Context, x []int32, src []rand.Source) error {
	r.meter.Watch(ctx)
	defer r.meter.Unwatch()
	n := len(src)
	index := make([][]int32, 0, 8)
	u, past := make([]float64, n), make([]uint64, n)
	var w []float64
	pairs := r.mode == linear && !slices.ContainsFunc(r.p.cards, func(c int32) bool { return c != 2 })
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
			for q := range u {
				u[q] = float64(src[q].Uint64()>>11) * 0x1p-53
			}
			row := x[int(b.v)*n : (int(b.v)+1)*n]
			for i := range b.ops {
				if !pairs || !r.recent(index[i], &b.ops[i], k, past) {
					r.places(index[i], &b.ops[i], x)
				}
			}
			switch {
			case card == 2 && r.mode == linear:
				r.coins(row, past, u, index)
			case len(b.ops) == 0:
				for q, v := range u {
					row[q] = min(int32(v*float64(card)), int32(card-1))
				}
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

// stretch is a run of variables with two levels that are consecutive in an operand and in the order.
// It is the part of a word, shifted to the right by from and then masked, that goes to the bits of a
// position from the bit to on.
type stretch struct {
	from, to uint
	mask     uint64
}

// stretches returns the variables of an operand of bucket k, without its first one, as bits of a word
// whose highest bit is the level of the bucket after k, and the next one that of the bucket after that.
// All variables must have two levels. It returns ok = false if a variable has no bit.
func (r *Run) stretches(op *operand, k int) (s []stretch, ok bool) {
	s = r.bits[:0]
	n := len(op.vars) - 1
	for t := range n { // the last variable has the lowest bit
		v := op.vars[n-t]
		from := uint(64 - (int(r.p.at[v]) - k))
		if from > 63 {
			return nil, false
		}
		if last := len(s) - 1; last >= 0 && from-s[last].from == uint(t)-s[last].to {
			s[last].mask = s[last].mask<<1 | 1
		} else {
			s = append(s, stretch{from, uint(t), 1})
		}
	}
	r.bits = s
	return s, true
}

// recent does the work of [Run.places] if the words past of the states, described at stretches, hold
// all levels, and reports whether they do.
func (r *Run) recent(index []int32, op *operand, k int, past []uint64) bool {
	s, ok := r.stretches(op, k)
	if !ok {
		return false
	}
	index = index[:len(past)]
	if len(s) == 1 {
		from, mask := s[0].from&63, s[0].mask
		for q, w := range past {
			index[q] = int32(w >> from & mask)
		}
		return true
	}
	clear(index)
	for _, t := range s {
		for q, w := range past {
			index[q] |= int32(w >> (t.from & 63) & t.mask << (t.to & 63))
		}
	}
	return true
}

// places stores, for each state, the position in an operand of the state's levels, with level 0 of
// the operand's first variable.
func (r *Run) places(index []int32, op *operand, x []int32) {
	clear(index)
	n, step := len(index), int32(1)
	for j := len(op.vars) - 1; j > 0; j-- {
		v := op.vars[j]
		for q, l := range x[int(v)*n:][:n] {
			index[q] += l * step
		}
		step *= r.p.cards[v]
	}
}

// coins draws the levels of a variable with two levels for all states, and puts them before those
// in the words past.
func (r *Run) coins(row []int32, past []uint64, u []float64, index [][]int32) {
	n := len(u)
	p := r.buffer(2 * n)
	p, z := p[:n], p[n:][:n]
	if len(r.ops) == 2 { // as nearly always
		c, d := r.ops[0], r.ops[1]
		e, f := c[len(c)/2:], d[len(d)/2:]
		to := index[1][:n]
		for q, i := range index[0][:n] { // few operations between loads that wait for memory
			j := to[q]
			p[q], z[q] = float64(c[i]*d[j]), float64(e[i]*f[j])
		}
	} else {
		for q := range p {
			p[q], z[q] = 1, 1
		}
		for i, d := range r.ops {
			e := d[len(d)/2:]
			for q, at := range index[i][:n] {
				p[q] *= d[at]
				z[q] *= e[at]
			}
		}
	}
	row, past, z = row[:n], past[:n], z[:n]
	for q, v := range u {
		row[q] = coin(p[q], z[q], v)
	}
	for q, l := range row {
		past[q] = past[q]>>1 | uint64(l)<<63
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
