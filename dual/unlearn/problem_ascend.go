package unlearn

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Ascend makes n steps of a rule (nil means [dual.Auto]) with the exact gradient and
// curvature of a formulation's dual, from the given multipliers (nil means zeros), and
// returns the multipliers after each step, n × len(b). It approaches the optimum of Solve
// by the updates that a sampler would make. most ≥ 0 bounds every multiplier; +Inf means no
// bound. For ReverseKL it must keep Σλ below 1, and +Inf means 0.99.
//
// It returns the errors of [Problem.Law] during the ascent, of the rule, and of the
// context. Bounds are as in [Problem.Solve].
func (u *Problem) Ascend(ctx context.Context, f Formulation, b []float64, rule dual.Rule, start []float64, most float64, n int) ([]float64, error) {
	if err := u.check(f); err != nil {
		return nil, err
	}
	m := len(u.away)
	if start == nil {
		start = make([]float64, m)
	}
	if len(b) != m || len(start) != m {
		return nil, fmt.Errorf("unlearn: Ascend: len(b) = %d and len(start) = %d, want %d", len(b), len(start), m)
	}
	if rule == nil {
		rule = dual.Auto{}
	}
	updater, err := rule.Bind(ctx, m)
	if err != nil {
		return nil, err
	}
	if !(most >= 0) {
		return nil, fmt.Errorf("unlearn: Ascend: most = %v, want ≥ 0", most)
	}
	if f == ReverseKL && math.IsInf(most, 1) {
		most = reverseMax
	}
	d := u.dual(f, b)
	lambda := append([]float64(nil), u.scaled(f, start, true)...)
	batch := dual.Batch{States: len(u.q), Beta: 1, Mean: make([]float64, m), Cov: make([]float64, m*m), Max: most}
	path := make([]float64, 0, n*m)
	for batch.Step = range n {
		if err := poll.Err(ctx); err != nil {
			return path, err
		}
		if v := d(lambda, batch.Mean, batch.Cov); !check.Finite(v) {
			return path, fmt.Errorf("unlearn: Ascend: step %d: %v has no distribution at λ = %v", batch.Step, f, lambda)
		}
		if err := updater.Update(lambda, &batch); err != nil {
			return path, err
		}
		path = append(path, u.scaled(f, lambda, false)...)
	}
	return path, nil
}

// reverseMax keeps one multiplier of a product of experts from s = 1, where its
// distribution freezes.
const reverseMax = 0.99
