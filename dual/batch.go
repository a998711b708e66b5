package dual

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Batch is the input of a [Rule] in one dual step: the violations of the present samples. A Batch
// holds the means of the violations, and usually also G or Cov, from which a rule computes
// variances. Inside a diffusion (package pdi) the means are forecasts for the finished samples. G
// and Cov are then both nil, and rules that need variances return a [SpreadError].
type Batch struct {
	Step   int       // number of dual steps before this one
	States int       // number of samples in the batch
	Beta   float64   // temperature β of the target
	Mean   []float64 // mean violation ḡ_j over the batch, one number per multiplier
	// G holds the violations of each state, a row-major array of States × len(Mean); nil if
	// unknown.
	G []float64
	// Cov is the exact covariance of the violations, len(Mean) × len(Mean). If Cov is nil, the
	// covariance is computed from G.
	Cov []float64
	Max float64 // upper bound on every |λ_j|; +Inf means no bound
	// marks the equalities E[g_j] = 0, whose multipliers may have either sign; nil means none
	Equal []bool
}

// SpreadError reports that a rule needs the variance of the violations, but its batch has neither G
// nor Cov.
type SpreadError struct{ Rule string }

func (e *SpreadError) Error() string {
	return fmt.Sprintf("dual: %s: the batch has neither G nor Cov, want one of them, as the step depends on the variance of violations; or use a rule with a step of its own, such as Ascent{Step: Constant(0.05)}", e.Rule)
}

// spread returns a [*SpreadError] for the rule if the batch has neither G nor Cov.
func (b *Batch) spread(rule string) error {
	if b.G == nil && b.Cov == nil {
		return &SpreadError{rule}
	}
	return nil
}

// Measure stores the violations g of the batch in the field G and their means in the field Mean.
// The slice g is a row-major array of States × len(Mean) and must not be modified later. Measure
// returns an error if a mean is not finite.
func (b *Batch) Measure(g []float64) error {
	meanOf(b.Mean, g)
	for j, v := range b.Mean {
		if !check.Finite(v) {
			return fmt.Errorf("mean violation %d = %v, want a finite number", j, v)
		}
	}
	b.G = g
	return nil
}

// Variance stores in v the variance of each violation g_j over the batch. It is the diagonal of the
// field Cov. If Cov is nil, it is computed from the field G with the divisor States − 1. If G is
// nil too, or States = 1, all variances are 0.
func (b *Batch) Variance(v []float64) {
	n := len(b.Mean)
	clear(v)
	if b.Cov != nil {
		for j := range v {
			v[j] = b.Cov[j*n+j]
		}
		return
	}
	if b.States < 2 || b.G == nil {
		return
	}
	for s := range b.States {
		for j, g := range b.G[s*n : (s+1)*n] {
			d := g - b.Mean[j]
			v[j] += float64(d * d)
		}
	}
	for j := range v {
		v[j] /= float64(b.States - 1)
	}
}

// Covariance stores in c the covariance of the batch's violations, an n × n matrix with n =
// len(Mean). This is the field Cov unless it is nil. Otherwise, Covariance computes the matrix from
// the field G, with the divisor States − 1, at a cost of O(States·n²). If G is nil too, or States =
// 1, the matrix is 0.
func (b *Batch) Covariance(c []float64) {
	n := len(b.Mean)
	clear(c)
	if b.Cov != nil {
		copy(c, b.Cov)
		return
	}
	if b.States < 2 || b.G == nil {
		return
	}
	for s := range b.States {
		row := b.G[s*n : (s+1)*n]
		for j, g := range row {
			d, to := g-b.Mean[j], c[j*n:j*n+j+1]
			for k := range to {
				to[k] += float64(d * (row[k] - b.Mean[k]))
			}
		}
	}
	for j := range n {
		for k := range j + 1 {
			c[j*n+k] /= float64(b.States - 1)
			c[k*n+j] = c[j*n+k]
		}
	}
}

// bounds returns the smallest and largest value allowed for multiplier j.
func (b *Batch) bounds(j int) (low, high float64) {
	if b.Equal != nil && b.Equal[j] {
		return -b.Max, b.Max
	}
	return 0, b.Max
}

// clip returns v limited to the range of multiplier j.
func (b *Batch) clip(j int, v float64) float64 {
	low, high := b.bounds(j)
	return min(max(v, low), high)
}

// meanOf stores in mean the mean of the rows of g.
func meanOf(mean, g []float64) {
	n := len(mean)
	clear(mean)
	for at := 0; at < len(g); at += n {
		for j, v := range g[at : at+n] {
			mean[j] += v
		}
	}
	for j := range mean {
		mean[j] /= float64(len(g) / n)
	}
}
