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
	total  []float64 // Σ_j A_ij
}

// smallestGrid keeps the grid a normal number.
const smallestGrid = 0x1p-1000

// newForces returns the forces of a, whose entries it rounds.
func newForces(a dense) *forces {
	f := &forces{panels: newPanels(a.sites, a.sites), total: make([]float64, a.sites)}
	f.panels.wide = make([]float64, a.sites*len(f.panels.origin))
	f.set(a)
	return f
}

// set takes the couplings a, whose entries it rounds to the grid.
func (f *forces) set(a dense) {
	n, most := a.sites, 0.0
	for i := range n {
		sum := 0.0
		for _, w := range a.rows[i*n : (i+1)*n] {
			sum += math.Abs(w)
		}
		most = max(most, sum)
	}
	_, e := math.Frexp(most)
	grid := max(math.Ldexp(1, e-52), smallestGrid)
	for i := range n {
		for j, w := range a.rows[i*n : i*n+i] {
			w = float64(math.RoundToEven(w/grid) * grid)
			a.rows[i*n+j], a.rows[j*n+i] = w, w
			f.panels.wide[f.panels.at(i, j)], f.panels.wide[f.panels.at(j, i)] = w, w
		}
	}
	for i := range n {
		sum := 0.0
		for _, w := range a.rows[i*n : (i+1)*n] {
			sum += w
		}
		f.total[i] = sum
	}
}

// evaluate stores the energies of y in e and, unless they are nil, fields in h
// and caches in next. It begins from the states x with the given caches or, if x
// is nil, from the state 0.
func (m *Quadratic) evaluate(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	n, stride := len(m.linear), len(m.fast.panels.origin)
	sums := scratch.Float64s.Get(tile * stride)
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
		m.fast.panels.activate(now, nil, y[at:to], from, before)
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
	n := len(m.linear)
	sums := scratch.Float64s.Get(len(m.fast.panels.origin))
	defer scratch.Float64s.Put(sums)
	m.fast.panels.activate(*sums, nil, x, nil, nil)
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
