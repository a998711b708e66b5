package proximal_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// prices returns, for windows of six channels of which four move together as the
// prices of a stock do, the product with the covariance of a clean window given
// a noisy one, P = (1−ᾱ)·C·(ᾱC + (1−ᾱ)I)⁻¹ with ᾱ = 1 − t, for t in times.
func prices(length int, times []float64) func(dst, v []float64, t float64) {
	const channels = 6
	n := length * channels
	c := mat.NewSymDense(n, nil)
	for i := range n {
		for k := i; k < n; k++ {
			a, b := i%channels, k%channels
			x := math.Pow(0.95, math.Abs(float64(i/channels-k/channels)))
			if a != b {
				x *= 0.3
				if a < 4 && b < 4 {
					x *= 0.99 / 0.3
				}
			}
			if i == k {
				x += 0.04
			}
			c.SetSym(i, k, x)
		}
	}
	all := map[float64]*mat.Dense{}
	for _, t := range times {
		noisy := mat.DenseCopyOf(c)
		noisy.Scale(1-t, noisy)
		for i := range n {
			noisy.Set(i, i, noisy.At(i, i)+t)
		}
		p := &mat.Dense{}
		if err := p.Solve(noisy, c); err != nil {
			panic(err)
		}
		p.Scale(t, p)
		all[t] = p
	}
	return func(dst, v []float64, t float64) {
		mat.NewVecDense(n, dst).MulVec(all[t], mat.NewVecDense(n, v))
	}
}

// Windows of six channels in the metric of their covariance, at all times of a
// reverse diffusion, as cps-metric of examples/series projects them.
func TestMetricOfPrices(t *testing.T) {
	exact.SkipUnderRace(t)
	testMetricOfPrices(t, 24, 6)
	testMetricOfPrices(t, 48, 3) // and where tight rows have a Gram matrix
}

func testMetricOfPrices(t *testing.T, length, seeds int) {
	n := 6 * length
	times := []float64{1, 0.9, 0.5, 0.1, 0.01, 0.001}
	metric := prices(length, times)
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 11))
		set, inside := window(rng, length, true)
		solver, err := proximal.Projector{Set: set, Metric: metric}.Compile(t.Context(), n)
		require.NoError(t, err)
		z, v := make([]float64, n), make([]float64, n)
		for _, at := range times {
			solver.At(at)
			for i := range v {
				v[i] = inside[i] + 2*math.Sqrt(at)*rng.NormFloat64()
			}
			for _, state := range []string{"cold", "warm"} {
				if state == "cold" {
					solver.Reset()
				}
				c, err := solver.Solve(z, v)
				require.NoError(t, err, "seed %d, t = %v, %s", seed, at, state)
				require.LessOrEqual(t, c.Violation, 1e-9)
				require.LessOrEqual(t, c.Gap, 1e-9)
				require.Zero(t, c.Inner, "conjugate gradients, which take a thousand times as long")
				v[0] += 0.01
			}
		}
	}
}

// through returns m sparse rows that are all tight at one point, with opposite
// ones among them if opposite.
func through(rng *rand.Rand, n, m int, opposite bool) (set constraint.Slabs, v []float64) {
	inside := make([]float64, n)
	v = make([]float64, n)
	for i := range v {
		inside[i], v[i] = rng.NormFloat64(), 2*rng.NormFloat64()
	}
	for j := range m {
		var r constraint.Row
		for _, i := range rng.Perm(n)[:1+rng.IntN(min(n, 5))] {
			r.Index, r.Value = append(r.Index, int32(i)), append(r.Value, rng.NormFloat64())
		}
		if opposite && j%3 == 2 {
			last := set.A[j-1]
			r = constraint.Row{Index: last.Index}
			for _, x := range last.Value {
				r.Value = append(r.Value, -2*x)
			}
		}
		t := 0.0
		for k, i := range r.Index {
			t += r.Value[k] * inside[i]
		}
		set.A, set.Lower, set.Upper = append(set.A, r), append(set.Lower, math.Inf(-1)), append(set.Upper, t)
	}
	return set, v
}

// Rows through one point converge, with a finite gap, whether or not some of
// them are opposite to others.
func TestDegenerateSystems(t *testing.T) {
	for seed := range uint64(20) {
		for _, opposite := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/opposite=%v", seed, opposite), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 12))
				set, v := through(rng, 60, 150, opposite)
				solver, err := proximal.Projector{Set: set}.Compile(t.Context(), 60)
				require.NoError(t, err)
				z := make([]float64, 60)
				for range 3 {
					c, err := solver.Solve(z, v)
					require.NoError(t, err)
					assert.LessOrEqual(t, c.Violation, 1e-9)
					assert.LessOrEqual(t, c.Gap, 1e-6) // up to ‖y‖₁ = 1e6 times rounding
					for i := range v {
						v[i] += 0.05 * rng.NormFloat64()
					}
				}
			})
		}
	}
}

// Rows of one variable that ask for the same number, each rounded in its own way,
// do not exclude each other; those that are 1e-6 apart do.
func TestBoundsThatRoundApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 14))
	for k := range 300 {
		x := math.Pow(10, float64(k%13-6)) * rng.NormFloat64()
		a, b := rng.NormFloat64(), rng.NormFloat64()
		set := constraint.Slabs{A: []constraint.Row{bound(0, a), bound(0, b)}, Lower: []float64{a * x, b * x}, Upper: []float64{a * x, b * x}}
		solver, err := proximal.Projector{Set: set}.Compile(t.Context(), 1)
		require.NoError(t, err, "x = %v", x)
		for _, v := range []float64{-3, x, 5 * x} {
			z := make([]float64, 1)
			c, err := solver.Solve(z, []float64{v})
			require.NoError(t, err)
			require.InDelta(t, x, z[0], 1e-9+1e-12*math.Abs(x))
			require.LessOrEqual(t, c.Gap, 1e-8*max(1, x*x))
		}
		far := b*x + 1e-5*math.Abs(b)*max(1, math.Abs(x))
		set.Lower[1], set.Upper[1] = far, far
		_, err = proximal.Projector{Set: set}.Compile(t.Context(), 1)
		require.ErrorIs(t, err, constraint.ErrInfeasible)
	}
}

// A contradiction names rows that exclude each other, and no more than needed:
// without any one of them the others hold somewhere.
func TestContradictionsAreIrreducible(t *testing.T) {
	exact.SkipUnderRace(t)
	for seed := range uint64(6) {
		for _, n := range []int{40, 250} {
			if n > 40 && seed > 0 {
				break
			}
			rng := rand.New(rand.NewPCG(seed, 13))
			set, _ := system{n: n, m: 2 * n}.random(rng)
			// Rows 3, 4 and 5 bound entries whose sum row 6 wants larger.
			sum := constraint.Row{}
			for k := range 3 {
				set.A[3+k], set.Lower[3+k], set.Upper[3+k] = bound(7+2*k, 2), math.Inf(-1), 2*10
				sum.Index, sum.Value = append(sum.Index, int32(7+2*k)), append(sum.Value, 1)
			}
			set.A[6], set.Lower[6], set.Upper[6] = sum, 31, math.Inf(1)
			_, err := proximal.Projector{Set: set}.Compile(t.Context(), n)
			var proof *proximal.ContradictionError
			require.True(t, errors.As(err, &proof), "%v", err)
			require.NotEmpty(t, proof.Rows)
			pick := func(without int) constraint.Slabs {
				var s constraint.Slabs
				for _, j := range proof.Rows {
					if j != without {
						s.A, s.Lower, s.Upper = append(s.A, set.A[j]), append(s.Lower, set.Lower[j]), append(s.Upper, set.Upper[j])
					}
				}
				return s
			}
			_, err = proximal.Projector{Set: pick(-1)}.Compile(t.Context(), n)
			assert.ErrorIs(t, err, constraint.ErrInfeasible)
			for _, j := range proof.Rows {
				_, err = proximal.Projector{Set: pick(j)}.Compile(t.Context(), n)
				assert.NoError(t, err, "without row %d of %v", j, proof.Rows)
			}
			assert.Positive(t, proof.Slack)
			assert.LessOrEqual(t, proof.Slope, 1e-9*proof.Slack)
		}
	}
}

// A proof of a contradiction is valid for points of any size that matters, even if the weights of
// its rows are hard to compute: here one row contradicts a weighted sum of others. On both systems
// the slope was over 1e-5 of the slack.
func TestProofsAreTight(t *testing.T) {
	exact.SkipUnderRace(t)
	const n = 300
	for _, seed := range []uint64{18, 19} {
		rng := rand.New(rand.NewPCG(seed, 77))
		set, _ := system{n: n, m: 2 * n}.random(rng)
		sum, most := make([]float64, n), 0.0
		for range 2 + rng.IntN(60) {
			j := rng.IntN(len(set.A))
			w := rng.NormFloat64()
			switch {
			case math.IsInf(set.Upper[j], 1):
				w = -math.Abs(w)
			case math.IsInf(set.Lower[j], -1):
				w = math.Abs(w)
			}
			for k, i := range set.A[j].Index {
				sum[i] += w * set.A[j].Value[k]
			}
			if w > 0 {
				most += w * set.Upper[j]
			} else {
				most += w * set.Lower[j]
			}
		}
		var last constraint.Row
		for i, x := range sum {
			if x != 0 {
				last.Index, last.Value = append(last.Index, int32(i)), append(last.Value, x)
			}
		}
		set.A, set.Lower, set.Upper = append(set.A, last), append(set.Lower, most+math.Pow(10, -4*rng.Float64())), append(set.Upper, math.Inf(1))
		_, err := proximal.Projector{Set: set}.Compile(t.Context(), n)
		var proof *proximal.ContradictionError
		require.True(t, errors.As(err, &proof), "seed %d: %v", seed, err)
		clear(sum)
		slack := 0.0
		for k, j := range proof.Rows {
			w := proof.Multiplier[k]
			for e, i := range set.A[j].Index {
				sum[i] += w * set.A[j].Value[e]
			}
			if w > 0 {
				slack -= w * set.Upper[j]
			} else {
				slack -= w * set.Lower[j]
			}
		}
		assert.Greater(t, slack, 0.0, "seed %d", seed)
		assert.LessOrEqual(t, floats.Norm(sum, 2), 1e-10*slack, "seed %d", seed)
	}
}
