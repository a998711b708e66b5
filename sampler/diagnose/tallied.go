package diagnose

import (
	"fmt"
	"math"
)

// tallied holds the statistics of one function over finished chains. Every chain adds terms that
// depend only on its own draws, and every group of chains adds terms that depend only on the chains
// of the group. As the sums are exact, the order of addition does not matter.
type tallied struct {
	// Sums over the halves of all chains: of their means and of the squared means.
	half, halfSquares   exactSum
	whole, wholeSquares exactSum // sums over the chains: of their means and of the squared means
	within              exactSum // sum of the variances of the chains
	autocov             [lagLimit]exactSum

	// Groups are used only if more than one chain begins in the same state.
	group, groupSquares exactSum // sums over the groups: of their means and of the squared means
	between             exactSum // sum over the groups of the variance of the means of their chains
	groups              int

	low, high float64 // smallest and largest of all draws
	bad       badDraw // first draw that is not finite
	overflow  bool    // true if some number to be added was outside the range of float64

	weights *weights // sums of weights if the values of the function are log-weights; otherwise nil
}

func newTallied() tallied { return tallied{low: math.Inf(1), high: math.Inf(-1)} }

// sums returns pointers to all exact sums, in the order of the file format.
func (t *tallied) sums() (s [8 + lagLimit]*exactSum) {
	s = [8 + lagLimit]*exactSum{&t.half, &t.halfSquares, &t.whole, &t.wholeSquares, &t.within, &t.group, &t.groupSquares, &t.between}
	for i := range t.autocov {
		s[8+i] = &t.autocov[i]
	}
	return s
}

// add adds the statistics c of a finished chain.
func (t *tallied) add(c *condensed) {
	if c.bad.some {
		if c.bad.before(t.bad) {
			t.bad = c.bad
		}
		return
	}
	t.low, t.high = min(t.low, c.low), max(t.high, c.high)
	t.sum(&t.whole, c.mean)
	t.square(&t.wholeSquares, c.mean)
	t.sum(&t.within, c.variance)
	if c.lags == 0 {
		return
	}
	for h := range c.halves {
		t.sum(&t.half, c.halves[h].mean)
		t.square(&t.halfSquares, c.halves[h].mean)
		for lag, v := range c.halves[h].autocov[:c.lags] {
			t.sum(&t.autocov[lag], v)
		}
	}
}

// addGroup adds a group of chains that began in the same state; means holds the mean of each chain.
func (t *tallied) addGroup(means []float64) {
	mean, variance := meanVariance(means)
	t.sum(&t.group, mean)
	t.square(&t.groupSquares, mean)
	t.sum(&t.between, variance)
	t.groups++
}

func (t *tallied) sum(s *exactSum, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		t.overflow = true
		return
	}
	s.add(v)
}

func (t *tallied) square(s *exactSum, v float64) {
	if !(math.Abs(v) < maxSquare) {
		t.overflow = true
		return
	}
	s.addSquare(v)
}

// maxSquare is the bound 2⁵¹¹ below which the square of a number is a finite float64.
const maxSquare = 0x1p511

// merge adds the statistics o of other chains.
func (t *tallied) merge(o *tallied) {
	to, from := t.sums(), o.sums()
	for i := range to {
		if from[i].terms > 0 {
			to[i].merge(from[i])
		}
	}
	t.groups += o.groups
	t.low, t.high = min(t.low, o.low), max(t.high, o.high)
	if o.bad.before(t.bad) {
		t.bad = o.bad
	}
	t.overflow = t.overflow || o.overflow
	if t.weights != nil {
		t.weights.merge(o.weights)
	}
}

// summarize fills in the row of a function from chains with the given number of draws each. nested
// is the number of chains in each group that began in the same state.
func (t *tallied) summarize(row *Row, chains, draws, nested int) {
	fail := func(err error) { row.undefine(err, row.all()...) }
	switch {
	case t.bad.some:
		fail(&NotFinite{Chain: t.bad.chain, Draw: t.bad.draw, Value: t.bad.value})
		return
	case chains == 0:
		fail(fmt.Errorf("0 chains, want ≥ 1: %w", ErrTooFew))
		return
	case t.overflow:
		fail(ErrRange)
		return
	case t.low == t.high: // a constant is detected without rounding errors
		fail(ErrConstant)
		row.Mean.set(t.low, nil)
		row.SD.set(0, nil)
		return
	}
	total := float64(float64(chains) * float64(draws))
	row.Mean.set(t.whole.over(chains), nil)
	within := t.within.over(chains)
	between := 0.0
	if chains > 1 {
		between = variance(&t.whole, &t.wholeSquares, chains)
	}
	sd := math.Sqrt((float64(within*float64(chains)*float64(draws-1)) + float64(between*float64(draws)*float64(chains-1))) / (total - 1))
	row.SD.set(sd, nil)
	row.across(chains, draws, between, within)
	switch {
	case nested > 1 && t.groups < 2:
		row.undefine(fmt.Errorf("%d groups of chains, want ≥ 2: %w", t.groups, ErrTooFew), &row.RHatNested)
	case nested > 1:
		row.RHatNested.Value, row.RHatNested.Err = nestedScale(variance(&t.group, &t.groupSquares, t.groups), within+t.between.over(t.groups))
	}
	row.undefine(tooFew(draws, minRHat), &row.RHat)
	row.undefine(tooFew(draws, MinDraws), &row.ESSMean, &row.MCSE, &row.Time)
	n := draws / 2
	if draws >= minRHat {
		w := t.autocov[0].over(2*chains) * float64(n) / float64(n-1)
		row.RHat.Value, row.RHat.Err = scaleReduction(w, variance(&t.half, &t.halfSquares, 2*chains), float64(n))
	}
	if draws < MinDraws {
		return
	}
	ess, enough, err := t.effective(chains, n)
	if err == nil && !enough {
		if err = row.MCSEChains.Err; err == nil {
			ess = capESS(float64(chains)*sd*sd/between, total, between > 0)
		}
	}
	row.ESSMean.set(ess, err)
	row.Time.set(total/ess, err)
	row.MCSE.set(sd/math.Sqrt(ess), err)
}

// effective returns the effective sample size of [ESSMean] for chains with halves of n draws.
// enough reports whether Geyer's sequence ended within the lags that are kept.
func (t *tallied) effective(chains, n int) (ess float64, enough bool, err error) {
	acov := make([]float64, min(lagLimit, n))
	for lag := range acov {
		acov[lag] = t.autocov[lag].over(2 * chains)
	}
	within := acov[0] * float64(n) / float64(n-1)
	plus := acov[0] + variance(&t.half, &t.halfSquares, 2*chains)
	if !(plus > 0 && plus <= math.MaxFloat64) {
		return 0, false, ErrRange
	}
	enough = true
	tau := geyer(n, func(lag int) float64 {
		if lag >= len(acov) {
			enough = false
			return math.Inf(-1) // ends the sequence
		}
		return 1 - (within-acov[lag])/plus
	})
	total := 2 * float64(chains) * float64(n)
	return capESS(total/tau, total, tau > 0), enough, nil
}
