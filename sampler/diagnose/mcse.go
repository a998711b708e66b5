package diagnose

import (
	"fmt"
	"math"
)

// MCSEMean returns the Monte Carlo standard error of the mean of
// draws[chain][draw], sd(x)/√ESS with the standard deviation of all draws
// together and [ESSMean]'s effective sample size (Vehtari et al. 2021,
// section 3.2). Errors are those of ESSMean.
func MCSEMean(draws [][]float64) (float64, error) {
	ess, err := essMean(draws)
	if err != nil {
		return 0, fmt.Errorf("diagnose: MCSEMean: %w", err)
	}
	_, sd := meanSD(draws)
	return sd / math.Sqrt(ess), nil
}

// AutocorrelationTime returns the integrated autocorrelation time of
// draws[chain][draw] in draws, the number of draws over [ESSMean]: the variance
// of the mean is τ times that of as many independent draws,
//
//	τ = 1 + 2 Σ_{t≥1} ρ_t
//
// for one chain in equilibrium; chains that disagree make it larger, and
// anticorrelated draws have τ < 1. Errors are those of ESSMean.
func AutocorrelationTime(draws [][]float64) (float64, error) {
	ess, err := essMean(draws)
	if err != nil {
		return 0, fmt.Errorf("diagnose: AutocorrelationTime: %w", err)
	}
	return float64(len(draws)*len(draws[0])) / ess, nil
}
