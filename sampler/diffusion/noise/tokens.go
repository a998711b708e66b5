package noise

import (
	"cmp"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// LogLinear is the schedule of masked diffusion (Sahoo et al. 2024)
//
//	α(t) = 1 − (1−ε)t,
//
// where α(t) is the probability that a token is unmasked at time t. Tokens are unmasked at a
// constant rate. The zero value has ε = 1e-3.
type LogLinear struct {
	// Epsilon is ε, the probability that a token is still intact at time 1. 0 means 1e-3, and a
	// negative value means 0.
	Epsilon float64
}

// Alpha returns the signal level at time t: the probability α(t) that a token is intact. It
// implements [Schedule].
func (c LogLinear) Alpha(t float64) float64 { return 1 - float64((1-epsilon(c.Epsilon))*t) }

// Time returns the time t with Alpha(t) = alpha. It implements [Schedule].
func (c LogLinear) Time(alpha float64) float64 { return unit((1 - alpha) / (1 - epsilon(c.Epsilon))) }

// Check returns an error if a field is out of range; it implements [Checked].
func (c LogLinear) Check() error { return checkEpsilon("LogLinear", c.Epsilon) }

// Cosine is the schedule for tokens (Sahoo et al. 2024)
//
//	α(t) = ε + (1−ε)·cos(πt/2),
//
// where α(t) is the probability that a token is intact at time t. The zero value has ε = 1e-3.
type Cosine struct {
	// Epsilon is ε, the probability that a token is still intact at time 1. 0 means 1e-3, and a
	// negative value means 0.
	Epsilon float64
}

// Alpha returns the signal level at time t: the probability α(t) that a token is intact. It
// implements [Schedule].
func (c Cosine) Alpha(t float64) float64 { return lift(epsilon(c.Epsilon), cosQuarter(t)) }

// Time returns the time t with Alpha(t) = alpha, up to rounding in Alpha. It implements [Schedule].
func (c Cosine) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

// Check returns an error if a field is out of range; it implements [Checked].
func (c Cosine) Check() error { return checkEpsilon("Cosine", c.Epsilon) }

// CosineSquared is the schedule for tokens (Sahoo et al. 2024)
//
//	α(t) = ε + (1−ε)·cos²(πt/2),
//
// where α(t) is the probability that a token is intact at time t. The zero value has ε = 1e-3.
type CosineSquared struct {
	// Epsilon is ε, the probability that a token is still intact at time 1. 0 means 1e-3, and a
	// negative value means 0.
	Epsilon float64
}

// Alpha returns the signal level at time t: the probability α(t) that a token is intact. It
// implements [Schedule].
func (c CosineSquared) Alpha(t float64) float64 {
	cos := cosQuarter(t)
	return lift(epsilon(c.Epsilon), float64(cos*cos))
}

// Time returns the time t with Alpha(t) = alpha, up to rounding in Alpha. It implements [Schedule].
func (c CosineSquared) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

// Check returns an error if a field is out of range; it implements [Checked].
func (c CosineSquared) Check() error { return checkEpsilon("CosineSquared", c.Epsilon) }

// cosQuarter returns cos(πt/2) for t in [0,1]. The result is exactly 1 at t = 0 and 0 at t = 1, and
// has the same bits on every GOARCH. cosQuarter sums the Taylor series. For the arguments used, at
// most π/4, the first omitted term is below 1e-18.
func cosQuarter(t float64) float64 {
	k, sine := 18.0, t > 0.5
	if sine {
		k, t = 17, 1-t
	}
	x := float64(t * (math.Pi / 2))
	y, p := -float64(x*x), 1.0
	for ; k > 1; k -= 2 {
		p = 1 + float64(float64(y*p)/(k*(k-1)))
	}
	if sine {
		p = float64(x * p)
	}
	return p
}

// LinearSigma is the schedule for tokens
//
//	α(t) = e^{−σ(t)},  σ(t) = Min + (Max−Min)·t,
//
// where α(t) is the probability that a token is intact at time t. The zero value has σ from 0 to
// 20.
type LinearSigma struct {
	Min float64 // noise σ just after time 0, ≥ 0
	Max float64 // noise σ(1) > Min; 0 means 20, where 2e-9 of the signal remains
}

// Alpha returns the signal level at time t: the probability α(t) that a token is intact. It
// implements [Schedule].
func (c LinearSigma) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	return simd.Exp(-(c.Min + float64((c.top()-c.Min)*t)))
}

// Time returns the time t with Alpha(t) = alpha. It implements [Schedule].
func (c LinearSigma) Time(alpha float64) float64 {
	return unit((-simd.Log(alpha) - c.Min) / (c.top() - c.Min))
}

func (c LinearSigma) top() float64 {
	return cmp.Or(c.Max, defaultSigma)
}

// Check returns an error if a field is out of range; it implements [Checked].
func (c LinearSigma) Check() error {
	return check.If(!(c.Min >= 0) || !(c.top() > c.Min) || math.IsInf(c.top(), 1), "noise: LinearSigma: Min = %v, Max = %v, want 0 ≤ Min < Max < ∞", c.Min, c.top())
}

// GeometricSigma is the schedule for tokens
//
//	α(t) = e^{−σ(t)},  σ(t) = Min^{1−t}·Max^t for t > 0,
//
// where α(t) is the probability that a token is intact at time t. The zero value has σ from 1e-3 to
// 20.
type GeometricSigma struct {
	Min float64 // noise σ just after time 0; 0 means 1e-3
	Max float64 // noise σ(1); 0 means 20
}

// Alpha returns the signal level at time t: the probability α(t) that a token is intact. It jumps
// from 1 to e^{−Min} just after t = 0. It implements [Schedule].
func (c GeometricSigma) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	lo, hi := c.bounds()
	return simd.Exp(-simd.Exp(simd.Log(lo) + float64(t*(simd.Log(hi)-simd.Log(lo)))))
}

// Time returns the time t with Alpha(t) = alpha. It implements [Schedule].
func (c GeometricSigma) Time(alpha float64) float64 {
	lo, hi := c.bounds()
	sigma := -simd.Log(alpha)
	if sigma <= lo {
		return 0
	}
	return unit((simd.Log(sigma) - simd.Log(lo)) / (simd.Log(hi) - simd.Log(lo)))
}

func (c GeometricSigma) bounds() (lo, hi float64) {
	return cmp.Or(c.Min, defaultEpsilon), cmp.Or(c.Max, defaultSigma)
}

// Check returns an error if a field is out of range; it implements [Checked].
func (c GeometricSigma) Check() error {
	lo, hi := c.bounds()
	return check.If(!(lo > 0) || !(hi > lo) || math.IsInf(hi, 1), "noise: GeometricSigma: Min = %v, Max = %v, want 0 < Min < Max < ∞", lo, hi)
}

// defaultSigma is the default σ(1) of the schedules in σ. α(1) is then 2e-9, so small that 10⁸
// tokens do not reveal a difference from pure noise.
const defaultSigma = 20

// defaultEpsilon is the ε of Sahoo et al. 2024.
const defaultEpsilon = 1e-3

func epsilon(e float64) float64 {
	return max(cmp.Or(e, defaultEpsilon), 0)
}

func checkEpsilon(name string, e float64) error {
	return check.If(!(e < 1), "noise: %s: Epsilon = %v, want < 1", name, e)
}

// lift returns ε + (1−ε)·c, where ε is the argument e, but at most 1.
func lift(e, c float64) float64 { return min(1, e+float64((1-e)*c)) }
