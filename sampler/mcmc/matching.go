package mcmc

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// matching tells how a site of an energy.Matching model depends on its
// neighbours: p(x_i = l) ∝ exp(J·n_l + h_l), n_l of them having the level l.
type matching struct {
	sites, levels int
	coupling      float64
	field         []float64
	flat          bool      // all levels have the same field
	power, base   []float64 // exp(J·n), exp(h_l − max h): for sites without a table

	place     []int32   // of each site in a sweep
	stretches []stretch // in the order of a sweep
	tables    []lookup  // by degree; without entries: too large
}

// stretch holds consecutive places of a sweep whose sites do not interact and have the
// same number of neighbours.
type stretch struct {
	first, sites, degree int
	colour               int
	fixed                bool    // they stay as they are
	near                 []int32 // sites × degree places
}

// lookup holds what the neighbours of a site, taken as the digits of a number in
// base levels, make of it: a row of as many words as there are levels. Word l is
// 2⁵³·p(x_i ≤ l), rounded, but for the last, which holds every n_l, in four bits
// each.
type lookup []uint64

const (
	// sparseDegree is the mean number of neighbours up to which counting them
	// at every visit is faster than keeping differences up to date
	// (BenchmarkSparseGibbs).
	sparseDegree = 16

	// tableEntries bounds the entries of a table, 1 MB: it is to stay near the
	// processor.
	tableEntries = 1 << 17

	// countBits holds numbers of neighbours of a table, at most 15.
	countBits = 4

	// steepest bounds |J|·n + |h|, so that no weight over- or underflows.
	steepest = 600
)

// newMatching returns nil if the model is not energy.Matching, with sites that are fixed or
// not, or has so many neighbours or so large parameters that other kernels do better.
func newMatching(m energy.Model) *matching {
	whole, fixed := unclamped(m)
	g, ok := energy.As[energy.Matching](whole)
	if !ok {
		return nil
	}
	coupling, field, ok := g.Matching()
	if !ok {
		return nil
	}
	start, adj := g.Graph()
	k := apart.New(matching{sites: len(start) - 1, levels: len(field), coupling: coupling, field: field})
	if few(fixed) {
		return nil
	}
	if k.levels < 2 || k.levels > placedLevels || len(adj) > sparseDegree*k.sites {
		return nil
	}
	most := 0
	for i := range k.sites {
		most = max(most, int(start[i+1]-start[i]))
	}
	low, high := slices.Min(field), slices.Max(field)
	if !(float64(math.Abs(coupling)*float64(most))+(high-low) <= steepest) {
		return nil
	}
	k.flat = low == high
	for n := range most + 1 {
		k.power = append(k.power, simd.Exp(coupling*float64(n)))
	}
	for _, h := range field {
		k.base = append(k.base, simd.Exp(h-high))
	}
	k.arrange(start, adj, fixed)
	k.tables = make([]lookup, most+1)
	for _, s := range k.stretches {
		if k.tables[s.degree] == nil {
			k.tables[s.degree] = k.tabulate(s.degree)
		}
	}
	return k
}

// arrange puts the sites in the order of a sweep: by colour, then free ones by degree.
func (k *matching) arrange(start, adj, fixed []int32) {
	colour, _ := colouring(start, adj)
	degree := func(i int32) int { return int(start[i+1] - start[i]) }
	stays := func(i int32) bool { return fixed != nil && fixed[i] >= 0 }
	order := make([]int32, k.sites)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		if colour[a] != colour[b] {
			return int(colour[a] - colour[b])
		}
		if stays(a) != stays(b) {
			if stays(a) {
				return 1
			}
			return -1
		}
		return degree(a) - degree(b)
	})
	k.place = make([]int32, k.sites)
	for at, i := range order {
		k.place[i] = int32(at)
	}
	for at, i := range order {
		if at == 0 || colour[i] != colour[order[at-1]] || degree(i) != degree(order[at-1]) || stays(i) != stays(order[at-1]) {
			k.stretches = append(k.stretches, stretch{first: at, degree: degree(i), colour: int(colour[i]), fixed: stays(i)})
		}
		s := &k.stretches[len(k.stretches)-1]
		s.sites++
		for _, j := range adj[start[i]:start[i+1]] {
			s.near = append(s.near, k.place[j])
		}
	}
}

// tabulate returns the table of a number of neighbours, nil if it is too large.
func (k *matching) tabulate(degree int) lookup {
	size := k.levels
	for range degree {
		if size *= k.levels; size > tableEntries {
			return nil
		}
	}
	if degree >= 1<<countBits || k.levels*countBits > 64 {
		return nil
	}
	t, w := make(lookup, size), make([]float64, k.levels)
	for c := range size / k.levels {
		row := t[c*k.levels : (c+1)*k.levels]
		counts, digits := uint64(0), c
		for range degree {
			counts += 1 << (countBits * (digits % k.levels))
			digits /= k.levels
		}
		total := 0.0
		for l := range w {
			total += k.weight(l, int(counts>>(countBits*l)&(1<<countBits-1)))
			w[l] = total
		}
		for l := range row {
			row[l] = uint64(math.RoundToEven(w[l] / total * (1 << 53)))
		}
		row[k.levels-1] = counts
	}
	return t
}

// weight returns p(x_i = l) of a site with n neighbours of that level, up to a
// factor.
func (k *matching) weight(l, n int) float64 { return float64(k.base[l] * k.power[n]) }

// tally is what an energy depends on, as changes: the number of edges between
// equals and, unless the field is flat, the number of sites of every level.
type tally struct {
	equal int
	count []int64
	near  []int32 // scratch of drawByCount: n_l, all 0 between two sites
}

// newTally returns one of so many levels.
func newTally(levels int) tally {
	return tally{count: apart.Make[int64](levels), near: apart.Make[int32](levels)}
}

// draw redraws the sites of s from the at-th to before the end-th in x, the levels by
// place, with two words of random bits each, and returns how many of them changed.
func (k *matching) draw(t *tally, s *stretch, at, end int, x []placedLevel, words []uint32) (moved int) {
	switch rows := k.tables[s.degree]; {
	case s.fixed:
		return 0
	case rows == nil:
		return k.drawByCount(t, s, at, end, x, words)
	case s.degree == 4:
		return k.drawByFour(t, rows, s, at, end, x, words)
	default:
		return k.drawByTable(t, rows, s, at, end, x, words)
	}
}

// drawByFour is drawByTable for four neighbours.
func (k *matching) drawByFour(t *tally, rows []uint64, s *stretch, at, end int, x []placedLevel, words []uint32) (moved int) {
	q, equal := k.levels, 0
	near, words := s.near[4*at:4*end], words[:2*(end-at)]
	own := x[s.first+at : s.first+end]
	for n, before := range own {
		a := near[4*n : 4*n+4 : 4*n+4]
		c := int(x[a[0]]) + q*int(x[a[1]]) + q*q*(int(x[a[2]])+q*int(x[a[3]]))
		row := rows[c*q : c*q+q : c*q+q]
		u := (uint64(words[2*n+1])<<32 | uint64(words[2*n])) >> 11
		l, old := pick(row[:len(row)-1], u), int32(before)
		own[n] = placedLevel(l)
		equal += gain(row[len(row)-1], l, old)
		moved += differ(old, l)
		if !k.flat {
			t.count[l]++
			t.count[old]--
		}
	}
	t.equal += equal
	return moved
}

// drawByTable looks the conditional distribution up.
func (k *matching) drawByTable(t *tally, rows []uint64, s *stretch, at, end int, x []placedLevel, words []uint32) (moved int) {
	q, d := k.levels, s.degree
	own := x[s.first+at : s.first+end]
	for n, before := range own {
		c, scale := 0, q
		for _, j := range s.near[(at+n)*d : (at+n+1)*d] {
			c += int(x[j]) * scale
			scale *= q
		}
		row := rows[c : c+q : c+q]
		u := (uint64(words[2*n+1])<<32 | uint64(words[2*n])) >> 11
		l, old := pick(row[:len(row)-1], u), int32(before)
		own[n] = placedLevel(l)
		t.equal += gain(row[len(row)-1], l, old)
		moved += differ(old, l)
		if !k.flat {
			t.count[l]++
			t.count[old]--
		}
	}
	return moved
}

// drawByCount counts the neighbours of each level.
func (k *matching) drawByCount(t *tally, s *stretch, at, end int, x []placedLevel, words []uint32) (moved int) {
	counts := t.near
	d := s.degree
	own := x[s.first+at : s.first+end]
	for n, before := range own {
		near := s.near[(at+n)*d : (at+n+1)*d]
		for _, j := range near {
			counts[x[j]]++
		}
		total := 0.0
		for l, c := range counts {
			total += k.weight(l, int(c))
		}
		u := float64(total * (float64((uint64(words[2*n+1])<<32|uint64(words[2*n]))>>11) * 0x1p-53))
		l := 0
		for ; l < k.levels-1; l++ {
			if u -= k.weight(l, int(counts[l])); u < 0 {
				break
			}
		}
		old := int32(before)
		own[n] = placedLevel(l)
		t.equal += int(counts[l] - counts[old])
		moved += differ(old, int32(l))
		if !k.flat {
			t.count[l]++
			t.count[old]--
		}
		for _, j := range near {
			counts[x[j]] = 0
		}
	}
	return moved
}

// pick returns the number of bounds that u has reached, without a branch; all
// are at most 2⁵³.
func pick(bound []uint64, u uint64) int32 {
	l := uint64(0)
	for _, b := range bound {
		l += (b - 1 - u) >> 63
	}
	return int32(l)
}

// gain returns n_l − n_old of packed counts.
func gain(counts uint64, l, old int32) int {
	const mask = 1<<countBits - 1
	return int(counts>>(countBits*l&63)&mask) - int(counts>>(countBits*old&63)&mask)
}

// differ returns 1 if a and b differ, else 0.
func differ(a, b int32) int { return int((uint64(uint32(a^b)) + (1<<63 - 1)) >> 63) }
