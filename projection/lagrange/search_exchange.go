package lagrange

import (
	"cmp"
	"math"
	"slices"
)

// exchange makes s.best cheaper by changes that its constraint seems to allow: a
// costly token for a cheaper one at the same site, while at most two others make up
// for it. What it seems to allow is taken from its derivatives at the sequence; the
// judge decides. Where no such change is left, sites of high cost get their likeliest
// token back, whatever others then cost, and the search goes on from there; what comes
// of it is kept if it is cheaper.
func (s *search) exchange() {
	s.price()
	s.choose()
	s.banned = none
	s.descend()
	s.order = s.order[:0]
	for i := range s.best {
		if s.gain[i] > s.offers[i*s.width].cost {
			s.order = append(s.order, int32(i))
		}
	}
	slices.SortStableFunc(s.order, func(i, j int32) int { return cmp.Compare(s.gain[j], s.gain[i]) })
	for _, i := range s.order[:min(kicks, len(s.order))] {
		copy(s.kept, s.best)
		copy(s.keptGain, s.gain)
		copy(s.keptLeast, s.least)
		if s.kick(int(i)) && sum(s.gain) < sum(s.keptGain)-tradeLeast {
			continue
		}
		copy(s.best, s.kept)
		copy(s.gain, s.keptGain)
		copy(s.least, s.keptLeast)
	}
}

// kicks is how many sites get their likeliest token back for a try.
const kicks = 8

// descend exchanges tokens until no exchange saves anything.
func (s *search) descend() {
	for range len(s.best) { // each round saves something; more would be a local search for its own sake
		s.derive()
		s.list(0)
		if !s.trade(s.second) && !s.trade(s.third) {
			return
		}
	}
}

// kick gives a site its likeliest token back and descends, first without changing that
// site. It returns false if the constraint does not seem to allow that at a price of up
// to twice what it saves.
func (s *search) kick(site int) bool {
	first := int32(site * s.width)
	gives := s.gain[site] - s.offers[first].cost
	s.derive()
	s.list(gives)
	b, c, saved := s.second(first, gives, -gives)
	if saved == -gives {
		b, c, saved = s.third(first, gives, -gives)
	}
	if saved == -gives || !s.take(first, b, c) {
		return false
	}
	s.banned = site
	s.descend()
	s.banned = none
	s.descend()
	return true
}

func sum(v []float64) (total float64) {
	for _, v := range v {
		total += v
	}
	return total
}

// derive stores what every offer adds to the chosen inequalities, by their derivatives
// at s.best, and how much they can bear.
func (s *search) derive() {
	k, l := s.of.levels, &s.loss
	s.point()
	for c, j := range s.chosen {
		clear(l.weight)
		l.weight[j] = 1
		s.pull()
		scale := 0.0
		for n, o := range s.offers {
			i := n / s.width
			now := s.slope[i*k+int(s.best[i])]
			s.adds[n*rowsKept+c] = float64(s.slope[i*k+int(o.token)]) - float64(now)
			scale = max(scale, math.Abs(float64(now)))
		}
		s.slack[c] = -violationOf(s.least)
		if len(s.least) == len(l.g) {
			s.slack[c] = -s.least[j]
		}
		s.slack[c] = max(0, s.of.recipe.Tolerance+s.slack[c]) + float64(slopeRounding*scale)
	}
}

// slopeRounding is what sums of some float32 may be off by, relatively.
const slopeRounding = 1e-6

// list puts the offers that could be part of an exchange in the order of their price,
// which is what they cost beyond the present token of their site: less than what a
// site can save and more.
func (s *search) list(more float64) {
	most := 0.0
	for i, g := range s.gain {
		most = max(most, g-s.offers[i*s.width].cost)
	}
	most += more
	s.market = s.market[:0]
	for n, o := range s.offers {
		if i := n / s.width; i != s.banned && o.token != s.best[i] && o.cost-s.gain[i] < most {
			s.market = append(s.market, lot{int32(n), o.cost - s.gain[i]})
		}
	}
	slices.SortFunc(s.market, func(a, b lot) int { return cmp.Or(cmp.Compare(a.price, b.price), cmp.Compare(a.offer, b.offer)) })
}

// allowed reports whether the chosen inequalities, to first order, bear up to three
// offers together.
func (s *search) allowed(offers ...int32) bool {
	for c := range s.chosen {
		worse := 0.0
		for _, n := range offers {
			if n != none {
				worse += s.adds[int(n)*rowsKept+c]
			}
		}
		if worse > s.slack[c] {
			return false
		}
	}
	return true
}

// trade looks for one exchange that saves something and that the judge accepts, and
// makes it: a site takes a cheaper token, and what others have to take for it is what
// partners finds.
func (s *search) trade(partners func(first int32, gives, least float64) (b, c int32, saved float64)) bool {
	for i, g := range s.gain {
		if i == s.banned {
			continue
		}
		best, saved := [3]int32{}, tradeLeast
		for n := i * s.width; n < (i+1)*s.width && g-s.offers[n].cost > saved; n++ {
			if b, c, more := partners(int32(n), g-s.offers[n].cost, saved); more > saved {
				best, saved = [3]int32{int32(n), b, c}, more
			}
		}
		if saved > tradeLeast && s.take(best[:]...) {
			return true
		}
	}
	return false
}

// take makes offers the tokens of their sites if the judge accepts that.
func (s *search) take(offers ...int32) bool {
	copy(s.swap, s.best)
	for _, n := range offers {
		if n != none {
			s.swap[int(n)/s.width] = s.offers[n].token
		}
	}
	if !s.keep() {
		return false
	}
	for _, n := range offers {
		if n != none {
			s.gain[int(n)/s.width] = s.offers[n].cost
		}
	}
	return true
}

// second finds the cheapest offer to combine with a first one, which saves the amount
// gives; none if the first one needs no other. It returns least if nothing saves more.
func (s *search) second(first int32, gives, least float64) (b, c int32, saved float64) {
	if gives > least && s.allowed(first) {
		return none, none, gives
	}
	site := int(first) / s.width
	for _, o := range s.market {
		if gives-o.price <= least {
			break
		}
		if int(o.offer)/s.width != site && s.allowed(first, o.offer) {
			return o.offer, none, gives - o.price
		}
	}
	return none, none, least
}

// third finds the two cheapest offers that go with a first one.
func (s *search) third(first int32, gives, least float64) (b, c int32, saved float64) {
	b, c, saved = none, none, least
	site, looks := int(first)/s.width, 0
	for n, o := range s.market {
		if gives-2*o.price <= saved || looks > looksMost {
			break
		}
		if int(o.offer)/s.width == site {
			continue
		}
		for _, p := range s.market[n+1:] {
			if gives-o.price-p.price <= saved {
				break
			}
			looks++
			if t := int(p.offer) / s.width; t != site && t != int(o.offer)/s.width && s.allowed(first, o.offer, p.offer) {
				b, c, saved = o.offer, p.offer, gives-o.price-p.price
				break
			}
		}
	}
	return b, c, saved
}

// looksMost is the number of exchanges of three sites with the same first offer
// after which no more are considered.
const looksMost = 1 << 16

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

// simplify changes tokens of s.best to cheaper ones, the costliest first and the
// cheapest token first, wherever the sequence stays within the tolerance and the
// language. What remains is a sequence of which no single change makes it cheaper,
// among the tokens that are offered.
func (s *search) simplify() {
	s.price()
	s.order = s.order[:0]
	for i, l := range s.best {
		if l != s.first[i] {
			s.order = append(s.order, int32(i))
		}
	}
	for again := true; again; {
		again = false
		slices.SortFunc(s.order, func(i, j int32) int {
			return cmp.Or(cmp.Compare(s.gain[j], s.gain[i]), cmp.Compare(i, j))
		})
		for _, i := range s.order {
			for _, o := range s.offers[int(i)*s.width : (int(i)+1)*s.width] {
				if !(o.cost < s.gain[i]) {
					break
				}
				copy(s.swap, s.best)
				s.swap[i] = o.token
				if s.keep() {
					s.gain[i] = o.cost
					again = true
					break
				}
			}
		}
	}
}
