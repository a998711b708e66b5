package simd

import (
	"fmt"
	"math"
)

// ForestChains is the number of chains that a [Forest] draws at once. Their states are stored in
// one byte per site, in which bit c is the level of chain c.
const ForestChains = 8

// ForestLink is a site of a forest and its link to its parent. The index of a link in
// Forest.Links is the place of the site.
type ForestLink struct {
	Site, Parent int32 // number of the site and of its parent; a root is its own parent
	Place        int32 // place of the parent; for a root, len(Forest.Links)
	// factors of the site's odds of level 1, by the level 0 or 1 of its parent; both are 1 for a
	// root
	Couple [2]float64
}

// ForestBond is the bond between a site of a forest and a neighbour outside the forest. Place is
// the place of the site, and To is the number of the neighbour.
type ForestBond struct {
	Place, To int32
	// factors of the site's odds of level 1, by the level 0 or 1 of the neighbour
	Factor [2]float64
}

// Forest is a subgraph without cycles, taken from a graph of sites with two levels. Children come
// before their parents. It is immutable.
type Forest struct {
	Links []ForestLink
	Field []float64    // odds of level 1 of each place, before the factors of its neighbours
	Bonds []ForestBond // bonds to neighbours outside the forest, followed by one unused bond
	From  []int32      // bonds of place k: Bonds[From[k]:From[k+1]], whose Factor[0] is 1
}

// HasForests reports whether the backend draws forests of eight chains at once. If it does not,
// moving one chain after the other is as fast.
func HasForests() bool { return best >= forestOddsLevel }

// forestTerms bounds the sites and bonds of a call of assembly.
const forestTerms = 1 << 12

// Odds computes the odds of level 1 of the places lo … hi−1 in eight chains. It multiplies them by
// the factors of the neighbours outside the forest and of the children. It must be called for
// consecutive ranges of places. The call with lo = 0 first sets all odds to Field. The slice odds
// has ForestChains entries for each place and for one extra place. Package subgraph does the same
// for a single chain (Forward).
func (f *Forest) Odds(odds []float64, own []uint8, lo, hi int) {
	n := len(f.Links)
	checkLen("odds", len(odds), ForestChains*(n+1))
	if lo < 0 || hi < lo || hi > n {
		panic(fmt.Sprintf("simd: Odds: lo = %d, hi = %d, want 0 ≤ lo ≤ hi ≤ %d", lo, hi, n))
	}
	first := 0
	if lo == 0 {
		first = 1
		for k := hi; k <= n; k++ {
			row, v := (*[ForestChains]float64)(odds[ForestChains*k:]), 1.0
			if k < n {
				v = f.Field[k]
			}
			for c := range row {
				row[c] = v
			}
		}
	}
	for at := lo; at < hi; { // all bonds before any child, as for one chain
		end := f.part(at, hi)
		if terms := int(f.From[end] - f.From[at]); best < forestOddsLevel || terms > forestTerms {
			refForestOdds(odds, own, f.Field, f.Bonds, f.From, at, end, first)
		} else {
			forestOddsRun(odds, own, f.Field, f.Bonds, f.From, at, end, first)
		}
		at = end
	}
	for at := lo; at < hi; {
		end := min(at+forestTerms/4, hi)
		if best < forestUpLevel {
			refForestUp(odds, f.Links, at, end)
		} else {
			forestUpRun(odds, f.Links, at, end)
		}
		at = end
	}
}

// part returns the end of some places from lo on, whose sites and bonds are few.
func (f *Forest) part(lo, hi int) int {
	end := min(lo+forestTerms/4, hi)
	for end > lo+1 && f.From[end]-f.From[lo] > forestTerms {
		end = lo + (end-lo)/2
	}
	return end
}

// Draw draws the levels of all places, from the last to the first, given the odds that
// [Forest.Odds] has computed. It draws for each chain c whose bit is set in live, and stores the
// levels in own. With n places, the draw at place n−1−k uses the uniform number u[c·stride + k].
// Draw adds to moved[c] the number of sites whose levels change.
func (f *Forest) Draw(own []uint8, u []float64, stride int, odds []float64, live uint8, moved *[ForestChains]int64) {
	n := len(f.Links)
	checkLen("odds", len(odds), ForestChains*(n+1))
	if stride < n || len(u) < (ForestChains-1)*stride+n {
		panic(fmt.Sprintf("simd: Draw: len(u) = %d, stride = %d, want %d rows of %d", len(u), stride, ForestChains, n))
	}
	for hi := n; hi > 0; {
		lo := max(0, hi-forestTerms/4)
		if best < forestDrawLevel {
			refForestDraw(own, u[n-hi:], stride, odds, f.Links, lo, hi, live, moved)
		} else {
			forestDrawRun(own, u[n-hi:], stride, odds, f.Links, lo, hi, live, moved)
		}
		hi = lo
	}
}

// ForestEnergies adds to sum, for each chain,
//
//	Σ_i x_i (field_i + Σ_b Factor_b[x_To]),
//
// where x_i is the level of site i in the chain, x_To is the level of the other site of bond b,
// and b runs over the bonds from[i] … from[i+1]−1 of site i. Here Factor_b holds energies, and
// its entry 0 must be 0.
func ForestEnergies(sum *[ForestChains]float64, own []uint8, field []float64, bonds []ForestBond, from []int32) {
	f := Forest{From: from}
	for at := 0; at < len(field); {
		end := f.part(at, len(field))
		if best < forestEnergiesLevel || from[end]-from[at] > forestTerms {
			refForestEnergies(sum, own, field, bonds, from, at, end)
		} else {
			forestEnergiesRun(sum, own, field, bonds, from, at, end)
		}
		at = end
	}
}

// SpreadForest stores the levels of chains 0, 1, … as the rows of x: x[c·n + i] is bit c of
// own[i]. It panics unless len(x) = chains·n for at most eight chains, and len(own) ≥ n rounded
// up to a multiple of 16.
func SpreadForest(x []int32, own []uint8, n int) {
	if n == 0 {
		return
	}
	chains := len(x) / n
	if chains > ForestChains || len(x)%n != 0 || len(own) < (n+15)&^15 {
		panic(fmt.Sprintf("simd: SpreadForest: len(x) = %d, len(own) = %d, want up to %d rows of %d and space for whole registers", len(x), len(own), ForestChains, n))
	}
	if best < spreadForestLevel {
		refSpreadForest(x, own, n)
		return
	}
	for at := 0; at < n && chains > 0; at += forestTerms {
		spreadForestRun(x[at:], own[at:], min(forestTerms, n-at), chains, n)
	}
}

func refForestOdds(odds []float64, own []uint8, field []float64, bonds []ForestBond, from []int32, lo, hi, first int) {
	for k := lo; k < hi; k++ {
		row := (*[ForestChains]float64)(odds[ForestChains*k:])
		for c := range row {
			o := row[c]
			if first != 0 {
				o = field[k]
			}
			for a := from[k]; a < from[k+1]; a++ {
				o *= bonds[a].Factor[own[bonds[a].To]>>c&1]
			}
			row[c] = o
		}
	}
}

func refForestUp(odds []float64, links []ForestLink, lo, hi int) {
	for k := lo; k < hi; k++ {
		l := &links[k]
		row, up := (*[ForestChains]float64)(odds[ForestChains*k:]), (*[ForestChains]float64)(odds[ForestChains*l.Place:])
		for c, o := range row {
			up[c] *= (1 + float64(o*l.Couple[1])) / (1 + o)
		}
	}
}

func refForestDraw(own []uint8, u []float64, stride int, odds []float64, links []ForestLink, lo, hi int, live uint8, moved *[ForestChains]int64) {
	for k := hi - 1; k >= lo; k-- {
		l := &links[k]
		row, parent, drawn := (*[ForestChains]float64)(odds[ForestChains*k:]), own[l.Parent], uint8(0)
		for c, o := range row {
			o = float64(o * l.Couple[parent>>c&1])
			drawn |= uint8(math.Float64bits(float64(u[c*stride+hi-1-k]*(1+o))-o)>>63) << c
		}
		changed := (drawn ^ own[l.Site]) & live
		own[l.Site] ^= changed
		for c := range moved {
			moved[c] += int64(changed >> c & 1)
		}
	}
}

func refForestEnergies(sum *[ForestChains]float64, own []uint8, field []float64, bonds []ForestBond, from []int32, lo, hi int) {
	for i := lo; i < hi; i++ {
		for c := range sum {
			v := field[i]
			for a := from[i]; a < from[i+1]; a++ {
				v += bonds[a].Factor[own[bonds[a].To]>>c&1]
			}
			if own[i]>>c&1 != 0 {
				sum[c] += v
			}
		}
	}
}

func refSpreadForest(x []int32, own []uint8, n int) {
	for c := 0; c*n < len(x); c++ {
		row := x[c*n : (c+1)*n]
		for i, v := range own[:n] {
			row[i] = int32(v >> c & 1)
		}
	}
}
