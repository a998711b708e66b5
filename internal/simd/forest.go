package simd

import (
	"fmt"
	"math"
)

// ForestChains is the number of chains that a [Forest] draws at once. A state holds one byte per
// site, in which bit c is the level, 0 or 1, in chain c.
const ForestChains = 8

// ForestLink is a site of a [Forest] and its edge to its parent. The index of the ForestLink in
// Forest.Links is called the place of the site.
type ForestLink struct {
	Site, Parent int32 // index of the site and of its parent; a root is its own parent
	Place        int32 // place of the parent; for a root, len(Forest.Links)
	// factors of the site's odds of level 1: Couple[v] if its parent has level v; both are 1 for a
	// root
	Couple [2]float64
}

// ForestBond is the edge between a site of a [Forest] and a neighbour outside the forest. Place is
// the index of the site in Forest.Links, and To is the site number of the neighbour.
type ForestBond struct {
	Place, To int32
	// factors of the site's odds of level 1: Factor[v] if the neighbour has level v
	Factor [2]float64
}

// Forest is a set of sites with levels 0 and 1 whose edges form no cycle. In Links, children come
// before their parents. The place of a site is its index in Links. A Forest is immutable.
type Forest struct {
	Links []ForestLink
	Field []float64    // per place: odds of level 1, before the factors of neighbours
	Bonds []ForestBond // edges to neighbours outside the forest, and one unused bond at the end
	From  []int32      // place k has the bonds Bonds[From[k]:From[k+1]], whose Factor[0] is 1
}

// HasForests reports whether drawing a [Forest] in all ForestChains chains at once is faster than
// drawing it in one chain after the other.
func HasForests() bool { return best >= forestOddsLevel }

// forestTerms bounds the sites and bonds of a call of assembly.
const forestTerms = 1 << 12

// Odds computes the odds of level 1 at the places lo, …, hi−1, in ForestChains chains. The odds at
// a place are the place's entry of Field, times one factor for each child and one for each
// neighbour outside the forest. The slice levels holds the levels of all sites.
//
// Call Odds for consecutive ranges of places, beginning with lo = 0. The slice odds has
// ForestChains entries for each place, and for one extra place with odds 0.
func (f *Forest) Odds(odds []float64, levels []uint8, lo, hi int) {
	n := len(f.Links)
	checkLen("odds", len(odds), ForestChains*(n+1))
	if lo < 0 || hi < lo || hi > n {
		panic(fmt.Sprintf("simd: Odds: lo = %d, hi = %d, want 0 ≤ lo ≤ hi ≤ %d", lo, hi, n))
	}
	first := 0
	if lo == 0 {
		first = 1
		for k := hi; k <= n; k++ {
			row, v := (*[ForestChains]float64)(odds[ForestChains*k:]), 0.0
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
			refForestOdds(odds, levels, f.Field, f.Bonds, f.From, at, end, first)
		} else {
			forestOddsRun(odds, levels, f.Field, f.Bonds, f.From, at, end, first)
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

// Draw draws the levels at the places 0, …, len(links)−1, in pairs from the last to the first, and
// stores them in levels. The slice links holds an even number of links; the last one may be unused.
// [Forest.Odds] must have computed odds.
//
// In chain c, pair k uses words[8k + c]. The later place of the pair uses the lower 16 bits, and
// the earlier place uses the upper 16 bits. These 16 bits are the highest bits of a uniform number
// u. A place with odds o has level 1 if
//
//	u < o/(1 + o).
//
// Chain c is live if bit c of the argument live is 1. Draw stops before a pair that needs more than
// 16 bits of u in a live chain. It may then have drawn the later place of the pair. Draw returns
// the number of pairs drawn.
func (f *Forest) Draw(levels []uint8, words []uint32, odds []float64, links []ForestLink, live uint8) (pairs int) {
	n := len(links) / 2
	if n == 0 {
		return 0
	}
	if len(links)%2 != 0 || len(words) < ForestChains*n || len(odds) < ForestChains*len(links) {
		panic(fmt.Sprintf("simd: Draw: len(links) = %d, len(words) = %d, len(odds) = %d, want an even number of links, with half as many rows of words and as many rows of odds", len(links), len(words), len(odds)))
	}
	for pairs < n {
		most := min(n-pairs, forestTerms/8)
		left := most
		if hi := 2 * (n - pairs); best < forestDrawLevel {
			refForestDraw(levels, words[ForestChains*pairs:], odds, links[:hi], live, &left)
		} else {
			forestDrawRun(levels, words[ForestChains*pairs:], odds, links[:hi], live, &left)
		}
		if pairs += most - left; left > 0 {
			break
		}
	}
	return pairs
}

// ForestPendant is a site of a forest whose probability of level 1 depends on its parent only.
type ForestPendant struct {
	Site, Parent int32 // index of the site and of its parent; a root is its own parent
	// 2³² times the probability of level 1, by the level of the parent; the lower 16 bits are 0
	High [2]uint32
}

// DrawPendants draws the levels of an even number of sites in pairs, parents first, and stores them
// in levels. In chain c, pair k uses words[8k + c]. The first site of the pair uses the lower 16
// bits, and the second site uses the upper 16 bits. Let l be the level of the site's parent,
// already drawn. The site has level 1 if its 16 bits are below the upper 16 bits of the entry
// High[l] of its pendant. If they equal these bits, more random bits are needed.
//
// Chain c is live if bit c of the argument live is 1. DrawPendants stops before a pair that needs
// more bits in a live chain. It may then have drawn the first site of the pair. DrawPendants
// returns the number of pairs drawn.
func DrawPendants(levels []uint8, words []uint32, pendants []ForestPendant, live uint8) (pairs int) {
	n := len(pendants) / 2
	if n == 0 {
		return 0
	}
	if len(pendants)%2 != 0 || len(words) < ForestChains*n {
		panic(fmt.Sprintf("simd: DrawPendants: len(pendants) = %d, len(words) = %d, want half as many rows of words", len(pendants), len(words)))
	}
	for pairs < n {
		most := min(n-pairs, forestTerms/8)
		left := most
		if best < drawPendantsLevel {
			refDrawPendants(levels, words[ForestChains*pairs:], pendants[2*pairs:], live, &left)
		} else {
			drawPendantsRun(levels, words[ForestChains*pairs:], pendants[2*pairs:], live, &left)
		}
		if pairs += most - left; left > 0 {
			break
		}
	}
	return pairs
}

// EightColumns transposes src, a matrix of eight rows and ld columns: dst[8k + c] = src[c·ld + k].
// It panics unless len(dst) = len(src) = 8·ld and ld is a multiple of 8.
func EightColumns(dst, src []uint32, ld int) {
	if ld%8 != 0 || len(dst) != ForestChains*ld || len(src) != len(dst) {
		panic(fmt.Sprintf("simd: EightColumns: len(dst) = %d, len(src) = %d, ld = %d, want eight rows of a multiple of 8", len(dst), len(src), ld))
	}
	for at := 0; at < ld; at += forestTerms {
		n := min(forestTerms, ld-at)
		if part := dst[ForestChains*at : ForestChains*(at+n)]; best < eightColumnsLevel {
			refEightColumns(part, src[at:], ld)
		} else {
			eightColumnsRun(part, src[at:], ld)
		}
	}
}

// ForestMoved adds to moved[c] the number of sites at which oldLevels and levels differ in chain c.
// Byte i of either slice belongs to site i, and bit c of the byte is the level in chain c.
// ForestMoved panics unless both slices have the same length, which must be a multiple of 64.
func ForestMoved(moved *[ForestChains]int64, oldLevels, levels []uint8) {
	if len(oldLevels) != len(levels) || len(levels)%64 != 0 {
		panic(fmt.Sprintf("simd: ForestMoved: len(oldLevels) = %d, len(levels) = %d, want the same multiple of 64", len(oldLevels), len(levels)))
	}
	for len(levels) > 0 {
		n := min(len(levels), forestTerms)
		if best < forestMovedLevel {
			refForestMoved(moved, oldLevels[:n], levels[:n])
		} else {
			forestMovedRun(moved, oldLevels[:n], levels[:n])
		}
		oldLevels, levels = oldLevels[n:], levels[n:]
	}
}

// SpinBond is a term of an energy: V if the levels of the sites I and J differ, and otherwise 0.
type SpinBond struct {
	I, J int32
	V    int64
}

// SpinEnergies adds to sum[c] the energies of all bonds in chain c. Bit c of levels[i] is the level
// of site i in chain c.
func SpinEnergies(sum *[ForestChains]int64, levels []uint8, bonds []SpinBond) {
	for len(bonds) > 0 {
		n := min(len(bonds), forestTerms)
		if best < spinEnergiesLevel {
			refSpinEnergies(sum, levels, bonds[:n])
		} else {
			spinEnergiesRun(sum, levels, bonds[:n])
		}
		bonds = bonds[n:]
	}
}

// SpreadForest stores the levels of n sites as numbers, one row per chain: x[c·n + i] is bit c of
// levels[i]. It panics unless x consists of at most eight rows, and len(levels) ≥ n rounded up to a
// multiple of 16.
func SpreadForest(x []int32, levels []uint8, n int) {
	if n == 0 {
		return
	}
	chains := len(x) / n
	if chains > ForestChains || len(x)%n != 0 || len(levels) < (n+15)&^15 {
		panic(fmt.Sprintf("simd: SpreadForest: len(x) = %d, len(levels) = %d, want up to %d rows of %d and space for whole registers", len(x), len(levels), ForestChains, n))
	}
	if best < spreadForestLevel {
		refSpreadForest(x, levels, n)
		return
	}
	for at := 0; at < n && chains > 0; at += forestTerms {
		spreadForestRun(x[at:], levels[at:], min(forestTerms, n-at), chains, n)
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

func refForestDraw(own []uint8, words []uint32, odds []float64, links []ForestLink, live uint8, left *int) {
	for k := 0; *left > 0; k++ {
		place := len(links) - 1 - k
		l := &links[place]
		row, parent, drawn, tied := (*[ForestChains]float64)(odds[ForestChains*place:]), own[l.Parent], uint8(0), uint8(0)
		for c, o := range row {
			level, tie := ForestLevel(words[ForestChains*(k/2)+c]>>(k&1*16)&0xffff, float64(o*l.Couple[parent>>c&1]))
			drawn |= level << c
			tied |= tie << c
		}
		if tied&live != 0 {
			return
		}
		own[l.Site] = drawn
		*left -= k & 1
	}
}

// ForestLevel draws the level of a site from its odds of level 1. The 16-bit number w holds the
// highest bits of a uniform number. If further bits may change the level, tie is 1.
func ForestLevel(w uint32, odds float64) (level, tie uint8) {
	s := float64((1 + odds) * 0x1p-16)
	v := float64(float64(int32(w))*s) - odds
	level = uint8(math.Float64bits(v) >> 63)
	return level, level &^ uint8(math.Float64bits(v+s)>>63)
}

func refDrawPendants(own []uint8, words []uint32, pendants []ForestPendant, live uint8, left *int) {
	for k := 0; *left > 0; k++ {
		p := &pendants[k]
		above, drawn, tied := own[p.Parent], uint8(0), uint8(0)
		for c := range ForestChains {
			w, t := words[ForestChains*(k/2)+c]<<(16&^(k<<4))&^0xffff, p.High[above>>c&1]
			if w == t {
				tied |= 1 << c
			}
			if w < t {
				drawn |= 1 << c
			}
		}
		if tied&live != 0 {
			return
		}
		own[p.Site] = drawn
		*left -= k & 1
	}
}

func refEightColumns(dst, src []uint32, ld int) {
	for i := range dst {
		dst[i] = src[i%ForestChains*ld+i/ForestChains]
	}
}

func refForestMoved(moved *[ForestChains]int64, old, own []uint8) {
	for i, v := range own {
		for c := range moved {
			moved[c] += int64((v ^ old[i]) >> c & 1)
		}
	}
}

func refSpinEnergies(sum *[ForestChains]int64, own []uint8, bonds []SpinBond) {
	for _, b := range bonds {
		differ := own[b.I] ^ own[b.J]
		for c := range sum {
			sum[c] += b.V & -int64(differ>>c&1)
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
