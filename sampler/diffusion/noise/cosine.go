package noise

import (
	"fmt"
	"math"
)

// Cosine is α(t) = ε + (1−ε)·cos(πt/2) (Sahoo et al. 2024). The zero value has
// ε = 1e-3.
type Cosine struct {
	// Epsilon is α(1). 0 means 1e-3, a negative value 0.
	Epsilon float64
}

// Alpha implements [Schedule].
func (c Cosine) Alpha(t float64) float64 { return lift(epsilon(c.Epsilon), cosQuarter(t)) }

// Time implements [Schedule], to the resolution of Alpha.
func (c Cosine) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

// Check implements [Checked].
func (c Cosine) Check() error { return checkEpsilon("Cosine", c.Epsilon) }

// CosineSquared is α(t) = ε + (1−ε)·cos²(πt/2) (Sahoo et al. 2024). The zero
// value has ε = 1e-3.
type CosineSquared struct {
	// Epsilon is α(1). 0 means 1e-3, a negative value 0.
	Epsilon float64
}

// Alpha implements [Schedule].
func (c CosineSquared) Alpha(t float64) float64 {
	cos := cosQuarter(t)
	return lift(epsilon(c.Epsilon), float64(cos*cos))
}

// Time implements [Schedule], to the resolution of Alpha.
func (c CosineSquared) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

// Check implements [Checked].
func (c CosineSquared) Check() error { return checkEpsilon("CosineSquared", c.Epsilon) }

// cosQuarter returns cos(πt/2) for t in [0,1], 1 and 0 at the ends, the same
// bits on every GOARCH. The terms are those of the Taylor series; the first one
// left out is below 1e-18 for the arguments up to π/4 that are used.
func cosQuarter(t float64) float64 {
	if t > 0.5 {
		x := float64((1 - t) * (math.Pi / 2))
		y := -float64(x * x)
		p := 1.0
		for k := 17.0; k > 1; k -= 2 {
			p = 1 + float64(float64(y*p)/(k*(k-1)))
		}
		return float64(x * p)
	}
	x := float64(t * (math.Pi / 2))
	y := -float64(x * x)
	p := 1.0
	for k := 18.0; k > 0; k -= 2 {
		p = 1 + float64(float64(y*p)/(k*(k-1)))
	}
	return p
}

// CosineBar is ᾱ(t) = f(t)/f(0), f(t) = cos²(π/2·(t+s)/(1+s)) (Nichol and
// Dhariwal 2021), not below Floor. The zero value has s = 0.008.
type CosineBar struct {
	Offset float64 // s; 0 means 0.008

	// Floor bounds ᾱ(1), which is 0 in the formula and makes 1/√ᾱ infinite; 0
	// means 1e-9, near where the usual bound β ≤ 0.999 ends in 1000 steps.
	Floor float64
}

// Alpha implements [Schedule].
func (c CosineBar) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	s, floor := c.filled()
	top := cosQuarter(s / (1 + s))
	now := cosQuarter(unit((t + s) / (1 + s)))
	r := now / top
	return max(floor, float64(r*r))
}

// Time implements [Schedule], to the resolution of Alpha.
func (c CosineBar) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

func (c CosineBar) filled() (offset, floor float64) {
	offset, floor = c.Offset, c.Floor
	if offset == 0 {
		offset = 0.008
	}
	if floor == 0 {
		floor = 1e-9
	}
	return offset, floor
}

// Check implements [Checked].
func (c CosineBar) Check() error {
	if s, f := c.filled(); !(s > 0) || math.IsInf(s, 1) || !(f > 0 && f < 1) {
		return fmt.Errorf("noise: CosineBar: Offset = %v, Floor = %v, want > 0 and in (0, 1)", s, f)
	}
	return nil
}
