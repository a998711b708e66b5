package scored

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Potential weights diffusion.Particles by a score s. Set ParticlesConfig.Potential to its method
// Log. The weight of a final state x is
//
//	G_0(x) = 1[s(x) ≤ 0]   if Temperature is 0,
//	G_0(x) = e^{−s(x)/T}   if Temperature is T > 0,
//
// where s(x) = max_j g_j(x) over the functions g_j of Score. Let p be the distribution without
// weights and P = E_p[G_0]. As the number of particles grows, their distribution tends to p·G_0/P.
// The particles estimate P without bias. For Temperature 0, [Exact] is an alternative.
type Potential struct {
	Score       constraint.Set
	Temperature float64 // temperature T ≥ 0, in units of the score

	// Value, if not nil, steers the particles. It stores in logG the log-weights log G_t(x_t) of
	// states x_t at times t > 0. The ideal G_t(x_t) is the mean of the final weight G_0 given
	// x_t. Without Value, states are weighted only at the end.
	Value func(logG []float64, x []int32, t []float64)
}

// Validate returns an error unless Score is a valid set that can judge sequences, and Temperature
// is finite and ≥ 0.
func (p Potential) Validate() error {
	if err := check.Given("scored: Potential", "Score", p.Score); err != nil {
		return err
	}
	if !(p.Temperature >= 0) || math.IsInf(p.Temperature, 1) {
		return fmt.Errorf("scored: Potential.Temperature = %v, want finite and ≥ 0", p.Temperature)
	}
	return checkSet("Potential.Score", p.Score)
}

// Log stores in logG the values log G_t(x_t). The argument x holds the states x_t, and t holds
// their times. If a violation is NaN, the value is NaN, and diffusion.Particles reports an error
// for that sample. Log panics if Validate returns an error. It is safe for concurrent use if Score
// and Value are.
func (p Potential) Log(logG []float64, x []int32, t []float64) {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	check.Len("scored", "logG", len(logG), len(t))
	sites, m := 0, p.Score.Len()
	if len(t) > 0 {
		sites = check.Rows("scored", "x", len(x), len(t))
	}
	if p.Value != nil {
		p.Value(logG, x, t)
	} else {
		clear(logG)
	}
	g := make([]float64, m)
	for k, at := range t {
		if at > 0 {
			continue
		}
		p.Score.Violation(g, x[k*sites:(k+1)*sites])
		switch s := slices.Max(g); {
		case p.Temperature > 0 || s != s:
			logG[k] = -s / p.Temperature
		case s > 0:
			logG[k] = math.Inf(-1)
		default:
			logG[k] = 0
		}
	}
}
