package lagrange

import (
	"cmp"
	"slices"
)

// simplify changes tokens of s.best back to the likeliest ones of x, the costliest
// first, wherever the sequence stays within the tolerance and the language. What
// remains is a sequence of which no single change can be taken back.
func (s *search) simplify() {
	k := s.of.levels
	s.order = s.order[:0]
	for i, l := range s.best {
		if l == s.first[i] {
			continue
		}
		s.row.Load(s.logx[i*k : (i+1)*k])
		s.gain[i] = s.row.Price(l)
		s.order = append(s.order, int32(i))
	}
	slices.SortFunc(s.order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(s.gain[j], s.gain[i]), cmp.Compare(i, j))
	})
	for again := true; again; {
		again = false
		for _, i := range s.order {
			if s.best[i] == s.first[i] {
				continue
			}
			copy(s.swap, s.best)
			s.swap[i] = s.first[i]
			if s.keep() {
				again = true
			}
		}
	}
}
