package diagnose

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// These errors state why a diagnostic has no value. Every error of a diagnostic such as [RHat], and
// of an [Estimate], wraps one of them or a [*NotFinite].
var (
	// ErrConstant means that all draws are equal, so that mixing cannot be judged. (The R package
	// posterior returns NA.)
	ErrConstant = errors.New("the series is constant")
	// ErrTooFew means that there are too few draws or chains.
	ErrTooFew = errors.New("too few draws")
	// ErrRange means that the draws differ, but their variance underflows to 0 or overflows in
	// float64. Rescale the observed function.
	ErrRange = errors.New("the variance is outside the range of float64")
)

// NotFinite is the error for draws that contain a NaN or an infinity. It names the first such draw.
type NotFinite struct {
	Chain, Draw int // position of the first draw that is not finite, in the order of chains
	Value       float64
}

// Error returns a message that names the chain, the index and the value of the draw.
func (e *NotFinite) Error() string {
	return fmt.Sprintf("chain %d, draw %d is %v", e.Chain, e.Draw, e.Value)
}

// RHat returns the rank-normalised split R-hat of draws[chain][draw]. Values above 1.01 mean that
// the chains have not mixed. For the draws x, R-hat is the larger of a bulk and a folded statistic,
//
//	max( R̂(z(split(x))), R̂(z(split(|x − median x|))) ).
//
// The function split cuts each chain in half; an odd length drops its middle draw. The function z
// replaces the draws by normal scores of their ranks; ties get their average rank. R̂ compares the
// variance between the halves with the variance within them. Source: Vehtari, Gelman, Simpson,
// Carpenter and Bürkner 2021 (Rank-normalization, folding, and localization: an improved R-hat for
// assessing convergence of MCMC, Bayesian Analysis 16, 667–718).
//
// R̂ is +Inf if every half is constant and the halves differ. If folding makes all draws equal,
// RHat returns the bulk statistic.
//
// All chains must have the same length, at least 4 draws ([ErrTooFew]). Constant draws give
// [ErrConstant]. NaN and infinite draws give a [*NotFinite]. RHat takes O(S log S) time and O(S)
// memory for S draws.
func RHat(draws [][]float64) (float64, error) {
	r, err := 0.0, checkDraws(draws, minRHat)
	if err == nil {
		r, err = rhat(draws, rankNormalize(splitChains(draws)), quantile(sorted(draws), 0.5))
	}
	if err != nil {
		return 0, fmt.Errorf("diagnose: RHat: %w", err)
	}
	return r, nil
}

// rHatBasic returns the split R-hat of draws[chain][draw] without ranks,
//
//	R̂ = √( (B/W + n − 1)/n ),
//
// with n the length of half a chain, W the mean of the variances of the halves and B/n the variance
// of their means (Gelman et al. 2013, Bayesian Data Analysis, section 11.4; Vehtari et al. 2021).
// It needs finite means and variances and misses chains that differ only in spread. It exists for
// comparison with the streaming mode of [Trace]; prefer [RHat], which has the same errors.
func rHatBasic(draws [][]float64) (float64, error) {
	r, err := 0.0, checkDraws(draws, minRHat)
	if err == nil {
		r, err = potentialScale(splitChains(draws))
	}
	if err != nil {
		return 0, fmt.Errorf("diagnose: rHatBasic: %w", err)
	}
	return r, nil
}

// minRHat is the minimum number of draws per chain for [RHat]. With fewer, the halves of a chain
// have no variance.
const minRHat = 4

// rhat computes [RHat] of checked draws; z holds the normal scores of their halves, and median is
// the median of all draws.
func rhat(draws, z [][]float64, median float64) (float64, error) {
	bulk, err := potentialScale(z)
	if err != nil {
		return 0, err
	}
	folded, err := potentialScale(rankNormalize(splitChains(fold(draws, median))))
	if errors.Is(err, ErrConstant) {
		return bulk, nil
	}
	return max(bulk, folded), err
}

// checkDraws returns an error unless draws holds at least one chain and all chains have the same
// length, which must be at least least. It also returns an error if a draw is not finite or all
// draws are equal.
func checkDraws(draws [][]float64, least int) error {
	if len(draws) == 0 {
		return fmt.Errorf("0 chains, want ≥ 1: %w", ErrTooFew)
	}
	n := len(draws[0])
	for c, x := range draws {
		if len(x) != n {
			return fmt.Errorf("len(draws[%d]) = %d, want %d as in draws[0]", c, len(x), n)
		}
	}
	if err := finite(draws); err != nil {
		return err
	}
	if n < least {
		return tooFew(n, least)
	}
	if isConstant(draws) {
		return ErrConstant
	}
	return nil
}

// finite returns a *NotFinite unless all draws are finite.
func finite(draws [][]float64) error {
	for c, x := range draws {
		for i, v := range x {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return &NotFinite{Chain: c, Draw: i, Value: v}
			}
		}
	}
	return nil
}

func tooFew(n, least int) error {
	return fmt.Errorf("%d draws per chain, want ≥ %d: %w", n, least, ErrTooFew)
}

func isConstant(draws [][]float64) bool {
	for _, x := range draws {
		for _, v := range x {
			if v != draws[0][0] {
				return false
			}
		}
	}
	return true
}

// splitChains returns the first halves of all chains, then the second halves. The halves share the
// memory of draws. An odd length drops the middle draw.
func splitChains(draws [][]float64) [][]float64 {
	halves := make([][]float64, 0, 2*len(draws))
	for _, x := range draws {
		halves = append(halves, x[:len(x)/2])
	}
	for _, x := range draws {
		halves = append(halves, x[(len(x)+1)/2:])
	}
	return halves
}

// rankNormalize replaces every draw by Φ⁻¹((r − 3/8)/(S + 1/4)), where r is its rank among all S
// draws and ties get their average rank (Vehtari et al. 2021; the offset 3/8 is from Blom 1958).
func rankNormalize(draws [][]float64) [][]float64 {
	const blom = 3. / 8
	type entry struct {
		value       float64
		chain, draw int32
	}
	size := len(draws) * len(draws[0])
	order := make([]entry, 0, size)
	for c, x := range draws {
		for i, v := range x {
			order = append(order, entry{v, int32(c), int32(i)})
		}
	}
	slices.SortFunc(order, func(a, b entry) int {
		switch { // without NaN, this is faster than cmp.Compare
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})

	z := newDraws(len(draws), len(draws[0]))
	for i := 0; i < size; {
		j := i + 1
		for j < size && order[j].value == order[i].value {
			j++
		}
		rank := float64(i+j+1) / 2 // average of the ranks i+1 … j
		score := mathext.NormalQuantile((rank - blom) / (float64(size) + 1 - 2*blom))
		for ; i < j; i++ {
			z[order[i].chain][order[i].draw] = score
		}
	}
	return z
}

// fold returns |x − median|, which turns differences in spread into
// differences in location.
func fold(draws [][]float64, median float64) [][]float64 {
	folded := newDraws(len(draws), len(draws[0]))
	for c, x := range draws {
		for i, v := range x {
			folded[c][i] = math.Abs(v - median)
		}
	}
	return folded
}

// potentialScale returns R̂ of chains of equal length n ≥ 2, without splitting or ranks.
func potentialScale(chains [][]float64) (float64, error) {
	if isConstant(chains) {
		return 0, ErrConstant
	}
	means := make([]float64, len(chains))
	var within float64
	for c, x := range chains {
		m, v := meanVariance(x)
		means[c] = m
		within += v / float64(len(chains))
	}
	_, between := meanVariance(means) // B/n
	return scaleReduction(within, between, float64(len(chains[0])))
}

// scaleReduction returns R̂ = √((n−1)/n + (B/n)/W) for chains of n draws, where within is W and
// between is B/n.
func scaleReduction(within, between, n float64) (float64, error) {
	if within == 0 && between == 0 || !(within <= math.MaxFloat64) || !(between <= math.MaxFloat64) {
		return 0, ErrRange
	}
	return math.Sqrt((n-1)/n + between/within), nil
}

// nestedScale returns nested R̂, √(1 + B/W) (Margossian, Hoffman, Sountsov, Riou-Durand, Vehtari
// and Gelman 2024, Nested R̂, Bayesian Analysis, section 3). A group is a set of chains that began
// in the same state. B is the variance of the means of the groups. W is the mean over the groups of
// the variance of the means of their chains, plus the mean of the variances of the chains.
// Variances have the divisor n − 1 and are 0 for n = 1.
func nestedScale(between, within float64) (float64, error) {
	if within == 0 && between == 0 || !(within <= math.MaxFloat64) || !(between <= math.MaxFloat64) {
		return 0, ErrRange
	}
	return math.Sqrt(1 + between/within), nil
}

// newDraws returns zeroed draws[chain][draw] for chains of n draws, in one allocation.
func newDraws(chains, n int) [][]float64 {
	flat := make([]float64, chains*n)
	draws := make([][]float64, chains)
	for c := range draws {
		draws[c] = flat[c*n : (c+1)*n : (c+1)*n]
	}
	return draws
}
