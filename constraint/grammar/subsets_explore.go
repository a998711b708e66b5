package grammar

import (
	"context"
	"encoding/binary"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// explore finds all states that a run can reach and returns the machine of
// them, nil if no text is accepted.
func (s *subsets) explore(ctx context.Context, name string, limits constraint.Limits) (*pushdown.Machine, error) {
	s.meter.Watch(ctx)
	defer s.meter.Unwatch()
	if err := s.meter.Poll(); err != nil {
		return nil, err
	}
	if s.start < 0 {
		return nil, nil
	}
	x := &exploration{subsets: s, reached: map[int32]bool{}}
	x.reach(s.start)
	for again := true; again; {
		for ; x.head < len(x.list); x.head++ {
			for b := range 256 {
				m, err := s.move(x.list[x.head], byte(b))
				if err != nil {
					return nil, err
				}
				if m.Kind == pushdown.Inside || m.Kind == pushdown.Call {
					x.reach(m.To)
				}
			}
			if err := limits.Check(name, len(s.states), 0, 8*s.items+1024*len(s.states)); err != nil {
				return nil, err
			}
		}
		again = false
		for g := range s.waits {
			for r := range s.list {
				if s.meter.Done(8) {
					return nil, s.meter.Err()
				}
				if s.waits[g].callee != s.list[r].level {
					continue
				}
				q, err := s.resume(int32(g), int32(r))
				if err != nil {
					return nil, err
				}
				again = x.reach(q) || again
			}
		}
	}
	if err := x.unambiguous(); err != nil {
		return nil, err
	}
	m, err := s.machine()
	if err != nil {
		return nil, err
	}
	return m.Minimal(ctx)
}

// exploration lists the states that a run can reach.
type exploration struct {
	*subsets
	list    []int32
	head    int
	reached map[int32]bool
}

func (x *exploration) reach(q int32) bool {
	if q < 0 || x.reached[q] {
		return false
	}
	x.reached[q] = true
	x.list = append(x.list, q)
	return true
}

// unambiguous checks the states at which a rule may be complete, but need not
// be: no caller may go on with a byte with which the rule goes on, and none may
// be complete itself, for then nothing would end both.
func (x *exploration) unambiguous() error {
	s := x.subsets
	for _, q := range x.list {
		v := s.states[q]
		if v.ends == "" || v.level == s.states[s.start].level {
			continue
		}
		for _, w := range s.waits {
			if s.meter.Done(8) {
				return s.meter.Err()
			}
			if w.callee != v.level {
				continue
			}
			after := s.after(w, v.ends)
			if after < 0 {
				continue
			}
			if s.states[after].ends != "" {
				return s.conflict(v.level, 0, "end together with the rule around it")
			}
			for b, k := range v.row {
				m := s.decode(k)
				if m.Kind == pushdown.Dead || m.Kind == pushdown.Return && s.list[m.Symbol].ahead >= 0 {
					continue
				}
				if t, err := s.move(after, byte(b)); err != nil {
					return err
				} else if t.Kind != pushdown.Dead {
					return s.conflict(v.level, byte(b), "go on in the rule or end it")
				}
			}
		}
	}
	return nil
}

// machine writes the explored states as tables.
func (s *subsets) machine() (*pushdown.Machine, error) {
	m := &pushdown.Machine{Levels: len(s.rules), Start: s.start}
	columns := map[string]uint8{}
	var rep []byte
	for b := range 256 {
		if s.meter.Done(len(s.states)) {
			return nil, s.meter.Err()
		}
		var k []byte
		for q := range s.states {
			if a := s.known(int32(q), byte(b)); a.Kind != pushdown.Dead {
				k = binary.LittleEndian.AppendUint32(k, uint32(q))
				k = append(k, byte(a.Kind))
				k = binary.LittleEndian.AppendUint32(k, uint32(a.Symbol))
				k = binary.LittleEndian.AppendUint32(k, uint32(a.To))
			}
		}
		c, ok := columns[string(k)]
		if !ok {
			c = uint8(len(rep))
			columns[string(k)] = c
			rep = append(rep, byte(b))
		}
		m.Class[b] = c
	}
	m.Classes = len(rep)
	for q := range s.states {
		m.Level = append(m.Level, s.states[q].level)
		m.Accept = append(m.Accept, s.accepts(int32(q)))
		for _, b := range rep {
			m.Moves = append(m.Moves, s.known(int32(q), b))
		}
	}
	for g := range s.waits {
		if s.meter.Done(64 + len(s.list)) {
			return nil, s.meter.Err()
		}
		row := make([]int32, len(s.list))
		for r := range row {
			row[r] = -1
			if q, ok := s.resumed[[2]int32{int32(g), int32(r)}]; ok {
				row[r] = q
			}
		}
		m.Resume = append(m.Resume, row)
	}
	return m, nil
}
