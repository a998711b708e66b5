package dual

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// Tabulate returns the probabilities of all states of a small model, site 0 being the
// fastest digit, and log Z, for instance for exact unlearning. It returns an error for
// more than 2²² states, an energy that is NaN or −Inf, or a model without support.
func Tabulate(ctx context.Context, m energy.Model) (p []float64, logZ float64, err error) {
	if _, _, err := check.Model("dual", "Tabulate", "m", m); err != nil {
		return nil, 0, err
	}
	p = make([]float64, 0, max(0, countStates(m.Shape())))
	top := math.Inf(-1)
	err = eachState(ctx, "Tabulate", m, Bounds{}, func(_ []int32, f0 float64, _ []float64) {
		p = append(p, -f0)
		top = max(top, -f0)
	})
	if err != nil {
		return nil, 0, err
	}
	if math.IsInf(top, -1) {
		return nil, 0, fmt.Errorf("dual: Tabulate: every state has energy +Inf")
	}
	return p, tilt.Normalize(p), nil
}
