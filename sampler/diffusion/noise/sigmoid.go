package noise

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// SigmoidBar is ᾱ(t) = (σ(e/τ) − σ((t(e−b)+b)/τ)) / (σ(e/τ) − σ(b/τ)) with the
// logistic σ (Jabri et al. 2023), not below Floor. The zero value has b = −3,
// e = 3, τ = 1.
type SigmoidBar struct {
	Begin, End float64 // b and e; both 0 mean −3 and 3
	Tau        float64 // τ; 0 means 1
	Floor      float64 // of ᾱ; 0 means 1e-9 (see [CosineBar])
}

// Alpha implements [Schedule].
func (c SigmoidBar) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	c = c.filled()
	end := simd.Sigmoid(c.End / c.Tau)
	at := simd.Sigmoid((c.Begin + float64(t*(c.End-c.Begin))) / c.Tau)
	return max(c.Floor, (end-at)/(end-simd.Sigmoid(c.Begin/c.Tau)))
}

// Time implements [Schedule], to the resolution of Alpha.
func (c SigmoidBar) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

func (c SigmoidBar) filled() SigmoidBar {
	if c.Begin == 0 && c.End == 0 {
		c.Begin, c.End = -3, 3
	}
	if c.Tau == 0 {
		c.Tau = 1
	}
	if c.Floor == 0 {
		c.Floor = 1e-9
	}
	return c
}

// Check implements [Checked].
func (c SigmoidBar) Check() error {
	c = c.filled()
	if !(c.Begin < c.End) || !(c.Tau > 0) || math.IsInf(c.End-c.Begin, 1) || !(c.Floor > 0 && c.Floor < 1) {
		return fmt.Errorf("noise: SigmoidBar: Begin = %v, End = %v, Tau = %v, Floor = %v, want Begin < End, Tau > 0 and Floor in (0, 1)", c.Begin, c.End, c.Tau, c.Floor)
	}
	return nil
}
