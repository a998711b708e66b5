package lagrange

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// run searches until the decoded sequence satisfies the constraint or loops run
// out, and returns how many there were. s.best is the result.
func (s *search) run(ctx context.Context, src rand.Source) (loops int, err error) {
	r, l := &s.of.recipe, &s.loss
	s.restart()
	if err := s.decode(ctx, s.best); err != nil {
		return 0, err
	}
	if err := s.judge(s.least, s.best); err != nil {
		return 0, err
	}
	copy(s.last, s.best)
	copy(s.found, s.least)
	for loops < r.Outer && violationOf(s.least) > r.Tolerance {
		if err := poll.Err(ctx); err != nil {
			return loops, err
		}
		if loops > 0 && loops%loopsPerStart == 0 {
			s.restart()
			clear(l.lambda)
		}
		loops++
		s.draw(src)
		for range r.Inner {
			l.gradient(s.z)
			if !l.finite() {
				return loops, fmt.Errorf("lagrange: %s: the constraint is %v at rows that the search reached, want finite numbers", s.of.name, l.g)
			}
			l.descend(s.z, float32(r.Step))
			if done, err := s.look(ctx); done || err != nil {
				return loops, err
			}
		}
		l.ascend()
		s.raise()
		if loops%repairEvery == 0 {
			if done, err := s.repair(ctx, src, loops > repairEvery); done || err != nil {
				return loops, err
			}
		}
	}
	return loops, nil
}

// loopsPerStart is the number of outer loops after which a search starts again,
// from x and the first multipliers, with other noise: no search of TestGrid takes
// as many, and one that takes more oscillates between two constraints under
// multipliers that nothing lowers.
const loopsPerStart = 50

// restart begins at x.
func (s *search) restart() {
	copy(s.z, s.logx)
	clear(s.loss.raise)
	clear(s.loss.force)
	s.loss.mu = firstMu
}

// draw makes new noise.
func (s *search) draw(src rand.Source) {
	for i := 0; i < len(s.bits); i += 2 {
		b := src.Uint64()
		s.bits[i] = uint32(b)
		if i+1 < len(s.bits) {
			s.bits[i+1] = uint32(b >> 32)
		}
	}
	s.loss.perturb(s.bits)
}

// look judges the decoded sequence, unless it is what was judged last, and
// reports whether it satisfies the constraint.
func (s *search) look(ctx context.Context) (done bool, err error) {
	if err := s.decode(ctx, s.decoded); err != nil {
		return false, err
	}
	if slices.Equal(s.decoded, s.last) {
		return false, nil
	}
	copy(s.last, s.decoded)
	if err := s.judge(s.found, s.decoded); err != nil {
		return false, err
	}
	worst := violationOf(s.found)
	if worst < violationOf(s.least) {
		copy(s.best, s.decoded)
		copy(s.least, s.found)
	}
	return worst <= s.of.recipe.Tolerance, nil
}

// decode stores the likeliest sequence under z: of the language, if there is one.
func (s *search) decode(ctx context.Context, x []int32) error {
	if s.of.free {
		simd.ArgMax(x, s.z, s.of.levels) // the likeliest tokens, the first among equals
		return nil
	}
	_, err := s.of.within.MAP(ctx, x, s.z)
	return err
}

// raise tightens what the relaxed draw satisfies and the decoded sequence does
// not, by the violation of the sequence, and slowly slackens what the sequence
// satisfies.
func (s *search) raise() {
	worst := violationOf(s.found)
	for j, g := range s.loss.g {
		d := worst
		if len(s.found) == len(s.loss.g) {
			d = s.found[j]
		}
		switch {
		case d <= s.of.recipe.Tolerance:
			s.loss.raise[j] /= 2
		case g <= 0:
			s.loss.raise[j] += d
		}
	}
}

// repair looks for a sequence without violation by changes of one token: from the
// decoded sequence, then from the likeliest one under x, then, if that was of no use
// before, from a few that are drawn from x. What violates least becomes s.best. It reports whether there is no violation.
func (s *search) repair(ctx context.Context, src rand.Source, again bool) (done bool, err error) {
	copy(s.was, s.found)
	copy(s.kept, s.best)
	copy(s.keptLeast, s.least)
	copy(s.best, s.last)
	copy(s.least, s.found)
	s.choose()
	s.scans = scanStates
	for start := range starts {
		if start > 1 && !again {
			break
		}
		switch {
		case start == 1 && s.of.free:
			copy(s.best, s.first)
		case start == 1:
			_, err = s.of.within.MAP(ctx, s.best, s.logx)
		case start > 1:
			_, err = s.of.within.Draw(ctx, s.best, s.logx, src)
		}
		if err == nil && start > 0 {
			err = s.judge(s.least, s.best)
		}
		if err != nil {
			break
		}
		if err = s.mend(ctx); err != nil {
			break
		}
		if violationOf(s.least) < violationOf(s.keptLeast) {
			copy(s.kept, s.best)
			copy(s.keptLeast, s.least)
		}
		if violationOf(s.keptLeast) <= s.of.recipe.Tolerance {
			break
		}
	}
	copy(s.found, s.was) // of the decoded sequence, as before
	copy(s.best, s.kept)
	copy(s.least, s.keptLeast)
	return violationOf(s.least) <= s.of.recipe.Tolerance, err
}

// mend changes tokens of s.best one by one, each so that the violation falls, until
// there is none or no change of one token to one of the cheapest makes it fall.
func (s *search) mend(ctx context.Context) error {
	for range repairs * len(s.best) {
		if violationOf(s.least) <= s.of.recipe.Tolerance {
			break
		}
		if err := poll.Err(ctx); err != nil {
			return err
		}
		s.slopes()
		s.rank()
		if !s.lower() && !s.scan() {
			break
		}
	}
	return nil
}

const (
	repairEvery = 3 // outer loops between two repairs
	repairs     = 2 // changes per site
	starts      = 6 // sequences that a repair begins at

	// scanMost is the largest number of entries of one-hot rows that a scan
	// writes, and scanStates roughly the number of sequences that the scans of
	// a repair judge.
	scanMost   = 1 << 28
	scanStates = 1 << 16
)

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

// scan judges all changes of one token to one of the cheapest, whatever the derivatives
// say of them, and makes that which lowers the violation most for what it takes from
// the log-probability. It reports whether there is one.
func (s *search) scan() bool {
	n, now, best := len(s.best), violationOf(s.least), math.Inf(1)
	site, token := none, int32(0)
	width := s.width
	if _, dense := s.of.judge.(oneHot); dense {
		width = min(width, scanMost/n/n/s.of.levels)
	}
	if s.scans <= 0 {
		return false
	}
	s.scans -= n * width
	s.price()
	for i, own := range s.best {
		s.few = s.few[:0]
		for _, o := range s.offers[i*s.width:][:width] {
			copy(s.swap, s.best)
			s.swap[i] = o.token
			if o.token != own && !math.IsInf(o.cost, 1) && (s.of.free || s.of.within.Accepts(s.swap)) {
				s.few = append(s.few, s.swap...)
			}
		}
		m := len(s.least)
		s.of.judge.Violation(s.fewFound[:len(s.few)/n*m], s.few)
		for c := range len(s.few) / n {
			falls := now - violationOf(s.fewFound[c*m:(c+1)*m])
			l := s.few[c*n+i]
			if !(falls > 0) {
				continue
			}
			k := i * s.of.levels
			if price := max(float64(s.logx[k+int(own)]-s.logx[k+int(l)]), cheapestRise) / falls; price < best {
				best, site, token = price, i, l
			}
		}
	}
	if site == none {
		return false
	}
	s.best[site] = token
	s.of.judge.Violation(s.least, s.best)
	return true
}

// slopes stores the derivatives of the sum of the chosen inequalities that are violated
// at s.best in s.slope: of all chosen ones where the judge has others.
func (s *search) slopes() {
	l := &s.loss
	s.point()
	clear(l.weight)
	for _, j := range s.chosen {
		if len(s.least) != len(l.g) || s.least[j] > s.of.recipe.Tolerance {
			l.weight[j] = 1
		}
	}
	s.pull()
}
