package fit

import "math"

// The constants of Kingma and Ba 2015.
const (
	beta1   = 0.9
	epsilon = 1e-8
)

// adam is the state of the optimiser; powers are β^t.
type adam struct {
	m, v           []float64
	power1, power2 float64
}

func newAdam(n int) adam {
	return adam{m: make([]float64, n), v: make([]float64, n), power1: 1, power2: 1}
}

// step moves θ against the gradient g of the likelihood at rate eta, with a proximal
// step for the penalties in Adam's metric: for D = eta/(√v̂ + ε),
//
//	θ ← argmin_u (u − (θ − D·m̂))²/(2D) + l₁|u| + l₂u²/2.
//
// A fixed point has m̂ + l₁·sign(θ) + l₂θ = 0, or |m̂| ≤ l₁ where θ = 0, whatever D is.
func (a *adam) step(theta, g []float64, eta float64, c *Config) {
	memory := c.Memory
	a.power1 = float64(a.power1 * beta1)
	a.power2 = float64(a.power2 * memory)
	c1, c2 := 1/(1-float64(a.power1)), 1/(1-float64(a.power2))
	for k, d := range g {
		a.m[k] = float64(beta1*a.m[k]) + float64((1-beta1)*d)
		a.v[k] = float64(memory*a.v[k]) + float64((1-memory)*float64(d*d))
		if c.Fixed != nil && c.Fixed[k] {
			continue
		}
		scale := eta / (math.Sqrt(float64(c2*a.v[k])) + epsilon)
		l1, l2 := c.penalty(k)
		u := theta[k] - float64(scale*float64(c1*a.m[k]))
		theta[k] = shrink(u, float64(scale*l1)) / (1 + float64(scale*l2))
	}
}

// shrink is the proximal step of t·|u|.
func shrink(u, t float64) float64 {
	switch {
	case u > t:
		return u - t
	case u < -t:
		return u + t
	}
	return 0
}
