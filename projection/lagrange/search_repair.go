package lagrange

import "math"

// repair changes tokens of the decoded sequence one by one, each so that the violation
// falls, until there is none or no change that the derivatives speak for makes it fall.
// What comes of it becomes s.best if it violates less. It reports whether there is no
// violation.
func (s *search) repair() bool {
	copy(s.kept, s.best)
	copy(s.keptLeast, s.least)
	copy(s.was, s.found)
	copy(s.best, s.last)
	copy(s.least, s.found)
	s.choose()
	for range repairs * len(s.best) {
		s.slopes()
		s.rank()
		if !s.lower() || violationOf(s.least) <= s.of.recipe.Tolerance {
			break
		}
	}
	copy(s.found, s.was) // of the decoded sequence, as before
	if !(violationOf(s.least) < violationOf(s.keptLeast)) {
		copy(s.best, s.kept)
		copy(s.least, s.keptLeast)
	}
	return violationOf(s.least) <= s.of.recipe.Tolerance
}

const (
	repairEvery = 3  // outer loops between two repairs
	repairs     = 2  // changes per site
	tries       = 32 // changes that are judged before a repair gives up
)

// remedy is a token of a site by what it costs for the fall of the violation.
type remedy struct {
	site  int
	token int32
	price float64
}

// cheapestRise is the price in nats of changes that cost less, or nothing.
const cheapestRise = 1e-3

// rank lists the changes of s.best that lower the chosen inequalities most, to first
// order, for what they take from the log-probability.
func (s *search) rank() {
	k := s.of.levels
	s.remedies = s.remedies[:0]
	for i, now := range s.best {
		for l := range k {
			at, from := i*k+l, i*k+int(now)
			falls := float64(s.slope[from]) - float64(s.slope[at])
			if !(falls > 0) || math.IsInf(float64(s.logx[at]), -1) {
				continue
			}
			r := remedy{i, int32(l), max(float64(s.logx[from]-s.logx[at]), cheapestRise) / falls}
			if n := len(s.remedies); n < tries {
				s.remedies = append(s.remedies, r)
			} else if r.price < s.remedies[n-1].price {
				s.remedies[n-1] = r
			} else {
				continue
			}
			for n := len(s.remedies) - 1; n > 0 && s.remedies[n].price < s.remedies[n-1].price; n-- {
				s.remedies[n], s.remedies[n-1] = s.remedies[n-1], s.remedies[n]
			}
		}
	}
}

// lower makes the first of the remedies a part of s.best that the language accepts and
// by which the violation falls.
func (s *search) lower() bool {
	for _, r := range s.remedies {
		copy(s.swap, s.best)
		s.swap[r.site] = r.token
		if !s.of.free && !s.of.within.Accepts(s.swap) {
			continue
		}
		s.of.judge.Violation(s.found, s.swap)
		if violationOf(s.found) < violationOf(s.least) {
			copy(s.best, s.swap)
			copy(s.least, s.found)
			return true
		}
	}
	return false
}

// slopes stores the derivatives of the sum of the chosen inequalities that are violated
// at s.best in s.slope: of all chosen ones where the judge has others.
func (s *search) slopes() {
	k, l := s.of.levels, &s.loss
	clear(l.phi)
	for i, token := range s.best {
		l.phi[i*k+int(token)] = 1
	}
	clear(l.weight)
	for _, j := range s.chosen {
		if len(s.least) != len(l.g) || s.least[j] > s.of.recipe.Tolerance {
			l.weight[j] = 1
		}
	}
	clear(s.slope)
	l.smooth.Pull(s.slope, l.phi, l.weight)
}
