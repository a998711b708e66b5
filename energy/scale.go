package energy

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Scale returns the model with the energy β·E(x): the distribution of m at
// inverse temperature β. States of probability zero keep it, at β = 0 too. Scale of
// β = 1 is m itself.
//
// The result supports what m supports, except that it is not [Bipartite]: a
// scaled free energy is not that of binary hidden units. It is safe for
// concurrent use. β·E must not overflow.
//
// Scale returns an error if m is nil or β is negative, infinite or NaN.
func Scale(m Model, beta float64) (Model, error) {
	sites, levels, err := check.Model("energy", "Scale", "m", m)
	if err != nil {
		return nil, err
	}
	if !(beta >= 0 && check.Finite(beta)) {
		return nil, fmt.Errorf("energy: Scale: beta = %v, want 0 ≤ beta < ∞", beta)
	}
	if beta == 1 {
		return m, nil
	}
	return &scaled{m, beta, sites, levels}, nil
}

// scaled is what [Scale] returns. Every optional interface has a type of its
// own around it.
type scaled struct {
	m             Model
	beta          float64
	sites, levels int
}

// Shape returns the shape of the model inside.
func (s *scaled) Shape() (sites, levels int) { return s.sites, s.levels }

// Energy implements [Model].
func (s *scaled) Energy(e []float64, x []int32) {
	s.m.Energy(e, x)
	scaleAll(e, s.beta)
}

// scaleAll multiplies v by beta; +Inf stays what it is, even times 0.
func scaleAll[T float32 | float64](v []T, beta float64) {
	for i, a := range v {
		if !math.IsInf(float64(a), 0) {
			v[i] = T(float64(a) * beta)
		}
	}
}
