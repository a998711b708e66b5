package pushdown

import (
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// replay reads site e forward, as spans did, with what is known to return.
func (t *tape) replay(s *spans, e int) {
	p, n := t.panel, t.width
	for q, yes := range p.live {
		at := int32(-1)
		if yes {
			at = int32(len(t.values))
			t.values = append(t.values, p.here[q*n:q*n+n]...)
		}
		t.kept = append(t.kept, at)
	}
	s.within(p, e)
	calls := p.callAt[(e-p.first)*len(p.level.calls):]
	for i, to := range p.of.places {
		x := p.keep.back[e*len(p.of.places)+i]
		if x == nil {
			continue
		}
		x = x[p.lo : p.lo+t.rows(e)]
		if to.state >= 0 {
			y := p.next[int(to.state)*n:][:n]
			if !p.coming[to.state] {
				clear(y)
				p.coming[to.state] = true
			}
			add(y, x)
		} else if k := p.level.halves[to.half].call; k >= 0 {
			if calls[k] < 0 {
				calls[k] = p.newCall()
			}
			add(p.call[calls[k]:], x)
		}
	}
	s.shift(p, e)
	for _, at := range calls {
		if at >= 0 {
			s.raise(p.call[at : int(at)+n])
		}
	}
	s.begin(p, e)
	t.list(s, e)
}

// list is spans.list, and notes what it did.
func (t *tape) list(s *spans, e int) {
	p := t.panel
	calls := p.callAt[(e-p.first)*len(p.level.calls):]
	at := len(t.listed)
	for range p.level.calls {
		t.listed = append(t.listed, listing{row: -1})
	}
	for i := range p.level.groups {
		to, j, callOf := &s.levels[p.level.groups[i].callee], &p.joins[i], p.of.callOf[i]
		t.count = append(t.count, int32(len(j.at)))
		for r := to.before[e]; r < to.before[e+1]; r++ {
			k := callOf[s.g.plan.number[to.start[r]]]
			if k < 0 || calls[k] < 0 {
				continue
			}
			exponent := to.offset[r] + p.scale[e]
			by := j.put(calls[k], r, int32(e/s.tile), exponent)
			if by != 0 {
				simd.Raise(p.call[calls[k]:][:p.width], algebra.Power(by), 0)
			}
			t.listed[at+int(k)] = listing{r, exponent - by, by}
			t.exponents[i] = append(t.exponents[i], exponent-by)
		}
		if e < p.last {
			t.inTile[i] = int32(len(j.at))
		}
	}
}
