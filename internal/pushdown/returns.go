package pushdown

import "github.com/gibbsite-go/gibbsite/internal/simd"

// join lists the calls of a group so far: where their vectors are, and which
// rows they enter.
type join struct {
	at, row []int32
	runs    []run
	inTile  int // calls at sites of the tile: the first
}

// run is neighbours in a join that were called in one tile, from the number
// given on. Returns of them count on one exponent, to which their vectors have
// been brought.
type run struct {
	from, tile, exponent int32
	dense                bool // the rows follow each other
}

// ahead is what leaves callees at several ends, by the exits of a round, summed
// over the calls that were known at the first of these ends: whoever is called
// after the tile is known for every end. One pass over their vectors serves all
// ends.
type ahead struct {
	from, ends  int       // the ends from…from+ends−1
	begin, upto int       // the calls
	scale       int32     // of the caller at from
	width       int       // columns of x
	x           []float64 // [end − from][node][row]
	any         [aheadEnds]bool
}

const (
	aheadEnds  = 8
	aheadLeast = 24 // fewer calls are not worth it
	aheadDrift = 60 // log₂ of what the scale may change by
)

// list adds the calls of site e to those that may return later.
func (s *spans) list(p *panel, e int) {
	calls := p.callAt[(e-p.first)*len(p.level.calls):]
	for i := range p.level.groups {
		to, j, callOf := &s.levels[p.level.groups[i].callee], &p.joins[i], p.of.callOf[i]
		for r := to.before[e]; r < to.before[e+1]; r++ {
			if k := callOf[s.g.plan.number[to.start[r]]]; k >= 0 && calls[k] >= 0 {
				by := j.put(calls[k], r, int32(e/s.tile), to.offset[r]+p.scale[e])
				if by != 0 {
					simd.Raise(p.call[calls[k]:][:p.cols], power(by), 0)
				}
			}
		}
		if e < p.last {
			j.inTile = len(j.at)
		}
	}
}

// put adds a call that enters a row of a tile. It returns log₂ of what its vector
// is to be multiplied by, so that what returns counts on the exponent of its run.
func (j *join) put(at, row, tile, exponent int32) (by int32) {
	n := len(j.runs)
	if n == 0 || j.runs[n-1].tile != tile || exponent-j.runs[n-1].exponent > drift || j.runs[n-1].exponent-exponent > drift {
		j.runs = append(j.runs, run{int32(len(j.row)), tile, exponent, true})
		n++
	} else if j.row[len(j.row)-1] != row-1 {
		j.runs[n-1].dense = false
	}
	j.at, j.row = append(j.at, at), append(j.row, row)
	return exponent - j.runs[n-1].exponent
}

// returns adds what leaves callees at site e by the exits of round i, for all
// rows of a caller at once: one sum over all calls for each node,
//
//	X[row] = Σ_j K_j[row]·R_j[e].
func (s *spans) returns(p *panel, i, e int) {
	v, r, n := p.level, &s.g.plan.rounds[i], p.cols
	j := &p.joins[r.group]
	if p.ahead == nil {
		p.ahead = make([]ahead, len(s.g.plan.rounds))
	}
	a := &p.ahead[i]
	s.look(p, r, a, e)
	any := a.begin < a.upto && a.any[e-a.from]
	// What is not ahead: calls of the tile, and those after from.
	near := a.begin + len(j.at) - a.upto
	s.coef = resize(s.coef, near*len(r.nodes))
	if s.leaving(p, r, e, p.scale[e], 0, a.begin, s.coef, near) {
		any = true
	}
	if s.leaving(p, r, e, p.scale[e], a.upto, len(j.at), s.coef[min(a.begin, len(s.coef)):], near) {
		any = true
	}
	if !any {
		return
	}
	s.x = resize(s.x, len(r.nodes)*n)
	if a.begin < a.upto && a.any[e-a.from] {
		for i := range r.nodes {
			copy(s.x[i*n:i*n+n], a.x[((e-a.from)*len(r.nodes)+i)*a.width:])
		}
		s.rise(s.x, a.scale-p.scale[e])
	}
	if near > 0 {
		if simd.Raise(s.coef, 1, power(remote)) {
			s.faint = true
		}
		s.at = append(append(s.at[:0], j.at[:a.begin]...), j.at[a.upto:]...)
		simd.Fold(s.x, n, p.call, s.at, s.coef)
	}
	for i, node := range r.nodes {
		x := s.x[i*n : (i+1)*n]
		p.backs[node.place] = true
		add(p.back[int(node.place)*p.width:], x)
		to := p.of.places[node.place]
		if to.half < 0 {
			continue // close adds it
		}
		switch h := v.halves[to.half]; {
		case h.call >= 0:
			at := &p.callAt[(e-p.first)*len(v.calls)+int(h.call)]
			if *at < 0 {
				*at = p.newCall()
			}
			add(p.call[*at:], x)
		default:
			p.leaves[h.exit] = true
			y := p.leave[int(h.exit)*p.width:][:n]
			add(y, x)
			s.raise(y)
		}
	}
}

// look makes a hold the end e, unless there is too little ahead: then a.upto =
// a.begin.
func (s *spans) look(p *panel, r *round, a *ahead, e int) {
	j := &p.joins[r.group]
	if e < a.from+a.ends {
		if by := a.scale - p.scale[e]; by <= aheadDrift && by >= -aheadDrift {
			return
		}
	}
	a.from, a.ends, a.scale, a.width = e, 1, p.scale[e], p.cols
	a.begin, a.upto = j.inTile, j.inTile
	if e < p.last || len(j.at)-j.inTile < aheadLeast {
		return
	}
	a.ends, a.upto = min(aheadEnds, s.sites-e), len(j.at)
	nodes, calls := len(r.nodes), a.upto-a.begin
	s.coef = resize(s.coef, a.ends*nodes*calls)
	found := false
	for b := range a.ends {
		a.any[b] = s.leaving(p, r, e+b, a.scale, a.begin, a.upto, s.coef[b*nodes*calls:], calls)
		found = found || a.any[b]
	}
	if !found {
		return
	}
	if simd.Raise(s.coef, 1, power(remote)) {
		s.faint = true
	}
	a.x = resize(a.x, a.ends*nodes*a.width)
	simd.Fold(a.x, a.width, p.call, j.at[a.begin:a.upto], s.coef)
}

// rise multiplies x by 2^n. Nothing vanishes.
func (s *spans) rise(x []float64, n int32) {
	if n < 0 && simd.Raise(x, 1, 0x1p-1000*power(-n)) {
		s.dropped = true
	}
	if n != 0 {
		simd.Raise(x, power(n), 0)
	}
}

func add(dst, x []float64) {
	dst = dst[:len(x)]
	for i, y := range x {
		dst[i] += y
	}
}

// leaving stores in coef, a row of it for each node, next apart, what leaves the
// callees of calls begin…upto−1 at site e, for a caller on the given scale. It
// reports whether anything does.
func (s *spans) leaving(p *panel, r *round, e int, scale int32, begin, upto int, coef []float64, next int) (any bool) {
	if begin == upto {
		return false
	}
	callee, j := p.level.groups[r.group].callee, &p.joins[r.group]
	to, in := &s.levels[callee], s.panelOf(callee)
	if s.tops != nil && s.tops.n > 0 {
		in = nil
	}
	exits := len(s.g.levels[callee].exits)
	for m, x := range j.runs {
		from, end := max(int(x.from), begin), upto
		if m+1 < len(j.runs) {
			end = min(upto, int(j.runs[m+1].from))
		}
		if from >= end {
			continue
		}
		rows := j.row[from:end]
		here := in != nil && int(rows[0]) >= in.lo && int(rows[0]) < in.lo+in.n // called within the tile
		by := 0.0
		for i, node := range r.nodes {
			for _, k := range node.exits {
				var left []float64
				lo := int32(0)
				if here {
					if !in.leaves[k] {
						continue
					}
					left, lo = in.leave[int(k)*in.width:][:in.width], int32(in.lo)
				} else if left = to.leave[e*exits+int(k)]; left == nil {
					continue
				}
				if by == 0 {
					by = s.factor(x.exponent + to.scale[x.tile][e] - scale)
				}
				any = true
				c := coef[i*next+from-begin:][:len(rows)]
				if x.dense {
					left = left[rows[0]-lo:][:len(c)]
					for a, y := range left {
						c[a] += float64(y * by)
					}
					continue
				}
				for a, row := range rows {
					c[a] += float64(left[row-lo] * by)
				}
			}
		}
	}
	return any
}

// factor returns 2^n and notes where that is too small or too great.
func (s *spans) factor(n int32) float64 {
	if n < vanishing {
		s.faint = true
	} else if n > 400 {
		s.wide = true
	}
	return power(min(n, 400))
}
