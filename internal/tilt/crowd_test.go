package tilt_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// crowd is the list of all states of twelve bits with random f0 and so many
// linear bounds aᵀ(x − c) + slack ≤ 0, of which twelve are independent at most.
// With c inside the cube and slack < 0 they can be met; contrary adds −a₀ᵀ(x − c)
// + margin to the first.
func crowd(seed uint64, bounds int, slack, margin float64) *tilt.List {
	const n = 12
	r := rand.New(rand.NewPCG(seed, uint64(bounds)))
	a := make([]float64, bounds*n)
	for i := range a {
		a[i] = r.NormFloat64()
	}
	l := tilt.New(1, bounds, nil)
	g := make([]float64, bounds)
	for k := range 1 << n {
		for j := range g {
			g[j] = slack
			sign := 1.0
			if margin > 0 && j == 1 {
				sign, g[j] = -1, margin-slack
			}
			for i := range n {
				row := j
				if sign < 0 {
					row = 0
				}
				g[j] += sign * a[row*n+i] * (float64(k>>i&1) - 0.3)
			}
		}
		l.Append(2*r.NormFloat64(), g)
	}
	return l
}

// 120 bounds on 4096 states take at most 60 evaluations, to rounding, and so does
// the proof that bounds contradict each other.
func TestManyBounds(t *testing.T) {
	exact.SkipUnderRace(t)
	seeds := uint64(1)
	if exact.Long() {
		seeds = 4
	}
	for seed := range seeds {
		for _, bounds := range []int{1, 12, 40, 60, 120} {
			l := crowd(seed, bounds, -0.02, 0)
			o, err := l.Maximize(context.Background(), make([]float64, bounds))
			require.NoError(t, err)
			require.Equal(t, tilt.Attained, o.Outcome)
			count := l.Evaluations()
			require.LessOrEqual(t, count, 60, "%d bounds", bounds)
			grad := make([]float64, bounds)
			l.Value(o.Lambda, grad, make([]float64, bounds*bounds), make([]float64, bounds))
			require.LessOrEqual(t, concave.Projected(o.Lambda, grad, nil), 1e-11)
			t.Logf("seed %d, %d bounds: %d evaluations", seed, bounds, count)
		}
		for _, margin := range []float64{1, 0.1, 1e-2, 1e-4} {
			l := crowd(seed, 120, -0.02, margin)
			o, err := l.Maximize(context.Background(), make([]float64, 120))
			require.NoError(t, err)
			require.Equal(t, tilt.Infeasible, o.Outcome)
			t.Logf("seed %d, margin %g: %d evaluations", seed, margin, l.Evaluations())
			require.LessOrEqual(t, l.Evaluations(), 60, "margin %v", margin)
			require.Positive(t, o.Margin, "proven at margin %g", margin)
		}
	}
}

func BenchmarkMaximize(b *testing.B) {
	for _, bounds := range []int{60, 120} {
		b.Run(fmt.Sprintf("states=4096/bounds=%d", bounds), func(b *testing.B) {
			l := crowd(1, bounds, -0.02, 0)
			for b.Loop() {
				_, err := l.Maximize(context.Background(), make([]float64, bounds))
				require.NoError(b, err)
			}
		})
	}
}
