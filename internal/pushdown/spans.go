package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// spans computes the same sums as a filter of numbers, in float64 and by the
// vector: all rows of a level whose calls lie in one tile of sites go through the
// sites together. A row is a start at the site of its call. Tiles are computed
// from the last to the first, and the whole sequence at the end, so that whatever
// is called after the tile is known for every end; what is called inside it is
// known when it returns.
//
// # Range
//
// A value of a row at position e stands for value·2^(P(e)+offset), where P
// belongs to tile and level and keeps the rows that live near 1, and the offset
// to the row; it is at most 2^100, and what is below 2^-600 is dropped. So are
// weights of a site below 2^-300 of their total, and returns below 2^-422 on the
// scale of their caller. All weights are relative to the total of their site, so
// that what is dropped is at most 2^-600·2^over, or 2^-300·2^over, of everything,
// over being how far P runs above the total. Sums where that may show are refused
// (ok = false). A filter of numbers has no such limits and takes over.
type spans struct {
	g      *Graph
	sites  int
	tile   int         // sites of a tile
	weight [][]float64 // [site][weight of an edge], relative
	total  []float64   // [position]: log₂ of the product of the totals before it
	need   [][]bool
	far    int

	levels []store
	panels []*panel
	tops   *panel
	states [][]float64 // of the top level: [position]
	memory arena

	dropped, faint, wide bool
	over                 float64

	// Scratch.
	at           []int32
	coef, x, low []float64
	segment      []float64
}

// store is what is kept of a level.
type store struct {
	site, start []int32 // of the rows, by ascending site
	offset      []int32
	before      []int32     // rows before a site
	leave       [][]float64 // [site·exits + κ][row]: nil where nothing leaves
	back        [][]float64 // [site·places + p][row]: what returns there
	scale       [][]int32   // [tile][position]: P
}

const (
	tileSites = 16       // rows of one start fill a vector
	lowest    = 0x1p-600 // smaller values are dropped
	faint     = 0x1p-300 // smaller weights are dropped
	remote    = -422     // log₂ of what a call and a return weigh at least
	highest   = 100      // log₂ of the greatest value
)

func newSpans(g *Graph, sites, tile int) *spans {
	s := &spans{g: g, sites: sites, tile: tile, weight: grid[float64](sites, len(g.weights)), total: make([]float64, sites+1),
		need: grid[bool](sites, len(g.starts)), levels: make([]store, len(g.levels)), panels: make([]*panel, len(g.levels))}
	for lv := range g.levels {
		l := &s.levels[lv]
		l.before = make([]int32, sites+1)
		l.leave = make([][]float64, sites*len(g.levels[lv].exits))
		l.back = make([][]float64, sites*len(g.plan.levels[lv].places))
		l.scale = make([][]int32, (sites+tile-1)/tile)
	}
	return s
}

// arena gives out slices that live until it is emptied.
type arena struct {
	chunks [][]float64
	used   int // of the last chunk in use
	chunk  int
}

const chunkSize = 1 << 16

func (a *arena) take(n int) []float64 {
	if n == 0 {
		return nil
	}
	for a.chunk < len(a.chunks) && a.used+n > len(a.chunks[a.chunk]) {
		a.chunk, a.used = a.chunk+1, 0
	}
	if a.chunk == len(a.chunks) {
		a.chunks = append(a.chunks, make([]float64, max(n, chunkSize)))
	}
	x := a.chunks[a.chunk][a.used : a.used+n : a.used+n]
	a.used += n
	clear(x)
	return x
}

func (a *arena) empty() { a.chunk, a.used = 0, 0 }

// rows numbers what may be called.
func (s *spans) rows() {
	s.far = s.g.reach(s.need, func(site int, w int32) bool { return s.weight[site][w] != 0 })
	for lv := range s.levels {
		l := &s.levels[lv]
		l.site, l.start, l.offset = l.site[:0], l.start[:0], l.offset[:0]
		clear(l.leave)
		clear(l.back)
	}
	for c := range s.sites {
		for lv := range s.levels {
			s.levels[lv].before[c] = int32(len(s.levels[lv].site))
		}
		for _, x := range s.g.order {
			if s.need[c][x] {
				l := &s.levels[s.g.starts[x].level]
				l.site, l.start, l.offset = append(l.site, int32(c)), append(l.start, x), append(l.offset, 0)
			}
		}
	}
	for lv := range s.levels {
		l := &s.levels[lv]
		l.before[s.sites] = int32(len(l.site))
	}
}

// inside computes everything and returns log Z on the scale of the weights; ok
// is false if a filter of numbers must do it.
func (s *spans) inside() (logZ float64, ok bool) {
	s.memory.empty()
	s.wide, s.over = false, math.Inf(-1)
	s.rows()
	if s.tops != nil {
		s.tops.n = 0
	}
	for t := (s.sites - 1) / s.tile; t >= 0; t-- {
		first, last := t*s.tile, min((t+1)*s.tile, s.sites)
		any := false
		for lv := range s.levels {
			any = s.open(lv, t, first, last) || any
		}
		if !any {
			continue
		}
		for e := first; e < s.sites && !s.wide; e++ {
			s.step(e)
		}
		if s.wide {
			return 0, false
		}
	}
	for lv := range s.panels {
		if s.panels[lv] != nil {
			s.panels[lv].n = 0
		}
	}
	s.openTop()
	for e := range s.sites {
		s.step(e)
		if s.wide {
			return 0, false
		}
		p := s.tops
		for q := range p.level.states {
			s.states[e+1][q] = p.here[q*p.width]
		}
	}
	z := 0.0
	for q, final := range s.g.levels[s.g.top].final {
		if final {
			z += s.states[s.sites][q]
		}
	}
	if !(z > 0) || z > math.MaxFloat64 {
		return math.Inf(-1), z == 0 && !s.dropped && !s.faint
	}
	exponent := float64(s.tops.scale[s.sites])
	// log₂ of what is lost: its greatest part, and room for how many there are.
	lost := math.Inf(-1)
	if s.dropped {
		lost = -600 + max(s.over, 0) + 64
	}
	if s.faint {
		lost = -300 + max(s.over, 0) + 64
	}
	if float64(simd.Log(z)*math.Log2E)+exponent-s.total[s.sites] < lost+60 {
		return 0, false
	}
	return simd.Log(z) + float64(exponent*math.Ln2), true
}

// power returns 2^n, 0 far below and +Inf far above.
func power(n int32) float64 {
	switch {
	case n < -1000:
		return 0
	case n > 1000:
		return math.Inf(1)
	}
	return math.Float64frombits(uint64(n+1023) << 52)
}

// exponent returns n with 2^n ≤ x < 2^(n+1), for a normal x > 0.
func exponent(x float64) int32 { return int32(math.Float64bits(x)>>52) - 1023 }

// relative stores the weights of a site, given the sums of its classes: their
// total becomes a number between 1 and 2, and by log of what is divided by.
func (s *spans) relative(site int, class []float64, total float64) (by float64) {
	n := exponent(total)
	down := power(-n)
	w := s.weight[site]
	for i, classes := range s.g.weights {
		x := 0.0
		for _, k := range classes {
			x += class[k]
		}
		if x > 0 && x*down < faint {
			x, s.faint = 0, true
		}
		w[i] = x * down
	}
	s.total[site+1] = s.total[site] + float64(simd.Log(total)*math.Log2E) - float64(n)
	return float64(n) * math.Ln2
}
