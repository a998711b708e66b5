package pushdown

import (
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// list adds the calls of site e to those that may return later.
func (s *spans) list(p *panel, e int) {
	calls := p.callAt[(e-p.first)*len(p.level.calls):]
	for i := range p.level.groups {
		to, j, callOf := &s.levels[p.level.groups[i].callee], &p.joins[i], p.of.callOf[i]
		for r := to.before[e]; r < to.before[e+1]; r++ {
			if k := callOf[s.g.plan.number[to.start[r]]]; k >= 0 && calls[k] >= 0 {
				j.at, j.row = append(j.at, calls[k]), append(j.row, r)
				j.exponent = append(j.exponent, to.offset[r]+p.scale[e])
			}
		}
	}
}

// returns adds what leaves callees at site e by the exits of a round, for all
// rows of a caller at once: one sum over all calls for each node,
//
//	X[row] = Σ_j K_j[row]·R_j[e].
func (s *spans) returns(p *panel, r *round, e int) {
	v := p.level
	callee := v.groups[r.group].callee
	j := &p.joins[r.group]
	n := len(j.at)
	if cap(s.coef) < n*len(r.nodes) {
		s.coef = make([]float64, 2*n*len(r.nodes))
	}
	s.coef = s.coef[:n*len(r.nodes)]
	clear(s.coef)
	if !s.leaving(p, r, e, callee, j, s.coef) {
		return
	}
	if simd.Chop(s.coef, 1, power(remote)) {
		s.faint = true
	}
	s.x = resize(s.x, len(r.nodes)*p.width)
	simd.Fold(s.x, p.width, p.call, j.at, s.coef)
	for i, node := range r.nodes {
		x := s.x[i*p.width : (i+1)*p.width]
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
			y := p.leave[int(h.exit)*p.width:][:p.width]
			add(y, x)
			s.chop(y)
		}
	}
}

func add(dst, x []float64) {
	dst = dst[:len(x)]
	for i, y := range x {
		dst[i] += y
	}
}

// leaving stores in coef, a row of it for each node, what leaves the callees
// that j lists at site e, on the scale of p. It reports whether anything does.
func (s *spans) leaving(p *panel, r *round, e int, callee int32, j *join, coef []float64) (any bool) {
	to, in := &s.levels[callee], s.panelOf(callee)
	if s.tops != nil && s.tops.n > 0 {
		in = nil
	}
	n, exits := len(j.row), len(s.g.levels[callee].exits)
	for from := 0; from < n; {
		tile := int(to.site[j.row[from]]) / s.tile
		upto := from + 1
		for upto < n && int(to.site[j.row[upto]])/s.tile == tile {
			upto++
		}
		rows := j.row[from:upto]
		here := in != nil && int(rows[0]) >= in.lo && int(rows[0]) < in.lo+in.n // called within the tile
		base := int32(0)
		scaled := false
		for i, node := range r.nodes {
			for _, k := range node.exits {
				var x []float64
				lo := int32(0)
				if here {
					if !in.leaves[k] {
						continue
					}
					x, lo = in.leave[int(k)*in.width:][:in.width], int32(in.lo)
				} else if x = to.leave[e*exits+int(k)]; x == nil {
					continue
				}
				if !scaled {
					scaled = true
					base = to.scale[tile][e] - p.scale[e]
					s.factors(j.exponent[from:upto], base)
				}
				c := coef[i*n+from : i*n+upto]
				for a, row := range rows {
					c[a] += float64(x[row-lo] * s.segment[a])
				}
				any = true
			}
		}
		from = upto
	}
	return any
}

// factors stores 2^(exponent + base) in segment.
func (s *spans) factors(exponent []int32, base int32) {
	if cap(s.segment) < len(exponent) {
		s.segment = make([]float64, 2*len(exponent))
	}
	s.segment = s.segment[:len(exponent)]
	for a, x := range exponent {
		x += base
		if x < remote-highest {
			s.faint = true
		} else if x > 400 {
			s.wide = true
		}
		s.segment[a] = power(min(x, 400))
	}
}
