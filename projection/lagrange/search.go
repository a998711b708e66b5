package lagrange

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/lead"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/projection"
)

// ranks is how many tokens of a site an exchange looks at, the cheapest ones.
const ranks = 16

// offer is a token that a site could take.
type offer struct {
	token int32
	cost  float64 // the divergence of making it lead
}

// rowsKept is how many inequalities an exchange looks at, those that pulled
// most. The judge looks at all.
const rowsKept = 8

// search is the scratch of one projection by a [Projection].
type search struct {
	of   *target
	loss lagrangian
	bits []uint32

	logx, z           []float32
	decoded, last     []int32   // by z, and at the previous judgement
	best, first, swap []int32   // least violation; likeliest of x; scratch
	found, least      []float64 // violations: of decoded, of best
	start             []float64 // multipliers of the recipe, for Nearest
	row               *lead.Row
	gain              []float64 // what changing a token back saves
	order             []int32
	width             int       // offers per site
	offers            []offer   // by site
	chosen            []int     // inequalities
	slope             []float32 // derivatives of one of those
	adds              []float64 // what an offer adds to them: offers × rowsKept
	slack             []float64
	market            []lot // offers by price
	banned            int   // the site that exchanges leave as it is, or none
	kept              []int32
	keptGain          []float64
	keptLeast         []float64
}

func newSearch(a *target) *search {
	n, m := a.sites*a.levels, a.smooth.Len()
	table := func() []float32 { return make([]float32, n) }
	return &search{
		of: a,
		loss: lagrangian{
			smooth: a.smooth, levels: a.levels, theta: float32(a.recipe.Temperature),
			x: table(), noise: table(), y: table(), phi: table(), pull: table(), grad: table(),
			lambda: make([]float64, m), raise: make([]float64, m), g: make([]float64, m), weight: make([]float64, m), force: make([]float64, m),
		},
		bits: make([]uint32, n),
		logx: table(), z: table(),
		decoded: make([]int32, a.sites), last: make([]int32, a.sites),
		best: make([]int32, a.sites), first: make([]int32, a.sites), swap: make([]int32, a.sites),
		found: make([]float64, a.judge.Len()), least: make([]float64, a.judge.Len()),
		start: make([]float64, m),
		row:   lead.New(a.levels, lead.Rule{Margin: a.recipe.Path.Margin}),
		gain:  make([]float64, a.sites), order: make([]int32, a.sites),
		width: min(ranks, a.levels), offers: make([]offer, a.sites*min(ranks, a.levels)),
		chosen: make([]int, 0, m), slope: make([]float32, n), slack: make([]float64, min(m, rowsKept)),
		adds: make([]float64, a.sites*min(ranks, a.levels)*rowsKept),
		kept: make([]int32, a.sites), keptGain: make([]float64, a.sites), keptLeast: make([]float64, a.judge.Len()),
		market: make([]lot, 0, a.sites*min(ranks, a.levels)),
	}
}

// load reads the given distribution and finds its likeliest tokens.
func (s *search) load(v []float32) error {
	k := s.of.levels
	simd.LogSoftmax(s.logx, v, k)
	simd.Softmax(s.loss.x, v, k)
	simd.ArgMax(s.first, s.logx, k)
	for i, l := range s.first {
		if l >= 0 {
			continue
		}
		row := v[i*k : (i+1)*k]
		if bad, _ := s.row.Load(row); bad >= 0 {
			return fmt.Errorf("lagrange: %s: %w", s.of.name, &projection.WeightError{Site: i, Level: bad, Weight: float64(row[bad])})
		}
		return &projection.InfeasibleError{Constraint: s.of.name, Site: i}
	}
	return nil
}

// run searches until the decoded sequence satisfies the constraint or loops run
// out, and returns how many there were. s.best is the result.
func (s *search) run(ctx context.Context, src rand.Source) (loops int, err error) {
	r, l := &s.of.recipe, &s.loss
	s.restart()
	if err := s.decode(s.best); err != nil {
		return 0, err
	}
	if err := s.judge(s.least, s.best); err != nil {
		return 0, err
	}
	copy(s.last, s.best)
	copy(s.found, s.least)
	for loops < r.Outer && violationOf(s.least) > r.Tolerance {
		if err := ctx.Err(); err != nil {
			return loops, err
		}
		if loops > 0 && loops%loopsPerStart == 0 {
			s.restart()
			for j := range l.lambda {
				l.lambda[j] = r.Lambda
			}
		}
		loops++
		s.draw(src)
		for range r.Inner {
			l.gradient(s.z)
			if !l.finite() {
				return loops, fmt.Errorf("lagrange: %s: the constraint is %v at rows that the search reached, want finite numbers", s.of.name, l.g)
			}
			l.descend(s.z, float32(r.Step))
			if done, err := s.look(); done || err != nil {
				return loops, err
			}
		}
		l.ascend(r.Growth, r.MuMax)
		s.raise()
	}
	return loops, nil
}

// loopsPerStart is after how many outer loops a search starts again, from x and the
// first multipliers, with other noise: TestGrid has none that takes as many, and
// what takes more oscillates between two constraints under multipliers that
// nothing lowers.
const loopsPerStart = 50

// restart begins at x.
func (s *search) restart() {
	copy(s.z, s.logx)
	clear(s.loss.raise)
	clear(s.loss.force)
	s.loss.mu = s.of.recipe.Mu
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
func (s *search) look() (done bool, err error) {
	if err := s.decode(s.decoded); err != nil {
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
func (s *search) decode(x []int32) error {
	if s.of.free {
		simd.ArgMax(x, s.z, s.of.levels) // the likeliest tokens, the first among equals
		return nil
	}
	_, err := s.of.within.MAP(x, s.z)
	return err
}

// judge stores the violations of x in g.
func (s *search) judge(g []float64, x []int32) error {
	s.of.judge.Violation(g, x)
	if w := violationOf(g); w != w {
		return fmt.Errorf("lagrange: %s: the violation of %v is NaN", s.of.name, x)
	}
	return nil
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

// lead replaces v by the nearest rows to x in which the tokens of s.best lead,
// and returns the divergence.
func (s *search) lead(v []float32) (divergence float64) {
	k := s.of.levels
	for i, l := range s.best {
		row := v[i*k : (i+1)*k]
		if s.row.Satisfied(row, l) {
			continue
		}
		s.row.Load(row)
		divergence += s.row.Price(l)
		s.row.Pool(row, l)
	}
	return divergence
}
