package noise

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// LinearSigma is α(t) = e^{−σ(t)} with σ(t) = Min + (Max−Min)·t. The zero value
// has σ from 0 to 20.
type LinearSigma struct {
	Min float64 // σ just after time 0, ≥ 0
	Max float64 // σ(1) ≥ Min; 0 means 20, where 2e-9 of the signal is left
}

// Alpha implements [Schedule].
func (c LinearSigma) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	return simd.Exp(-(c.Min + float64((c.top()-c.Min)*t)))
}

// Time implements [Schedule].
func (c LinearSigma) Time(alpha float64) float64 {
	return unit((-simd.Log(alpha) - c.Min) / (c.top() - c.Min))
}

func (c LinearSigma) top() float64 {
	if c.Max == 0 {
		return defaultSigma
	}
	return c.Max
}

// Check implements [Checked].
func (c LinearSigma) Check() error {
	if !(c.Min >= 0) || !(c.top() > c.Min) || math.IsInf(c.top(), 1) {
		return fmt.Errorf("noise: LinearSigma: Min = %v, Max = %v, want 0 ≤ Min < Max < ∞", c.Min, c.top())
	}
	return nil
}

// GeometricSigma is α(t) = e^{−σ(t)} with σ(t) = Min^{1−t}·Max^t for t > 0. The
// zero value has σ from 1e-3 to 20.
type GeometricSigma struct {
	Min float64 // σ just after time 0; 0 means 1e-3
	Max float64 // σ(1); 0 means 20
}

// Alpha implements [Schedule]. It jumps from e^{−Min} to 1 at t = 0.
func (c GeometricSigma) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	lo, hi := c.bounds()
	return simd.Exp(-simd.Exp(simd.Log(lo) + float64(t*(simd.Log(hi)-simd.Log(lo)))))
}

// Time implements [Schedule].
func (c GeometricSigma) Time(alpha float64) float64 {
	lo, hi := c.bounds()
	sigma := -simd.Log(alpha)
	if sigma <= lo {
		return 0
	}
	return unit((simd.Log(sigma) - simd.Log(lo)) / (simd.Log(hi) - simd.Log(lo)))
}

func (c GeometricSigma) bounds() (lo, hi float64) {
	lo, hi = c.Min, c.Max
	if lo == 0 {
		lo = defaultEpsilon
	}
	if hi == 0 {
		hi = defaultSigma
	}
	return lo, hi
}

// Check implements [Checked].
func (c GeometricSigma) Check() error {
	if lo, hi := c.bounds(); !(lo > 0) || !(hi > lo) || math.IsInf(hi, 1) {
		return fmt.Errorf("noise: GeometricSigma: Min = %v, Max = %v, want 0 < Min < Max < ∞", lo, hi)
	}
	return nil
}

// defaultSigma is the σ(1) of the schedules in σ: α(1) = 2e-9 is below what 10⁸
// tokens could tell from pure noise.
const defaultSigma = 20
