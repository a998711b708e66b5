package dual

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Groups are loops with multipliers of their own: the constraints are met by
// the mean over each group of chains, not only over all of them together. Every
// loop has its own target and primal (for instance chains with seeds 1, 2, …).
type Groups[S energy.Site] []*Inference[S]

// Run brings every group n dual steps beyond the one that is furthest behind,
// one group after the other; it stops at the first error, which names the
// group. After an interruption groups thus level out again.
func (g Groups[S]) Run(ctx context.Context, n int) error {
	if n < 0 {
		return fmt.Errorf("dual: Groups: Run: n = %d, want ≥ 0", n)
	}
	end := math.MaxInt
	for k, i := range g {
		if i == nil {
			return fmt.Errorf("dual: Groups: group %d = nil, want a loop", k)
		}
		end = min(end, i.Len())
	}
	end += min(n, math.MaxInt-end)
	for k, i := range g {
		if err := i.Run(ctx, max(0, end-i.Len())); err != nil {
			return fmt.Errorf("dual: group %d: %w", k, err)
		}
	}
	return nil
}

// Average returns the mean over the groups of [Inference.Average].
func (g Groups[S]) Average() []float64 {
	var avg []float64
	for _, i := range g {
		a := i.Average()
		if avg == nil {
			avg = make([]float64, len(a))
		}
		for j, v := range a {
			avg[j] += v / float64(len(g))
		}
	}
	return avg
}
