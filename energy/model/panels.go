package model

import (
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// panels hold a matrix by whose columns states are summed,
//
//	a_j = origin_j + Σ_{i: x_i=1} w_ij,
//
// at the cost of the sites that changed. The entries are such that every sum is
// exact in float64, in any order.
type panels struct {
	sites   int
	columns []float32 // panels of sites × panel
	wide    []float64 // the same, if columns is nil
	origin  []float64 // of the state 0, a multiple of panel
	zero    []int32   // the state 0
}

// panel is how many columns are together: a multiple of the 64 that simd.AddRows
// adds at full speed, and few enough for the weights of a thousand sites to stay
// in a cache of a megabyte.
const panel = 128

// tile is the number of states that share one matrix product: enough to use
// each weight many times, few enough for scratch of a hundred kilobytes.
const tile = 32

// newPanels returns panels without columns for at least so many sums.
func newPanels(sites, sums int) panels {
	stride := (sums-1)/panel*panel + panel
	return panels{sites: sites, origin: make([]float64, stride), zero: make([]int32, sites)}
}

// fill stores what each site adds to sum j of a state.
func (p *panels) fill(j int, v []float32) {
	for i, w := range v {
		p.columns[p.at(i, j)] = w
	}
}

// at returns the place of the part of site i in sum j.
func (p *panels) at(i, j int) int { return j/panel*panel*p.sites + i*panel + j%panel }

// activate stores the sums of the states y in now, and rounded to float32 in act
// unless the columns are wide, for up to a tile of states, from the sums of the states x, or, if x is nil,
// from the state 0. It goes through the panels one by one, which stay in the
// second-level cache while the states go by.
func (p *panels) activate(now []float64, act []float32, y []int32, from []float64, x []int32) {
	sites, stride := p.sites, len(p.origin)
	rows := scratch.Int32s.Get(len(y))
	defer scratch.Int32s.Put(rows)
	var counts [tile]int
	for k := 0; k*sites < len(y); k++ {
		lo, hi := k*sites, (k+1)*sites
		before := p.zero
		if x != nil {
			before = x[lo:hi]
		}
		counts[k] = changes((*rows)[lo:hi], y[lo:hi], before)
	}
	for j := 0; j < stride; j += panel {
		for k := 0; k*sites < len(y); k++ {
			at := k*stride + j
			start := p.origin[j : j+panel]
			if x != nil {
				start = from[at : at+panel]
			}
			changed := (*rows)[k*sites : k*sites+counts[k]]
			if p.columns == nil {
				simd.AddRows64(now[at:at+panel], start, p.wide[j*sites:(j+panel)*sites], changed)
				continue
			}
			simd.AddRows(now[at:at+panel], act[at:at+panel], start, p.columns[j*sites:(j+panel)*sites], changed)
		}
	}
}

// changes stores in rows the sites i where y is above x, and ^i for those below,
// and returns their number.
func changes(rows, y, x []int32) int {
	n := 0
	for i, v := range y {
		d := v - x[i] // −1, 0 or 1
		rows[n] = int32(i) ^ d>>31
		n += int(d & 1)
	}
	return n
}
