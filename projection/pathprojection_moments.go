package projection

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// LogProb returns log P(x | x ∈ C) in nats, −Inf if x is not in the language or has
// a token of weight −Inf. It panics if a token is not in 0 … levels−1.
func (e *PathProjection) LogProb(ctx context.Context, x []int32, v []float32) (float64, error) {
	check.Len("projection", "x", len(x), e.sites)
	v = e.weights(v)
	sum := 0.0
	for i, token := range x {
		check.Index("projection", "token", int(token), e.levels)
		sum += float64(v[i*e.levels+int(token)])
	}
	logZ, err := e.LogZ(ctx, v)
	if err != nil {
		return 0, err
	}
	if math.IsInf(sum, -1) || !e.Accepts(x) {
		return math.Inf(-1), nil
	}
	return sum - logZ, nil
}

// Mean returns the expectation of a sum over the sites given the language,
//
//	E[Σ_i f[i,x_i] | x ∈ C] = Σ_{i,l} P(x_i = l | x ∈ C)·f[i,l],
//
// where f is sites × levels, in any unit. Values of f at tokens that cannot occur are ignored.
func (e *PathProjection) Mean(ctx context.Context, f []float64, v []float32) (float64, error) {
	check.Len("projection", "f", len(f), e.sites*e.levels)
	p := make([]float64, len(f))
	if err := e.Marginals(ctx, p, v); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, q := range p {
		if q > 0 {
			sum += float64(q * f[i])
		}
	}
	return sum, nil
}

// Entropy returns the entropy of p given the language, in nats:
//
//	H = −Σ_{x ∈ C} P(x) log P(x) = log Z − E[Σ_i v[i,x_i] | x ∈ C].
func (e *PathProjection) Entropy(ctx context.Context, v []float32) (float64, error) {
	v = e.weights(v)
	logZ, err := e.LogZ(ctx, v)
	if err != nil {
		return 0, err
	}
	p := make([]float64, e.sites*e.levels)
	if err := e.LogMarginals(ctx, p, v); err != nil {
		return 0, err
	}
	// Weights relative to that of the likeliest token of their site: large ones would
	// cancel against log Z.
	for i := range e.sites {
		row, q := v[i*e.levels:(i+1)*e.levels], p[i*e.levels:(i+1)*e.levels]
		top := 0
		for l := range q {
			if q[l] > q[top] {
				top = l
			}
		}
		logZ -= float64(row[top])
		for l, logP := range q {
			if w := simd.Exp(logP); w > 0 {
				logZ -= float64(w * (float64(row[l]) - float64(row[top])))
			}
		}
	}
	return max(0, logZ), nil
}
