package model

import (
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// panels updates the linear functions
//
//	a_j = origin_j + Σ_{i: x_i=1} w_ij
//
// of a state x in time proportional to the number of sites that changed. The matrix w is stored in
// panels of consecutive columns. Its entries are such that every sum is exact in float64, in any
// order.
type panels struct {
	sites   int
	columns []float32 // matrix w in panels, each sites × panel; nil if wide is used
	wide    []float64 // matrix w in float64 and the same layout; used if columns is nil
	origin  []float64 // sums of the state with all levels 0; the length is a multiple of panel
}

// panel is the number of columns in a panel. It is a multiple of the 64 columns that simd.Changes
// adds at full speed. It is small enough for the weights of a thousand sites to stay in a cache of
// a megabyte.
const panel = 128

// tile is the number of states that share one matrix product. It is large enough to use each weight
// many times, and small enough for scratch of a hundred kilobytes.
const tile = 32

// newPanels returns panels with space for at least the given number of sums. The caller allocates
// columns or wide.
func newPanels(sites, sums int) panels {
	stride := (sums-1)/panel*panel + panel
	return panels{sites: sites, origin: make([]float64, stride)}
}

// fill sets column j of the matrix: v[i] is added to sum j if x_i = 1.
func (p *panels) fill(j int, v []float32) {
	for i, w := range v {
		p.columns[p.at(i, j)] = w
	}
}

// at returns the index of w_ij in columns or wide.
func (p *panels) at(i, j int) int { return j/panel*panel*p.sites + i*panel + j%panel }

// activate stores the sums of up to tile states y in now and, unless the panels are wide, rounded
// to float32 in act. It starts from the sums of the states x in from or, if x is nil, from the
// state with all levels 0. It handles one panel after the other, which stays in the second-level
// cache for all states. If many sites have changed, it computes the sums from scratch, with the
// same result.
func (p *panels) activate(now []float64, act []float32, y []int32, from []float64, x []int32) {
	sites, stride := p.sites, len(p.origin)
	buf := selections.Get(1)
	defer selections.Put(buf)
	r := &(*buf)[0]
	r.changes.Set(y, x, sites)
	states := len(y) / sites
	if p.columns != nil && r.changes.Len() > afresh(states, sites) {
		r.choice.Set(y, sites)
		for j := 0; j < stride; j += panel {
			simd.AddChosen64(now[j:], act[j:], stride, p.origin[j:j+panel], p.columns[j*sites:(j+panel)*sites], &r.choice)
		}
		return
	}
	for j := 0; j < stride; j += panel {
		for k := range states {
			at := k*stride + j
			start := p.origin[j : j+panel]
			if x != nil {
				start = from[at : at+panel]
			}
			if p.columns == nil {
				r.changes.Add64(k, now[at:at+panel], start, p.wide[j*sites:(j+panel)*sites])
				continue
			}
			r.changes.Add(k, now[at:at+panel], act[at:at+panel], start, p.columns[j*sites:(j+panel)*sites])
		}
	}
}

// selection is the workspace of activate: the changed sites and the chosen rows of the states.
type selection struct {
	changes simd.Changes
	choice  simd.Choice
}

var selections scratch.Pool[selection]

// afresh returns the total number of changed sites of all states above which it is faster to
// compute sums from scratch. That takes about as long as adding four rows per site, plus a sixth of
// a row per site and state (BenchmarkAddRows and BenchmarkAddChosen).
func afresh(states, sites int) int { return sites * (24 + states) / 6 }
