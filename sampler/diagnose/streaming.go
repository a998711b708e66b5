package diagnose

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// summarizeBatches fills in the row of a function in streaming mode; chains holds one series of
// batches per chain.
func summarizeBatches(row *Row, chains []*series) {
	err := checkSeries(chains)
	row.undefine(err, row.all()...)
	row.undefine(ErrStreaming, &row.Q5, &row.Q50, &row.Q95, &row.ESSBulk, &row.ESSTail)
	if err != nil {
		return
	}
	var all, means, within moments
	var spread, weight, freedom float64 // Σ n σ² and Σ n² over the chains, and that of the former
	constant := true
	for _, s := range chains {
		m := s.total()
		all.merge(m)
		variance, f := s.longRun()
		spread += m.n * variance
		freedom += f
		means.add(m.mean)
		within.add(m.variance())
		weight += m.n * m.n
		constant = constant && s.low == s.high && s.low == chains[0].low
	}
	if constant { // a constant is detected without rounding errors
		row.Mean.set(chains[0].low, nil)
		row.SD.set(0, nil)
		row.undefine(ErrConstant, &row.MCSE, &row.MCSEChains, &row.ESSMean, &row.RHat, &row.RHatNested, &row.Time)
		return
	}
	sd := math.Sqrt(all.variance())
	row.Mean.set(all.mean, nil)
	row.SD.set(sd, nil)
	if !(sd > 0 && sd <= math.MaxFloat64) || !(spread <= math.MaxFloat64) {
		row.undefine(ErrRange, &row.SD, &row.MCSE, &row.MCSEChains, &row.ESSMean, &row.RHat, &row.RHatNested, &row.Time)
		return
	}
	row.across(len(chains), int(chains[0].draws()), means.variance(), within.mean)
	// The variance of the mean of all draws is Σ (n_c/n)² Var(mean of chain c). It is estimated
	// from the batches of each chain or from the chain means alone.
	if means.n > 1 {
		spread = pooled(spread, freedom, weight*means.variance(), means.n-1)
	}
	correlated, err := correlation(chains)
	spread = max(spread, float64(all.n*all.n)*correlated)
	// n·Var(mean) over n draws of all chains together is spread/n.
	tau := spread / all.n / all.variance()
	ess := capESS(all.n/tau, all.n, tau > 0)
	row.ESSMean.set(ess, nil)
	row.Time.set(all.n/ess, nil)
	row.MCSE.set(sd/math.Sqrt(ess), nil)
	if err != nil {
		row.undefine(err, &row.MCSE)
	}
	row.RHat.Value, row.RHat.Err = splitScale(chains)
}

// Batch means estimate the error of the mean of all draws if the batches are nearly independent, or
// if there are enough of them to estimate their own correlation. The minimum is enoughBatches
// effective batches, or enoughShort if there are at least enoughChains chains. With fewer, 95 %
// intervals cover less than 92 % on first-order autoregressions, so the error is undefined.
const (
	enoughBatches = 20
	enoughShort   = 12
	enoughChains  = 4
)

// correlation returns the variance of the mean of all draws, estimated from the means of the
// batches of all chains and their autocorrelations, as in [ESSMean]. It returns 0 if neighbouring
// batches are not correlated more than by chance (2σ). It returns an error if the batches are
// correlated and too few.
func correlation(chains []*series) (variance float64, err error) {
	size := 0
	for _, s := range chains {
		size = max(size, s.size)
	}
	count := math.MaxInt
	for _, s := range chains {
		count = min(count, s.full*s.size/size)
	}
	if count < MinDraws {
		return 0, nil
	}
	means := newDraws(len(chains), count)
	products, squares := 0.0, 0.0
	for c, s := range chains {
		join := size / s.size
		for k := range count {
			means[c][k] = s.span(k*join, (k+1)*join).mean
		}
		mean, _ := meanVariance(means[c])
		for k, v := range means[c] {
			squares += (v - mean) * (v - mean)
			if k > 0 {
				products += (v - mean) * (means[c][k-1] - mean)
			}
		}
	}
	n := float64(len(chains)) * float64(count)
	r := products / squares
	r += (1 + 3*r) / float64(count) // corrects the bias (Kendall 1954)
	if !(r*math.Sqrt(n) > 2) {
		return 0, nil
	}
	ess, err := effective(splitChains(means))
	if err != nil {
		return 0, nil // an overflow, which has already been reported
	}
	var all moments
	for _, x := range means {
		for _, v := range x {
			all.add(v)
		}
	}
	need := float64(enoughBatches)
	if len(chains) >= enoughChains {
		need = enoughShort
	}
	if most := r + 2*math.Sqrt(max(0, 1-r*r)/n); n*(1-most) < need*(1+most) {
		err = fmt.Errorf("%d batches of %d draws with an autocorrelation of %.2f: %w", int(n), size, r, ErrTooFew)
	}
	return all.variance() / ess, err
}

// pooled returns the mean of two estimates of a variance, weighted by their degrees of freedom f
// and g. It returns between alone if between is larger than chance allows: chains that do not mix
// look fine individually, but their means differ.
func pooled(within, f float64, between, g float64) float64 {
	if between > 0 && exceeds(between/within, g, f) < chance {
		return between
	}
	return (within*f + between*g) / (f + g)
}

const chance = 0.01

// exceeds returns the probability that the ratio of two independent estimates of the same variance,
// with g and f degrees of freedom, exceeds ratio. This is the upper tail of Fisher's F
// distribution.
func exceeds(ratio, g, f float64) float64 {
	return mathext.RegIncBeta(f/2, g/2, f/(f+float64(g*ratio)))
}

// checkSeries returns an error unless all chains have at least 4 draws and all draws are finite.
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

// splitScale returns the split R̂, without ranks, of the first and the last ⌊k/2⌋ of the k full
// batches of each chain. It equals [rHatBasic] for up to 63 draws and whenever the draws fill an
// even number of batches. Otherwise it omits the middle batch, the unfinished last batch or both,
// at worst 2 batches in 34. If the lengths of chains differ, as after a cancelled run, the length
// of the shortest half is used for all.
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
