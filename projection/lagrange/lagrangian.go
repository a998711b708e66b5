package lagrange

import (
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// lagrangian is the function that a [Projector] descends on, of the logits z of y:
//
//	L(z) = KL(x‖y) + Σ_j λ_j·Δ_j + (μ/2)·Σ_j Δ_j²,
//	y = softmax(z),  ϕ = softmax((z + noise)/θ),  Δ_j = max(0, g_j(ϕ) + raise_j).
//
// Its gradient, row by row,
//
//	∇L = (y − x) + (1/θ)·ϕ ⊙ (G − ⟨ϕ, G⟩),  G = Σ_{j: Δ_j > 0} (λ_j + μ·Δ_j)·∂g_j/∂ϕ,
//
// leaves logits of −Inf alone: their y, x and ϕ are 0.
type lagrangian struct {
	smooth constraint.Smooth
	levels int
	theta  float32

	x     []float32 // probabilities of the given distribution
	noise []float32 // Gumbel, fixed through an outer loop
	mu    float64

	lambda []float64 // multipliers
	raise  []float64 // how much g is raised
	g      []float64 // values at ϕ, raised
	weight []float64 // λ + μ·Δ
	force  []float64 // sum of the weights so far

	y, phi, pull, grad []float32
}

// gradient evaluates ∇L at z into l.grad, and g.
func (l *lagrangian) gradient(z []float32) {
	violated := false
	simd.Softmax(l.y, z, l.levels)
	for i, y := range l.y {
		l.grad[i] = y - l.x[i]
	}
	simd.GumbelSoftmax(l.phi, z, l.noise, l.levels, l.theta)
	l.smooth.Value(l.g, l.phi)
	for j := range l.g {
		l.g[j] += l.raise[j]
		l.weight[j] = 0
		if l.g[j] > 0 {
			l.weight[j] = l.lambda[j] + float64(l.mu*l.g[j])
			l.force[j] += l.weight[j]
			violated = true
		}
	}
	if violated {
		clear(l.pull)
		l.smooth.Pull(l.pull, l.phi, l.weight)
		simd.SoftmaxPull(l.grad, l.phi, l.pull, l.levels, 1/l.theta)
	}
}

// stepLimit bounds how far a gradient step moves a logit: see [Projector].
const stepLimit = 1

// descend takes a gradient step of size eta at most.
func (l *lagrangian) descend(z []float32, eta float32) {
	for i, d := range l.grad {
		z[i] -= max(-stepLimit, min(stepLimit, float32(eta*d)))
	}
}

// ascend moves the multipliers after an outer loop.
func (l *lagrangian) ascend() {
	for j, g := range l.g {
		if g > 0 {
			l.lambda[j] += float64(l.mu * g)
		}
	}
	l.mu = min(float64(muGrowth*l.mu), lastMu)
}

// perturb makes the noise of an outer loop from bits.
func (l *lagrangian) perturb(bits []uint32) { simd.Gumbel(l.noise, bits) }

// finite reports whether all values of the constraint are numbers.
func (l *lagrangian) finite() bool {
	for _, g := range l.g {
		if g != g || math.IsInf(g, 0) {
			return false
		}
	}
	return true
}
