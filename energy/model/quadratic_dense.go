package model

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// forces are F_i = Σ_j A_ij v_j for dense couplings of two levels, by what each
// site adds to all of them when its level is 1:
//
//	F_i = v_0·Σ_j A_ij + (v_1 − v_0)·a_i,  a_i = Σ_{j: x_j=1} A_ij.
type forces struct {
	panels panels    // of a
	low    []float32 // of the panels, used if something is in it
	total  []float64 // Σ_j A_ij
}

// smallestGrid keeps multiples of the grid normal float32 numbers.
const smallestGrid = 0x1p-120

// newForces returns the forces of a, whose entries it rounds; nil if a float32
// cannot hold them.
func newForces(a dense, values []float64) *forces {
	f := &forces{panels: newPanels(a.sites, a.sites), total: make([]float64, a.sites)}
	if !f.set(a) {
		return nil
	}
	return f
}

// set takes the couplings a, whose entries it rounds, or returns false if they
// are out of range.
func (f *forces) set(a dense) bool {
	n, most := a.sites, 0.0
	for i := range n {
		sum := 0.0
		for _, w := range a.rows[i*n : (i+1)*n] {
			sum += math.Abs(w)
		}
		most = max(most, sum)
	}
	_, e := math.Frexp(most)
	grid := math.Ldexp(1, e-52)
	if most > maxActivation || most > 0 && grid < smallestGrid {
		return false
	}
	cut := false
	for i := range n {
		for j, w := range a.rows[i*n : i*n+i] {
			if w != 0 {
				w = math.RoundToEven(w/grid) * grid
			}
			hi := float32(w)
			lo := float32(w - float64(hi))
			if lo != 0 && !cut {
				cut = true
				if f.low == nil {
					f.low = make([]float32, len(f.panels.columns))
				}
				clear(f.low)
			}
			w = float64(hi) + float64(lo)
			a.rows[i*n+j], a.rows[j*n+i] = w, w
			above, below := f.panels.at(i, j), f.panels.at(j, i)
			f.panels.columns[above], f.panels.columns[below] = hi, hi
			if cut {
				f.low[above], f.low[below] = lo, lo
			}
		}
	}
	f.panels.low = nil
	if cut {
		f.panels.low = f.low
	}
	for i := range n {
		sum := 0.0
		for _, w := range a.rows[i*n : (i+1)*n] {
			sum += w
		}
		f.total[i] = sum
	}
	return true
}

// evaluate stores the energies of y in e and, unless they are nil, fields in h
// and caches in next. It begins from the states x with the given caches or, if x
// is nil, from the state 0.
func (m *Quadratic) evaluate(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	n, stride := len(m.linear), len(m.fast.panels.origin)
	act, sums := scratch.Float32s.Get(tile*stride), scratch.Float64s.Get(tile*stride)
	defer scratch.Float32s.Put(act)
	defer scratch.Float64s.Put(sums)
	v0, v1 := m.values[0], m.values[1]
	step, both := v1-v0, v1+v0
	for s := 0; s < len(e); s += tile {
		k := min(len(e)-s, tile)
		at, to := s*n, (s+k)*n
		now, before, from := (*sums)[:k*stride], []int32(nil), []float64(nil)
		if next != nil {
			now = next[s*stride : (s+k)*stride]
		}
		if x != nil {
			before, from = x[at:to], cache[s*stride:(s+k)*stride]
		}
		m.fast.panels.activate(now, *act, y[at:to], from, before)
		for k := range k {
			state := y[at+k*n : at+(k+1)*n]
			a := now[k*stride : k*stride+n][:len(state)]
			total, square, linear := m.fast.total[:len(state)], m.square[:len(state)], m.linear[:len(state)]
			sum := m.constant
			for i, l := range state {
				f := float64(v0*total[i]) + float64(step*a[i])
				v := m.values[l&1]
				sum += float64(v * (float64(square[i]*v) + linear[i] + f/2))
			}
			e[s+k] = sum
			if h == nil {
				continue
			}
			h := h[at+k*n : at+(k+1)*n][:len(state)]
			for i := range h {
				f := float64(v0*total[i]) + float64(step*a[i])
				h[i] = float32(step * (float64(square[i]*both) + linear[i] + f))
			}
		}
	}
}

// fastLocals is Locals of one state.
func (m *Quadratic) fastLocals(d []float64, x []int32) {
	n, stride := len(m.linear), len(m.fast.panels.origin)
	act, sums := scratch.Float32s.Get(stride), scratch.Float64s.Get(stride)
	defer scratch.Float32s.Put(act)
	defer scratch.Float64s.Put(sums)
	m.fast.panels.activate(*sums, *act, x, nil, nil)
	step := m.values[1] - m.values[0]
	for i, a := range (*sums)[:n] {
		d[2*i], d[2*i+1] = 0, m.difference(i, 0, 1, float64(m.values[0]*m.fast.total[i])+float64(step*a))
	}
}

// denseQuadratic is a Quadratic with dense couplings and two levels.
type denseQuadratic struct{ *Quadratic }

// Field implements [energy.Binary]; h is the exact difference rounded to float32.
func (m denseQuadratic) Field(e []float64, h []float32, x []int32) {
	check.Len("model", "e", len(e), check.Rows("model", "x", len(x), len(m.linear)))
	check.Len("model", "h", len(h), len(x))
	m.evaluate(e, h, nil, x, nil, nil)
}

// CacheLen implements [energy.Incremental]: a sum of couplings per site, and
// padding.
func (m denseQuadratic) CacheLen() int { return len(m.fast.panels.origin) }

// FieldFrom implements [energy.Incremental]: a change of a site costs a pass over
// its couplings.
func (m denseQuadratic) FieldFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	rows := check.Rows("model", "y", len(y), len(m.linear))
	check.Len("model", "e", len(e), rows)
	check.Len("model", "h", len(h), len(y))
	check.Len("model", "next", len(next), rows*m.CacheLen())
	if x != nil {
		check.Len("model", "x", len(x), len(y))
		check.Len("model", "cache", len(cache), len(next))
	}
	m.evaluate(e, h, next, y, cache, x)
}
