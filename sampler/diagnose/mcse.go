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
