package diagnose

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// MinDraws is the minimum number of draws per chain for an effective sample size. The estimator
// needs at least two autocovariances of each half of a chain (the first pair of Geyer's sequence).
const MinDraws = 6

// ESSBulk returns the bulk effective sample size of draws[chain][draw] (Vehtari et al. 2021). It
// measures how well the chains explored the centre of the distribution. Each chain is split in
// half, and the draws are replaced by normal scores of their ranks. For m half-chains of n scores
// each, the result is mn/τ̂ with
//
//	τ̂ = −1 + 2 Σ_{t<T} ρ̂_t + ρ̂_T,   ρ̂_t = 1 − (W − γ̂_t)/(B/n + W(n−1)/n).
//
// Here γ̂_t is the mean autocovariance of the scores at lag t. W is the mean variance of the
// half-chains, and B/n is the variance of their means. The ρ̂_t are truncated at a lag T and made
// monotone by pairs (Vehtari et al. 2021, section 3.2, after Geyer 1992). With S = mn, the result
// is at most S·log₁₀ S, as in Stan. It exceeds S if draws are anticorrelated.
//
// All chains must have the same length, at least 6 draws ([ErrTooFew]). Constant draws give
// [ErrConstant]. NaN and infinite draws give a [*NotFinite]. ESSBulk takes O(S log S) time and O(S)
// memory.
func ESSBulk(draws [][]float64) (float64, error) {
	ess, err := 0.0, checkDraws(draws, MinDraws)
	if err == nil {
		ess, err = effective(rankNormalize(splitChains(draws)))
	}
	if err != nil {
		return 0, fmt.Errorf("diagnose: ESSBulk: %w", err)
	}
	return ess, nil
}

// ESSTail returns the tail effective sample size of draws[chain][draw] (Vehtari et al. 2021). It
// measures how well the chains explored both tails. Let q be the 5 % or the 95 % quantile of all
// draws. For each q, the indicator x ≤ q has an effective sample size. The result is the smaller of
// the two. The errors are the same as for [ESSBulk].
//
// ESSTail skips an indicator that is constant, for instance if many draws have the largest value.
func ESSTail(draws [][]float64) (float64, error) {
	ess, err := 0.0, checkDraws(draws, MinDraws)
	if err == nil {
		ess, err = essTail(draws, sorted(draws))
	}
	if err != nil {
		return 0, fmt.Errorf("diagnose: ESSTail: %w", err)
	}
	return ess, nil
}

// ESSMean returns the effective sample size of draws[chain][draw] for estimating their mean. It is
// computed as in [ESSBulk], but from the draws themselves instead of their ranks (Vehtari et al.
// 2021, section 3.2). The errors are the same as for ESSBulk. In addition, the error is [ErrRange]
// if the variance is not a positive finite float64.
func ESSMean(draws [][]float64) (float64, error) {
	ess, err := essMean(draws)
	if err != nil {
		return 0, fmt.Errorf("diagnose: ESSMean: %w", err)
	}
	return ess, nil
}

// essCap returns the cap of the effective sample size for the given number of draws.
func essCap(draws float64) float64 { return draws * math.Log10(draws) }

// Autocorrelation returns the autocorrelations of the series x of n draws at the lags t = 0 … n−1,
//
//	ρ_t = Σ_{i<n−t} (x_i − x̄)(x_{i+t} − x̄) / Σ_i (x_i − x̄)²,
//
// where x̄ is the mean. This is the biased estimate, computed by fast Fourier transform. The series
// must hold at least two draws ([ErrTooFew]). A constant series gives [ErrConstant]. A NaN or an
// infinity gives a [*NotFinite].
func Autocorrelation(x []float64) ([]float64, error) {
	if err := checkDraws([][]float64{x}, 2); err != nil {
		return nil, fmt.Errorf("diagnose: Autocorrelation: %w", err)
	}
	rho := autocovariance([][]float64{x})
	zero := rho[0]
	if !(zero > 0) || math.IsInf(zero, 0) {
		return nil, fmt.Errorf("diagnose: Autocorrelation: %w", ErrRange)
	}
	for t := range rho {
		rho[t] /= zero
	}
	return rho, nil
}

func essMean(draws [][]float64) (float64, error) {
	if err := checkDraws(draws, MinDraws); err != nil {
		return 0, err
	}
	return effective(splitChains(draws))
}

// essTail computes [ESSTail] of checked draws; ascending holds all of them in ascending order.
func essTail(draws [][]float64, ascending []float64) (float64, error) {
	ess, err := math.Inf(1), ErrConstant
	for _, p := range []float64{tail, 1 - tail} {
		e, failed := essQuantile(draws, quantile(ascending, p))
		if errors.Is(failed, ErrConstant) {
			continue
		}
		if failed != nil {
			return 0, failed
		}
		ess, err = min(ess, e), nil
	}
	if err != nil {
		return 0, fmt.Errorf("both tails: %w", err)
	}
	return ess, nil
}

// essQuantile returns the effective sample size of the indicator x ≤ q over the draws x.
func essQuantile(draws [][]float64, q float64) (float64, error) {
	below := newDraws(len(draws), len(draws[0]))
	for c, x := range draws {
		for i, v := range x {
			if v <= q {
				below[c][i] = 1
			}
		}
	}
	return effective(splitChains(below))
}

// effective returns the effective sample size of chains of equal length n ≥ 3.
func effective(chains [][]float64) (float64, error) {
	if isConstant(chains) {
		return 0, ErrConstant
	}
	n := len(chains[0])
	acov := autocovariance(chains)
	within := acov[0] * float64(n) / float64(n-1) // W = acov[0]·n/(n−1)
	varPlus := acov[0]
	if len(chains) > 1 {
		means := make([]float64, len(chains))
		for c, x := range chains {
			means[c], _ = meanVariance(x)
		}
		_, between := meanVariance(means)
		varPlus += between
	}
	if !(varPlus > 0 && varPlus <= math.MaxFloat64) {
		return 0, ErrRange
	}
	tau := geyer(n, func(t int) float64 { return 1 - (within-acov[t])/varPlus })
	total := float64(len(chains)) * float64(n)
	return capESS(total/tau, total, tau > 0), nil
}

// geyer returns τ̂, the integrated autocorrelation time, from the autocorrelations rho at lags
// below n ≥ 3. Where the papers leave a choice, geyer follows the R package posterior: the sum
// stops before the last five lags and always includes ρ̂_0.
func geyer(n int, rho func(t int) float64) float64 {
	kept := make([]float64, n+1)
	even, odd := 1.0, rho(1)
	kept[0], kept[1] = even, odd
	t := 0
	for t < n-5 && even+odd > 0 { // initial positive sequence
		t += 2
		even, odd = rho(t), rho(t+1)
		if even+odd >= 0 {
			kept[t], kept[t+1] = even, odd
		}
	}
	last := t
	if even > 0 { // improves the estimate for antithetic chains
		kept[last] = even
	}
	for t := 2; t <= last-2; t += 2 { // initial monotone sequence
		if before := kept[t-2] + kept[t-1]; kept[t]+kept[t+1] > before {
			kept[t], kept[t+1] = before/2, before/2
		}
	}
	tau := -1 + kept[last]
	for _, r := range kept[:max(last, 1)] {
		tau += 2 * r
	}
	return tau
}

// capESS returns ess, but at most total·log₁₀(total) for the given total number of draws. It
// returns that bound if ess is not valid, which means that τ̂ was not positive.
func capESS(ess, total float64, valid bool) float64 {
	bound := essCap(total)
	if !valid {
		return bound
	}
	return min(ess, bound)
}

// autocovariance returns the mean over the chains of (1/n) Σ_{i<n−t} (x_i − x̄)(x_{i+t} − x̄), t =
// 0…n−1. One inverse Fourier transform serves all chains, because the transform is linear.
func autocovariance(chains [][]float64) []float64 {
	n := len(chains[0])
	size := 1
	for size < 2*n { // padding with zeros makes the circular correlation linear
		size *= 2
	}
	fft := fourier.NewFFT(size)
	padded := make([]float64, size)
	coeff := make([]complex128, size/2+1)
	power := make([]complex128, size/2+1)
	for _, x := range chains {
		mean, variance := meanVariance(x)
		if variance == 0 {
			continue
		}
		for i, v := range x {
			padded[i] = v - mean
		}
		fft.Coefficients(coeff, padded)
		for k, c := range coeff {
			power[k] += complex(real(c)*real(c)+imag(c)*imag(c), 0)
		}
	}
	fft.Sequence(padded, power)
	acov := padded[:n]
	scale := float64(size) * float64(n) * float64(len(chains))
	for t := range acov {
		acov[t] /= scale
	}
	return acov
}

// tail is the probability in each tail of the tail ESS, whose quantiles are tail and 1 − tail
// (Vehtari et al. 2021, section 4.3).
const tail = 0.05

// MCSEMean returns the Monte Carlo standard error of the mean of draws[chain][draw] (Vehtari et al.
// 2021, section 3.2). It is sd(x)/√ESS, where sd is the standard deviation of all draws together
// and ESS is [ESSMean]. The errors are the same as for ESSMean.
func MCSEMean(draws [][]float64) (float64, error) {
	ess, err := essMean(draws)
	if err != nil {
		return 0, fmt.Errorf("diagnose: MCSEMean: %w", err)
	}
	_, sd := meanSD(draws)
	return sd / math.Sqrt(ess), nil
}

// AutocorrelationTime returns the integrated autocorrelation time τ of draws[chain][draw], measured
// in draws. It is the number of draws divided by [ESSMean]: τ draws are worth one independent draw.
// For one chain in equilibrium with autocorrelations ρ_t,
//
//	τ = 1 + 2 Σ_{t≥1} ρ_t.
//
// Chains that disagree make τ larger, and anticorrelated draws have τ < 1. The errors are the same
// as for ESSMean.
func AutocorrelationTime(draws [][]float64) (float64, error) {
	ess, err := essMean(draws)
	if err != nil {
		return 0, fmt.Errorf("diagnose: AutocorrelationTime: %w", err)
	}
	return float64(len(draws)*len(draws[0])) / ess, nil
}
