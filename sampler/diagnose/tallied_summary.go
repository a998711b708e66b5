package diagnose

import (
	"fmt"
	"math"
)

// summarize fills in the figures of a function over chains of so many draws, in
// groups of nested that began in the same state.
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
	case t.low == t.high: // free of rounding errors
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

// effective returns what [ESSMean] does for chains with halves of n draws, and
// whether Geyer's sequence ended within the lags that are kept.
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
