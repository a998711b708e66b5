package lagrange

import (
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// lagrangian is the function that a [Projector] minimises by gradient descent. Its argument is
// z, the logits of y:
//
//	L(z) = KL(x‖y) + Σ_j λ_j·Δ_j + (μ/2)·Σ_j Δ_j²,
//	y = softmax(z),  ϕ = softmax((z + noise)/θ),  Δ_j = max(0, g_j(ϕ) + raise_j).
//
// Its gradient, row by row,
//
//	∇L = (y − x) + (1/θ)·ϕ ⊙ (G − ⟨ϕ, G⟩),  G = Σ_{j: Δ_j > 0} (λ_j + μ·Δ_j)·∂g_j/∂ϕ,
//
// is 0 at logits of −Inf, where y, x and ϕ are 0.
type lagrangian struct {
	smooth constraint.Smooth
	levels int
	theta  float32

	x     []float32 // probabilities of the given distribution
	noise []float32 // Gumbel noise, constant during an outer loop
	mu    float64

	lambda []float64 // multiplier of each inequality
	raise  []float64 // amount by which each g_j is raised
	g      []float64 // raised values g_j at ϕ
	// weight of each inequality in the gradient: λ_j + μ·Δ_j if it is violated, otherwise 0
	weight []float64
	force  []float64 // sum of the weights of each inequality over all steps so far

	y, phi, pull, grad []float32
}

// gradient evaluates ∇L at z and stores it in l.grad. It also updates l.g.
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

// stepLimit bounds the change of a logit in one gradient step: see [Projector].
const stepLimit = 1

// descend makes a gradient step of size eta. No logit moves by more than stepLimit.
func (l *lagrangian) descend(z []float32, eta float32) {
	for i, d := range l.grad {
		z[i] -= max(-stepLimit, min(stepLimit, float32(eta*d)))
	}
}

// ascend updates the multipliers and μ after an outer loop.
func (l *lagrangian) ascend() {
	for j, g := range l.g {
		if g > 0 {
			l.lambda[j] += float64(l.mu * g)
		}
	}
	l.mu = min(float64(muGrowth*l.mu), lastMu)
}

// perturb computes the Gumbel noise of an outer loop from random bits.
func (l *lagrangian) perturb(bits []uint32) { simd.Gumbel(l.noise, bits) }

// finite reports whether all values of the constraint are finite.
func (l *lagrangian) finite() bool {
	for _, g := range l.g {
		if g != g || math.IsInf(g, 0) {
			return false
		}
	}
	return true
}
