package noise

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// LinearBeta is the schedule of DDPM (Ho et al. 2020) for reals. After k of T steps the signal
// level is
//
//	ᾱ_k = Π_{j≤k} (1−β_j),
//
// where β_1 … β_T are evenly spaced. At time t it is ᾱ_k with k = tT. If tT is not an integer, ᾱ is
// interpolated geometrically between steps. The zero value has β from 1e-4 to 0.02 in T = 1000
// steps.
type LinearBeta struct {
	From, To float64 // β_1 and β_T in the formula of [LinearBeta]; 0 means 1e-4 and 0.02
	// Steps is the number T of steps, at most 2²²; 0 means 1000. A call of Alpha takes T
	// multiplications.
	Steps int
}

// mostSteps is the largest allowed value of LinearBeta.Steps.
const mostSteps = 1 << 22

// counted returns the schedule with its defaults. It panics if Steps is out of range, because its
// callers return no error.
func (c LinearBeta) counted() LinearBeta {
	c = c.filled()
	if c.Steps < 1 || c.Steps > mostSteps {
		panic(fmt.Sprintf("noise: LinearBeta: Steps = %d, want 1 … %d", c.Steps, mostSteps))
	}
	return c
}

func (c LinearBeta) filled() LinearBeta {
	c.From, c.To, c.Steps = cmp.Or(c.From, 1e-4), cmp.Or(c.To, 0.02), cmp.Or(c.Steps, 1000)
	return c
}

// Alpha returns the signal level ᾱ(t). This takes T multiplications, where T is the number of
// steps. Alpha, Time and Tabulate panic if Steps is out of range. Alpha implements [Schedule].
func (c LinearBeta) Alpha(t float64) float64 {
	c = c.counted()
	whole, rest := c.split(t)
	a := 1.0
	for j := range whole {
		a *= 1 - c.beta(j)
	}
	return c.between(a, whole, rest)
}

// split returns t·T as a whole number of steps and a fraction of a step.
func (c LinearBeta) split(t float64) (whole int, rest float64) {
	k := float64(unit(t) * float64(c.Steps))
	whole = int(math.Round(k))
	if math.Abs(k-float64(whole)) > gridTolerance {
		whole = int(k)
	}
	return whole, k - float64(whole)
}

// between returns ᾱ after a given number of whole steps and a fraction rest of the next step. The
// argument a is ᾱ after the whole steps.
func (c LinearBeta) between(a float64, whole int, rest float64) float64 {
	if rest <= gridTolerance {
		return a
	}
	return float64(a * simd.Exp(float64(rest*simd.Log1p(-c.beta(whole)))))
}

// betaTable is a LinearBeta whose ᾱ after every whole step is precomputed in bar.
type betaTable struct {
	LinearBeta
	bar []float64
}

// Tabulate returns a schedule that reads ᾱ from a table with an entry for each of the T steps. It
// implements [Tabulated].
func (c LinearBeta) Tabulate() Schedule {
	b := betaTable{c.counted(), []float64{1}}
	for j := range b.Steps {
		b.bar = append(b.bar, b.bar[j]*(1-b.beta(j)))
	}
	return b
}

// Alpha returns the same values as the Alpha method of the tabulated LinearBeta.
func (b betaTable) Alpha(t float64) float64 {
	whole, rest := b.split(t)
	return b.between(b.bar[whole], whole, rest)
}

// beta returns β_{j+1}.
func (c LinearBeta) beta(j int) float64 {
	if c.Steps == 1 {
		return c.From
	}
	return c.From + float64((c.To-c.From)*float64(j))/float64(c.Steps-1)
}

// Time returns the time t with Alpha(t) = alpha, up to rounding in Alpha. It implements [Schedule].
func (c LinearBeta) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

// Check returns an error if a field is out of range; it implements [Checked].
func (c LinearBeta) Check() error {
	c = c.filled()
	return cmp.Or(
		check.If(!(c.From > 0 && c.From < 1 && c.To > 0 && c.To < 1) || c.Steps < 1, "noise: LinearBeta: From = %v, To = %v, Steps = %d, want β in (0, 1) and Steps ≥ 1", c.From, c.To, c.Steps),
		check.If(c.Steps > mostSteps, "noise: LinearBeta: Steps = %d, want ≤ %d", c.Steps, mostSteps),
	)
}

// gridTolerance is the largest distance of t·T from an integer that counts as rounding of t.
const gridTolerance = 1e-9

// SigmoidBar is a schedule for diffusions of reals (Jabri et al. 2023). Its signal level is
//
//	ᾱ(t) = (σ(e/τ) − σ((t(e−b)+b)/τ)) / (σ(e/τ) − σ(b/τ)),
//
// but at least MinAlpha. Here σ is the logistic function, and b, e and τ are the fields Begin, End
// and Tau. The zero value has b = −3, e = 3, τ = 1.
type SigmoidBar struct {
	Begin, End float64 // b and e in the formula of [SigmoidBar]; if both are 0, they mean −3 and 3
	Tau        float64 // τ in the formula of [SigmoidBar]; 0 means 1
	MinAlpha   float64 // smallest ᾱ; 0 means 1e-9 (see [CosineBar])
}

// Alpha returns the signal level at time t, which is ᾱ in x_t = √ᾱ·x_0 + √(1−ᾱ)·noise. It
// implements [Schedule].
func (c SigmoidBar) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	c = c.filled()
	end := simd.Sigmoid(c.End / c.Tau)
	at := simd.Sigmoid((c.Begin + float64(t*(c.End-c.Begin))) / c.Tau)
	return max(c.MinAlpha, (end-at)/(end-simd.Sigmoid(c.Begin/c.Tau)))
}

// Time returns the time t with Alpha(t) = alpha, up to rounding in Alpha. It implements [Schedule].
func (c SigmoidBar) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

func (c SigmoidBar) filled() SigmoidBar {
	if c.Begin == 0 && c.End == 0 {
		c.Begin, c.End = -3, 3
	}
	c.Tau, c.MinAlpha = cmp.Or(c.Tau, 1), cmp.Or(c.MinAlpha, 1e-9)
	return c
}

// Check returns an error if a field is out of range; it implements [Checked].
func (c SigmoidBar) Check() error {
	c = c.filled()
	return check.If(!(c.Begin < c.End) || !(c.Tau > 0) || math.IsInf(c.End-c.Begin, 1) || !(c.MinAlpha > 0 && c.MinAlpha < 1),
		"noise: SigmoidBar: Begin = %v, End = %v, Tau = %v, MinAlpha = %v, want Begin < End, Tau > 0 and MinAlpha in (0, 1)", c.Begin, c.End, c.Tau, c.MinAlpha)
}

// Straight is the schedule of flow matching on straight paths z_t = (1−t)·x_0 + t·ε, with noise ε
// (Lipman, Chen, Ben-Hamu, Nickel and Le 2023; Liu, Gong and Liu 2023). The state is scaled to x_t
// = z_t/√((1−t)²+t²), so that the variances of signal and noise add up to 1. The signal level is
// then
//
//	ᾱ(t) = (1−t)²/((1−t)² + t²).
//
// With this schedule, evenly spaced DDIM steps (diffusion.Gaussian with η = 0) are Euler's method
// for dz/dt = E[ε − x_0 | z]. Because ᾱ(1) = 0, denoisers that divide by √ᾱ, such as
// energy.NoisePredictor, cannot predict from the first state.
type Straight struct{}

// Alpha returns the signal level at time t, which is ᾱ in x_t = √ᾱ·x_0 + √(1−ᾱ)·noise. It
// implements [Schedule].
func (Straight) Alpha(t float64) float64 {
	t = unit(t)
	a, b := float64((1-t)*(1-t)), float64(t*t)
	return a / (a + b)
}

// Time returns the time t with Alpha(t) = alpha. It implements [Schedule].
func (Straight) Time(alpha float64) float64 {
	alpha = unit(alpha)
	noise := math.Sqrt(1 - alpha)
	return noise / (noise + math.Sqrt(alpha))
}

// CosineBar is the schedule of Nichol and Dhariwal 2021, for reals. Its signal level is
//
//	ᾱ(t) = f(t)/f(0),  f(t) = cos²(π/2·(t+s)/(1+s)),
//
// but at least MinAlpha. The zero value has s = 0.008.
type CosineBar struct {
	Offset float64 // s in the formula of [CosineBar]; 0 means 0.008

	// MinAlpha is the smallest ᾱ; 0 means 1e-9. Without it, ᾱ(1) would be 0, and 1/√ᾱ would be
	// infinite. The default is near the ᾱ(1) that results from the usual bound β ≤ 0.999 in 1000
	// steps.
	MinAlpha float64
}

// Alpha returns the signal level at time t, which is ᾱ in x_t = √ᾱ·x_0 + √(1−ᾱ)·noise. It
// implements [Schedule].
func (c CosineBar) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	s, least := c.filled()
	top := cosQuarter(s / (1 + s))
	now := cosQuarter(unit((t + s) / (1 + s)))
	r := now / top
	return max(least, float64(r*r))
}

// Time returns the time t with Alpha(t) = alpha, up to rounding in Alpha. It implements [Schedule].
func (c CosineBar) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

func (c CosineBar) filled() (offset, least float64) {
	return cmp.Or(c.Offset, 0.008), cmp.Or(c.MinAlpha, 1e-9)
}

// Check returns an error if a field is out of range; it implements [Checked].
func (c CosineBar) Check() error {
	s, f := c.filled()
	return check.If(!(s > 0) || math.IsInf(s, 1) || !(f > 0 && f < 1), "noise: CosineBar: Offset = %v, MinAlpha = %v, want > 0 and in (0, 1)", s, f)
}

// PolynomialSNR is a schedule for reals whose signal-to-noise ratio is a power of the remaining
// time 1−t,
//
//	ᾱ/(1−ᾱ) = Max·(1−t)^Power,
//
// but ᾱ is at least MinAlpha. The zero value has Power 4 and Max 1e4. A Power of 1 is the clock of
// stochastic localization (Montanari 2023).
//
// In a run of T evenly spaced steps, the first step ends at the ratio Max/T^Power. With Power 1,
// choose Max no larger than a few times T.
type PolynomialSNR struct {
	Power    float64 // exponent > 0; 0 means 4
	Max      float64 // signal-to-noise ratio as t → 0; 0 means 1e4
	MinAlpha float64 // smallest ᾱ; 0 means 1e-9 (see [CosineBar])
}

func (c PolynomialSNR) filled() PolynomialSNR {
	c.Power, c.Max, c.MinAlpha = cmp.Or(c.Power, 4), cmp.Or(c.Max, 1e4), cmp.Or(c.MinAlpha, 1e-9)
	return c
}

// Alpha returns the signal level at time t, which is ᾱ in x_t = √ᾱ·x_0 + √(1−ᾱ)·noise. It
// implements [Schedule].
func (c PolynomialSNR) Alpha(t float64) float64 {
	if t <= 0 {
		return 1
	}
	c = c.filled()
	return max(c.MinAlpha, simd.Sigmoid(simd.Log(c.Max)+float64(c.Power*simd.Log1p(-unit(t)))))
}

// Time returns the time t with Alpha(t) = alpha, up to rounding in Alpha. It implements [Schedule].
func (c PolynomialSNR) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

// Check returns an error if a field is out of range; it implements [Checked].
func (c PolynomialSNR) Check() error {
	c = c.filled()
	return check.If(!(c.Power > 0) || !(c.Max > 0) || math.IsInf(c.Power, 1) || math.IsInf(c.Max, 1) || !(c.MinAlpha > 0 && c.MinAlpha < 1),
		"noise: PolynomialSNR: Power = %v, Max = %v, MinAlpha = %v, want Power and Max finite and > 0, MinAlpha in (0, 1)", c.Power, c.Max, c.MinAlpha)
}
