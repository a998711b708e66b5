package lagrange

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
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

// none is no offer, and no site.
const none = -1

// lot is an offer with its price.
type lot struct {
	offer int32
	price float64
}

// remedy is a token of a site by what it costs for the fall of the violation.
type remedy struct {
	site  int
	token int32
	price float64
}

// tries is how many remedies are judged before a repair gives up.
const tries = 32

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
	remedies          []remedy
	few               []int32   // changed sequences, of one site
	fewFound          []float64 // what they violate
	scans             int       // how many more a repair may judge
	banned            int       // the site that exchanges leave as it is, or none
	kept              []int32
	keptGain          []float64
	keptLeast, was    []float64
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
		kept: make([]int32, a.sites), keptGain: make([]float64, a.sites), keptLeast: make([]float64, a.judge.Len()), was: make([]float64, a.judge.Len()),
		remedies: make([]remedy, 0, tries),
		few:      make([]int32, 0, a.sites*min(ranks, a.levels)), fewFound: make([]float64, a.judge.Len()*min(ranks, a.levels)),
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

// judge stores the violations of x in g.
func (s *search) judge(g []float64, x []int32) error {
	s.of.judge.Violation(g, x)
	if w := violationOf(g); w != w {
		return fmt.Errorf("lagrange: %s: the violation of %v is NaN", s.of.name, x)
	}
	return nil
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

// point puts the rows at which derivatives are taken at s.best.
func (s *search) point() {
	clear(s.loss.phi)
	for i, token := range s.best {
		s.loss.phi[i*s.of.levels+int(token)] = 1
	}
}

// pull stores the derivatives there of the inequalities by their weights in s.slope.
func (s *search) pull() {
	clear(s.slope)
	s.loss.smooth.Pull(s.slope, s.loss.phi, s.loss.weight)
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

// project moves v, stores the sequence in x and leaves the multipliers in lambda.
func (s *search) project(ctx context.Context, x []int32, v []float32, lambda []float64, src rand.Source) (divergence, violation float64, err error) {
	a := s.of
	check.Len("lagrange", "v", len(v), a.sites*a.levels)
	if err := s.load(v); err != nil {
		return 0, 0, err
	}
	copy(s.loss.lambda, lambda)
	loops, err := s.run(ctx, src)
	if err != nil {
		return 0, 0, err
	}
	copy(lambda, s.loss.lambda)
	violation = violationOf(s.least)
	converged := violation <= a.recipe.Tolerance
	if converged {
		s.simplify()
		s.exchange()
		violation = violationOf(s.least)
	}
	divergence = s.lead(v)
	copy(x, s.best)
	if !converged {
		return divergence, violation, &projection.NotConverged{Method: "lagrange: " + a.name, Residual: violation, Want: a.recipe.Tolerance, Iterations: loops}
	}
	return divergence, violation, nil
}
