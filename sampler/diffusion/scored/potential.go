package scored

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Potential makes a score what diffusion.Particles are weighed by: their
// ParticlesConfig.Potential is its Log.
//
//	G_0(x) = 1[s(x) ≤ 0]      with Temperature 0,
//	G_0(x) = e^{−s(x)/T}      with Temperature T,
//
// s(x) = max_j g_j(x). Particles then estimate P = E_p[G_0] without bias and tend to
// p·G_0/P, whatever the steps. Their number is what makes that good: [Exact] needs
// none for the first form.
type Potential struct {
	Score       constraint.Set
	Temperature float64 // in units of the score, ≥ 0

	// Value, if not nil, steers: it stores log G_t of states that are not clean
	// yet, ideally the log mean of G_0 given x_t, learned or computed. Without
	// it nothing is weighed before the end.
	Value func(logG []float64, x []int32, t []float64)
}

// Validate returns an error unless Score judges sequences and Temperature is finite
// and ≥ 0.
func (p Potential) Validate() error {
	if err := check.Given("scored: Potential", "Score", p.Score); err != nil {
		return err
	}
	if !(p.Temperature >= 0) || math.IsInf(p.Temperature, 1) {
		return fmt.Errorf("scored: Potential.Temperature = %v, want finite and ≥ 0", p.Temperature)
	}
	return checkSet("Potential.Score", p.Score)
}

// Log stores log G_t(x_t) for states at their times. A violation that is NaN stays
// one, which is an error of the particles; a potential that Validate refuses
// panics with that error. It is safe for concurrent use if Score and Value are.
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
