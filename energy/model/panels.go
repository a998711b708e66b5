package model

import (
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// panels hold a matrix by whose columns states are summed,
//
//	a_j = origin_j + Σ_{i: x_i=1} w_ij,
//
// in time proportional to the number of sites that changed. The entries are such that every sum
// is exact in float64, in any order.
type panels struct {
	sites   int
	columns []float32 // panels of sites × panel
	wide    []float64 // the same, if columns is nil
	origin  []float64 // of the state 0, a multiple of panel
}

// panel is the number of columns that are kept together: a multiple of the 64
// that simd.Changes adds at full speed, and few enough for the weights of a
// thousand sites to stay in a cache of a megabyte.
const panel = 128

// tile is the number of states that share one matrix product: enough to use
// each weight many times, few enough for scratch of a hundred kilobytes.
const tile = 32

// newPanels returns panels without columns for at least the given number of
// sums.
func newPanels(sites, sums int) panels {
	stride := (sums-1)/panel*panel + panel
	return panels{sites: sites, origin: make([]float64, stride)}
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
// unless the columns are wide, for up to a tile of states, from the sums of the states x or, if x is nil,
// from the state 0. It goes through the panels one by one, which stay in the
// second-level cache while the states go by. Where many sites have changed, the sums are
// made afresh: they are the same.
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

// selection is what activate compares states by.
type selection struct {
	changes simd.Changes
	choice  simd.Choice
}

var selections scratch.Pool[selection]

// afresh returns how many changed sites, of all states together, cost as much as sums
// made afresh: tables of these take about the time of four rows a site, and each state
// that of a sixth of its rows (BenchmarkAddRows and BenchmarkAddChosen).
func afresh(states, sites int) int { return sites * (24 + states) / 6 }
