package dual

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// AdaGrad is ascent whose steps shrink with the gradients met (Duchi, Hazan and
// Singer 2011),
//
//	λ_j ← clip(λ_j + Rate·(β/sd_j)·ḡ_j/√Σ ḡ_j², 0, max),
//
// the sum over all steps so far, sd_j² the mean variance of g_j over earlier
// batches. It is invariant to the units of g, and O(n) in time and memory for n
// multipliers: the default from 2000 on, where the covariance of [Auto] is too
// large.
type AdaGrad struct {
	Rate float64 // 0 means 1
}

// Bind implements [Rule]. It returns an error if the rate is out of range.
func (a AdaGrad) Bind(_ context.Context, n int) (Updater, error) {
	if err := checkCount("AdaGrad", n); err != nil {
		return nil, err
	}
	if a.Rate == 0 {
		a.Rate = 1
	}
	if !(a.Rate > 0) || !check.Finite(a.Rate) {
		return nil, fmt.Errorf("dual: AdaGrad: Rate = %v, want a finite number ≥ 0", a.Rate)
	}
	return &adagrad{gains: newGains("AdaGrad", nil, n), rate: a.Rate, squares: make([]float64, n)}, nil
}

type adagrad struct {
	gains
	rate    float64
	squares []float64 // Σ ḡ²
}

func (a *adagrad) Update(lambda []float64, b *Batch) error {
	v, err := a.variances(b)
	if err != nil {
		return err
	}
	for j, g := range b.Mean {
		a.squares[j] += float64(g * g)
		if a.squares[j] > 0 && v[j] > 0 {
			eta := a.rate * b.Beta / math.Sqrt(v[j]) / math.Sqrt(a.squares[j])
			lambda[j] = b.clip(j, lambda[j]+float64(eta*g))
		}
	}
	return nil
}

func (a *adagrad) fields(f *wire.Fields) {
	f.Float64s(a.squares)
	a.gains.fields(f)
}

func (a *adagrad) AppendBinary(data []byte) ([]byte, error) { return wire.AppendFields(data, a.fields) }

func (a *adagrad) UnmarshalBinary(data []byte) error { return wire.ReadFields(data, a.fields) }
