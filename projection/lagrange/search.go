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
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/projection"
)

// ranks is the number of tokens of a site that an exchange considers, the cheapest ones.
const ranks = 16

// offer is a token that a site could take.
type offer struct {
	token int32
	cost  float64 // divergence that results from making the token lead
}

// rowsKept is the number of inequalities that an exchange considers: those with the largest
// accumulated weight. The judge evaluates all inequalities.
const rowsKept = 8

// none is the index that means no offer, or no site.
const none = -1

// lot is an offer with its price, by its index in search.offers.
type lot struct {
	offer int32
	price float64
}

// remedy is a change of one token. The field price is its cost per unit of decrease of the
// violation.
type remedy struct {
	site  int
	token int32
	price float64
}

// tries is the number of remedies that a repair evaluates before it gives up.
const tries = 32

// search is the scratch of one projection by a [Projection].
type search struct {
	of   *target
	loss lagrangian
	bits []uint32

	logx, z       []float32
	decoded, last []int32 // sequence decoded from z, and the last sequence that was evaluated
	// sequence with the least violation, likeliest sequence of x, and scratch
	best, first, swap []int32
	found, least      []float64 // violations of decoded and of best
	start             []float64 // initial multipliers for Nearest
	row               *lead.Row
	gain              []float64 // for each site, the amount saved by changing its token back
	order             []int32
	width             int       // number of offers per site
	offers            []offer   // offers, site by site
	chosen            []int     // inequalities that exchanges consider
	slope             []float32 // derivatives of one chosen inequality, or of a sum of inequalities
	adds              []float64 // change of each chosen inequality by each offer, offers × rowsKept
	slack             []float64
	market            []lot // offers ordered by price
	remedies          []remedy
	few               []int32   // modified sequences that differ from the best one at one site
	fewFound          []float64 // violations of the sequences in few
	scans             int       // number of sequences that the repair may still evaluate
	banned            int       // site that exchanges do not change, or none
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

// load normalises the given distribution and finds its likeliest tokens.
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

// judge stores the violations of x in g. It returns an error if one is NaN.
func (s *search) judge(g []float64, x []int32) error {
	s.of.judge.Violation(g, x)
	if w := violationOf(g); w != w {
		return fmt.Errorf("lagrange: %s: the violation of %v is NaN", s.of.name, x)
	}
	return nil
}

// price lists the cheapest tokens of every site, and computes the costs of the present tokens.
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

// choose lists the inequalities that exchanges consider.
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

// point sets l.phi to the one-hot rows of s.best, at which derivatives are taken.
func (s *search) point() {
	clear(s.loss.phi)
	for i, token := range s.best {
		s.loss.phi[i*s.of.levels+int(token)] = 1
	}
}

// pull stores the derivatives of the weighted sum of the inequalities at l.phi in s.slope.
func (s *search) pull() {
	clear(s.slope)
	s.loss.smooth.Pull(s.slope, s.loss.phi, s.loss.weight)
}

// lead replaces v by the nearest rows in which the tokens of s.best lead, and returns the
// divergence.
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

// project projects v, stores in x the sequence that it finds, and updates the multipliers lambda.
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

// exchange reduces the cost of s.best. It replaces a costly token by a cheaper one at the same
// site, while the tokens of at most two other sites change to compensate. Derivatives at the
// sequence predict which changes the constraint allows, and the judge makes the decision. When no
// such change is left, exchange tries to give sites of high cost their likeliest token back, even
// if this makes other sites more expensive. It continues from that sequence, and keeps the result
// if it is cheaper.
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

// kicks is the number of sites for which exchange tries to restore the likeliest token.
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

// kick gives a site its likeliest token back and then calls descend, first without changing that
// site. It returns false if the derivatives predict that the constraint does not allow this at a
// price of at most twice the saving.
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

// derive computes the change of each chosen inequality by each offer, from the derivatives at
// s.best. It also computes the slack of each chosen inequality.
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

// slopeRounding is the relative rounding error that is assumed for sums of a few float32
// numbers.
const slopeRounding = 1e-6

// list sorts the offers that could be part of an exchange by price. The price is the cost beyond
// that of the site's present token. Offers are included if their price is less than the largest
// possible saving of a site plus the given extra amount.
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

// allowed reports whether up to three offers together keep the chosen inequalities satisfied,
// to first order.
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

// trade looks for an exchange that saves something and that the judge accepts, and makes this
// exchange. One site takes a cheaper token. The function partners finds the changes at other sites
// that compensate for it.
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

// take makes the given offers the tokens of their sites if the judge accepts the result.
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

// second finds the cheapest offer to combine with a first offer, which saves the amount gives. If
// the first offer needs no partner, second returns none. If nothing saves more than the bound
// least, the result saved equals that bound.
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

// third finds the two cheapest offers to combine with a first offer, which saves the amount gives.
// If nothing saves more than the bound least, the result saved equals that bound.
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

// looksMost bounds the number of exchanges of three sites that are considered for the same
// first offer.
const looksMost = 1 << 16

// tradeLeast is the least saving, in nats, that is worth evaluating. It also prevents rounding
// errors from undoing exchanges forever.
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

// simplify changes tokens of s.best to cheaper ones, as long as the sequence stays within the
// tolerance and the language. It visits the costliest site first and tries its cheapest token
// first. Afterwards, no change of a single token to an offered one makes the sequence cheaper.
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

// run searches until the decoded sequence satisfies the constraint or the loops are used up. It
// returns the number of loops. The result is s.best.
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

// loopsPerStart is the number of outer loops after which a search restarts from x and the
// initial multipliers, with new noise. No search of TestGrid takes as many loops. A search that
// takes more oscillates between two constraints, because nothing reduces the multipliers.
const loopsPerStart = 50

// restart resets the logits to x, μ to its initial value and the raised amounts to zero.
func (s *search) restart() {
	copy(s.z, s.logx)
	clear(s.loss.raise)
	clear(s.loss.force)
	s.loss.mu = firstMu
}

// draw draws new noise.
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

// look evaluates the decoded sequence, unless it is the last sequence that was evaluated. It
// reports whether the sequence satisfies the constraint.
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

// decode stores in x the likeliest sequence under z, within the language if there is one.
func (s *search) decode(ctx context.Context, x []int32) error {
	if s.of.free {
		simd.ArgMax(x, s.z, s.of.levels) // the likeliest tokens, the first among equals
		return nil
	}
	_, err := s.of.within.MAP(ctx, x, s.z)
	return err
}

// raise tightens the inequalities that the relaxed draw satisfies and the decoded sequence
// violates, by the amount of the violation. It slowly relaxes the inequalities that the decoded
// sequence satisfies.
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

// repair looks for a feasible sequence by changing one token at a time. It starts from the decoded
// sequence, then from the likeliest one under x. If the flag again is set, it also starts from a
// few sequences drawn from x. It sets s.best to the sequence with the least violation, and reports
// whether that sequence is feasible.
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

// mend changes tokens of s.best one by one, each so that the violation decreases. It stops when
// there is no violation, or when no change of one token to one of the cheapest decreases it.
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
	repairEvery = 3 // number of outer loops between two repairs
	repairs     = 2 // maximum number of changes per site
	starts      = 6 // number of sequences from which a repair starts

	// scanMost bounds the number of entries of one-hot rows that a scan writes. scanStates
	// roughly bounds the number of sequences that the scans of a repair evaluate.
	scanMost   = 1 << 28
	scanStates = 1 << 16
)

// cheapestRise is the least price of a change, in nats. Changes that cost less are treated as
// costing this much.
const cheapestRise = 1e-3

// rank lists the changes of one token of s.best with the best ratio of loss in log-probability
// to decrease of the chosen inequalities, to first order.
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

// lower makes the first remedy that the language accepts and that decreases the violation. It
// reports whether there is such a remedy.
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

// scan evaluates all changes of one token of s.best to one of the cheapest, without regard to
// derivatives. It makes the change with the best ratio, which is the decrease of the violation
// divided by the loss in log-probability. It reports whether any change decreases the violation.
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

// slopes stores in s.slope the derivatives of the sum of the chosen inequalities that s.best
// violates. If the judge's inequalities differ from those of the constraint, slopes sums all chosen
// inequalities.
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
