package dual

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Batch is what one dual step knows of the present samples.
type Batch struct {
	Step   int       // dual steps made before this one
	States int       // samples in the batch
	Beta   float64   // temperature
	Mean   []float64 // ḡ, the mean violation over the batch
	Cov    []float64 // batch covariance of g, n × n, divisor States − 1; zeros if States = 1
	Max    float64   // upper bound on multipliers, +Inf if there is none
}

// Measure fills Mean and Cov from the violations g of States states (States ×
// len(Mean), row-major). It returns an error if a mean is not finite.
func (b *Batch) Measure(g []float64) error {
	n := len(b.Mean)
	meanOf(b.Mean, g)
	for j, v := range b.Mean {
		if !check.Finite(v) {
			return fmt.Errorf("mean violation %d = %v, want a finite number", j, v)
		}
	}
	clear(b.Cov)
	if b.States < 2 {
		return nil
	}
	for s := range b.States {
		row := g[s*n : (s+1)*n]
		for j := range n {
			dj := row[j] - b.Mean[j]
			for k := range j + 1 {
				b.Cov[j*n+k] += float64(dj * (row[k] - b.Mean[k]))
			}
		}
	}
	for j := range n {
		for k := range j + 1 {
			b.Cov[j*n+k] /= float64(b.States - 1)
			b.Cov[k*n+j] = b.Cov[j*n+k]
		}
	}
	return nil
}

// meanOf stores the mean of the rows of g.
func meanOf(mean, g []float64) {
	n := len(mean)
	clear(mean)
	for at, v := range g {
		mean[at%n] += v
	}
	for j := range mean {
		mean[j] /= float64(len(g) / n)
	}
}
