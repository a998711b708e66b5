package diagnose

import (
	"math"
)

// summarizeBatches fills in what batches can tell about one series per chain.
func summarizeBatches(row *Row, chains []*series) {
	err := checkSeries(chains)
	row.undefine(err, row.all()...)
	row.undefine(ErrStreaming, &row.Q5, &row.Q50, &row.Q95, &row.ESSBulk, &row.ESSTail)
	if err != nil {
		return
	}
	var all, means moments
	var spread, weight float64 // Σ n σ² and Σ n² over the chains
	constant := true
	for _, s := range chains {
		m := s.total()
		all.merge(m)
		spread += m.n * s.longRun()
		means.add(m.mean)
		weight += m.n * m.n
		constant = constant && s.low == s.high && s.low == chains[0].low
	}
	if constant { // free of rounding errors
		row.Mean.set(chains[0].low, nil)
		row.SD.set(0, nil)
		row.undefine(ErrConstant, &row.MCSE, &row.ESSMean, &row.RHat, &row.Time)
		return
	}
	sd := math.Sqrt(all.variance())
	row.Mean.set(all.mean, nil)
	row.SD.set(sd, nil)
	if !(sd > 0 && sd <= math.MaxFloat64) || !(spread <= math.MaxFloat64) {
		row.undefine(ErrRange, &row.SD, &row.MCSE, &row.ESSMean, &row.RHat, &row.Time)
		return
	}
	// Chains that do not mix look fine from within, but their means differ: the
	// variance of the mean of all draws is Σ (n_c/n)² Var(mean of chain c), by
	// the batches of each chain or by the means as they are, whichever is more.
	if means.n > 1 {
		spread = max(spread, weight*means.variance())
	}
	// n·Var(mean) over n draws of all chains together is spread/n.
	tau := spread / all.n / all.variance()
	ess := capESS(all.n/tau, int(all.n), tau > 0)
	row.ESSMean.set(ess, nil)
	row.Time.set(all.n/ess, nil)
	row.MCSE.set(sd/math.Sqrt(ess), nil)
	row.RHat.Value, row.RHat.Err = splitScale(chains)
}

// checkSeries returns an error unless all chains have 4 finite draws or more.
func checkSeries(chains []*series) error {
	if len(chains) == 0 {
		return tooFew(0, minRHat)
	}
	for c, s := range chains {
		if s.bad > 0 {
			return &NotFinite{Chain: c, Draw: s.bad - 1, Value: s.value}
		}
	}
	for _, s := range chains {
		if n := s.draws(); n < minRHat {
			return tooFew(n, minRHat)
		}
	}
	return nil
}

// splitScale returns the split R̂, without ranks, of the first and the last
// ⌊k/2⌋ of the k full batches of each chain. It equals [RHatBasic] up to 63
// draws and whenever the draws fill an even number of batches. Otherwise the
// middle batch or the unfinished last one is left out, at worst both: 2 in 34.
// Chains whose lengths differ, as after a cancelled run, count with the length
// of the shortest half.
func splitScale(chains []*series) (float64, error) {
	shortest := math.Inf(1)
	var within, means moments
	for _, s := range chains {
		half := s.full / 2
		for _, m := range []moments{s.span(0, half), s.span(s.full-half, s.full)} {
			shortest = min(shortest, m.n)
			within.add(m.variance())
			means.add(m.mean)
		}
	}
	return scaleReduction(within.mean, means.variance(), shortest)
}
