package noise

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// LinearBeta is the schedule of DDPM (Ho et al. 2020): ᾱ_k = Π_{j≤k} (1−β_j) with
// β_1 … β_T evenly spaced, and ᾱ(t) = ᾱ_{tT}, geometric in between. The zero
// value has β from 1e-4 to 0.02 in T = 1000 steps.
type LinearBeta struct {
	From, To float64 // β_1 and β_T; 0 means 1e-4 and 0.02
	Steps    int     // T, at most 2²², as a call of Alpha takes so many multiplications; 0 means 1000
}

// mostSteps bounds Steps.
const mostSteps = 1 << 22

// counted is filled for callers that return no error: it panics unless Steps is in
// range.
func (c LinearBeta) counted() LinearBeta {
	c = c.filled()
	if c.Steps < 1 || c.Steps > mostSteps {
		panic(fmt.Sprintf("noise: LinearBeta: Steps = %d, want 1 … %d", c.Steps, mostSteps))
	}
	return c
}

func (c LinearBeta) filled() LinearBeta {
	if c.From == 0 {
		c.From = 1e-4
	}
	if c.To == 0 {
		c.To = 0.02
	}
	if c.Steps == 0 {
		c.Steps = 1000
	}
	return c
}

// Alpha implements [Schedule], in T multiplications. It panics, as Time and Tabulate do,
// unless Steps is in range.
func (c LinearBeta) Alpha(t float64) float64 {
	c = c.counted()
	whole, rest := c.split(t)
	a := 1.0
	for j := range whole {
		a *= 1 - c.beta(j)
	}
	return c.between(a, whole, rest)
}

// split returns the whole steps before t and what is left.
func (c LinearBeta) split(t float64) (whole int, rest float64) {
	k := float64(unit(t) * float64(c.Steps))
	whole = int(math.Round(k))
	if math.Abs(k-float64(whole)) > gridTolerance {
		whole = int(k)
	}
	return whole, k - float64(whole)
}

// between moves ᾱ at a whole step on by the rest.
func (c LinearBeta) between(a float64, whole int, rest float64) float64 {
	if rest <= gridTolerance {
		return a
	}
	return float64(a * simd.Exp(float64(rest*simd.Log1p(-c.beta(whole)))))
}

// betaTable is a LinearBeta with its products.
type betaTable struct {
	LinearBeta
	bar []float64
}

// Tabulate implements [Tabulated].
func (c LinearBeta) Tabulate() Schedule {
	b := betaTable{c.counted(), []float64{1}}
	for j := range b.Steps {
		b.bar = append(b.bar, b.bar[j]*(1-b.beta(j)))
	}
	return b
}

// Alpha is that of the LinearBeta.
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

// Time implements [Schedule], to the resolution of Alpha.
func (c LinearBeta) Time(alpha float64) float64 { return invert(c.Alpha, alpha) }

// Check implements [Checked].
func (c LinearBeta) Check() error {
	c = c.filled()
	if !(c.From > 0 && c.From < 1 && c.To > 0 && c.To < 1) || c.Steps < 1 {
		return fmt.Errorf("noise: LinearBeta: From = %v, To = %v, Steps = %d, want β in (0, 1) and Steps ≥ 1", c.From, c.To, c.Steps)
	}
	if c.Steps > mostSteps {
		return fmt.Errorf("noise: LinearBeta: Steps = %d, want ≤ %d", c.Steps, mostSteps)
	}
	return nil
}

// gridTolerance is how far t·T may be from an integer by the rounding of t.
const gridTolerance = 1e-9
