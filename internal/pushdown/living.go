package pushdown

import "slices"

// living reports which states are reached and lead to the end of a text or of
// their level.
func (m *Machine) living() []bool {
	live := make([]bool, len(m.Level))
	for again := true; again; {
		again = false
		for q := len(live) - 1; q >= 0; q-- {
			if !live[q] && (m.ends(int32(q)) || slices.ContainsFunc(m.row(int32(q)), func(a Move) bool { return m.leads(a, live) })) {
				live[q], again = true, true
			}
		}
	}
	reached := make([]bool, len(live))
	list := []int32{m.Start}
	for len(list) > 0 {
		q := list[len(list)-1]
		list = list[:len(list)-1]
		if q < 0 || !live[q] || reached[q] {
			continue
		}
		reached[q] = true
		for _, a := range m.row(q) {
			if a.Kind == Inside || a.Kind == Call {
				list = append(list, a.To)
			}
			if a.Kind == Call {
				list = append(list, m.Resume[a.Symbol]...)
			}
		}
	}
	return reached
}

// ends reports whether a text may end in q.
func (m *Machine) ends(q int32) bool { return m.Accept[q] && m.Level[q] == m.Level[m.Start] }

func (m *Machine) row(q int32) []Move { return m.Moves[int(q)*m.Classes : int(q+1)*m.Classes] }

// leads reports whether a move leads to a state of live or out of its level.
func (m *Machine) leads(a Move, live []bool) bool {
	switch a.Kind {
	case Inside:
		return live[a.To]
	case Call:
		return live[a.To] && slices.ContainsFunc(m.Resume[a.Symbol], func(q int32) bool { return q >= 0 && live[q] })
	}
	return a.Kind == Return
}
