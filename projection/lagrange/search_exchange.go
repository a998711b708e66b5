package lagrange

import (
	"cmp"
	"math"
	"slices"
)

// exchange makes s.best cheaper by changes that its constraint seems to
// allow: a costly token for a cheaper one at the same site, or back to the likeliest
// one while another site makes up for it. What it seems to allow is
// taken from its derivatives at the sequence; the judge decides.
func (s *search) exchange() {
	s.price()
	s.choose()
	for range len(s.best) { // each round saves something; more would be a local search for its own sake
		s.derive()
		if !s.trade() {
			return
		}
	}
}

// price lists the cheapest tokens of every site, and what the present ones cost.
func (s *search) price() {
	k := s.of.levels
	for i, l := range s.best {
		s.row.Load(s.logx[i*k : (i+1)*k])
		for r := range s.width {
			token, cost, ok := s.row.At(r)
			if !ok {
				token, cost = l, math.Inf(1)
			}
			s.offers[i*s.width+r] = offer{token, cost}
		}
		s.gain[i] = s.row.Price(l)
	}
}

// choose lists the inequalities to look at.
func (s *search) choose() {
	force := s.loss.force
	s.chosen = s.chosen[:0]
	for j := range force {
		s.chosen = append(s.chosen, j)
	}
	if len(s.chosen) > rowsKept {
		slices.SortFunc(s.chosen, func(a, b int) int { return cmp.Or(cmp.Compare(force[b], force[a]), a-b) })
		s.chosen = s.chosen[:rowsKept]
	}
}

// derive stores the derivatives of the chosen inequalities at s.best in slopes,
// and how far they are from being violated in slack.
func (s *search) derive() {
	k, l := s.of.levels, &s.loss
	clear(l.phi)
	for i, token := range s.best {
		l.phi[i*k+int(token)] = 1
	}
	for c, j := range s.chosen {
		clear(l.weight)
		l.weight[j] = 1
		slope := s.slopes[c*len(l.phi) : (c+1)*len(l.phi)]
		clear(slope)
		l.smooth.Pull(slope, l.phi, l.weight)
		s.slack[c] = -violationOf(s.least)
		if len(s.least) == len(l.g) {
			s.slack[c] = -s.least[j]
		}
		s.slack[c] = max(0, s.of.recipe.Tolerance+s.slack[c])
	}
}

// change is a token that takes another's place.
type change struct {
	site     int
	from, to int32
}

// forbidden reports whether the chosen inequalities, to first order, do not
// allow two changes together.
func (s *search) forbidden(a, b change) bool {
	k, n := s.of.levels, len(s.logx)
	for c := range s.chosen {
		slope := s.slopes[c*n : (c+1)*n]
		worse := slope[a.site*k+int(a.to)] - slope[a.site*k+int(a.from)] +
			slope[b.site*k+int(b.to)] - slope[b.site*k+int(b.from)]
		if float64(worse) > s.slack[c]+float64(slopeRounding*math.Abs(float64(slope[a.site*k+int(a.from)]))) {
			return true
		}
	}
	return false
}

// slopeRounding is what sums of four float32 may be off by, relatively.
const slopeRounding = 1e-6

// trade looks for one exchange that saves something and that the judge accepts,
// and makes it.
func (s *search) trade() bool {
	for i, l := range s.best {
		if s.gain[i] == 0 {
			continue
		}
		back := change{i, l, s.first[i]}
		none := change{i, l, l}
		best, with, saved := change{}, none, tradeLeast
		for n, o := range s.offers {
			j := n / s.width
			to := change{j, s.best[j], o.token}
			also := none
			saves := s.gain[j] - o.cost
			if j != i {
				also = back
				saves += s.gain[i] - s.offers[i*s.width].cost
			}
			if saves > saved && !s.forbidden(to, also) {
				best, with, saved = to, also, saves
			}
		}
		if saved == tradeLeast {
			continue
		}
		copy(s.swap, s.best)
		s.swap[with.site] = with.to
		s.swap[best.site] = best.to
		if !s.keep() {
			continue
		}
		s.reprice(with)
		s.reprice(best)
		return true
	}
	return false
}

// reprice notes what the token of a site now costs.
func (s *search) reprice(c change) {
	for _, o := range s.offers[c.site*s.width : (c.site+1)*s.width] {
		if o.token == c.to {
			s.gain[c.site] = o.cost
		}
	}
}

// tradeLeast is the least saving in nats that is worth evaluating; it also
// keeps rounding errors from undoing exchanges forever.
const tradeLeast = 1e-6

// keep makes s.swap the best sequence if the language and the judge accept it.
func (s *search) keep() bool {
	if !s.of.free && !s.of.within.Accepts(s.swap) {
		return false
	}
	s.of.judge.Violation(s.found, s.swap)
	if !(violationOf(s.found) <= s.of.recipe.Tolerance) {
		return false
	}
	copy(s.best, s.swap)
	copy(s.least, s.found)
	return true
}

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
