package diagnose

import (
	"fmt"
	"math"
)

// tail is the probability beyond each of the two quantiles whose effective
// sample size is the tail ESS (Vehtari et al. 2021, section 4.3).
const tail = 0.05

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
