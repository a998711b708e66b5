package dual_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// newton is the rule that Auto replaces, as a rule of a caller's own and the
// broken twin of the tests below: it takes the covariance of the present batch
// into C before it solves with C, forgets at a fixed rate, and clips.
type newton struct {
	step float64 // fixed step; 0 means min(1, 2/(1+t)^.6)
	keep float64
}

func (r newton) Bind(_ context.Context, n int) (dual.Updater, error) {
	u := &newtonUpdater{newton: r, c: make([]float64, n*n)}
	for j := range n {
		u.c[j*n+j] = 0.05
	}
	return u, nil
}

type newtonUpdater struct {
	newton
	c []float64
}

func (u *newtonUpdater) Update(lambda []float64, b *dual.Batch) error {
	now := make([]float64, len(u.c))
	b.Covariance(now)
	for i, v := range now {
		u.c[i] = u.keep*u.c[i] + (1-u.keep)*v
	}
	n := len(lambda)
	var free []int
	for j, g := range b.Mean {
		if lambda[j] > 0 || g > 0 {
			free = append(free, j)
		}
	}
	m := len(free)
	a, d := make([]float64, m*m), make([]float64, m)
	for p, i := range free {
		for q, j := range free {
			a[p*m+q] = u.c[i*n+j]
		}
		a[p*m+p] += 1e-4
		if u.step > 0 {
			a[p*m+p] += 1e-12 - 1e-4
		}
		d[p] = b.Mean[i]
	}
	if !concave.SolvePositive(a, d) {
		return fmt.Errorf("not positive definite")
	}
	s := u.step
	if s == 0 {
		s = min(1, 2/math.Pow(float64(1+b.Step), 0.6))
	}
	for p, j := range free {
		lambda[j] = min(max(lambda[j]+s*b.Beta*d[p], 0), b.Max)
	}
	return nil
}
func (u *newtonUpdater) AppendBinary(data []byte) ([]byte, error) { return data, nil }
func (u *newtonUpdater) UnmarshalBinary([]byte) error             { return nil }

// coin is a bit that is up with probability p at λ = 0, and the bound
// scale·(x − most) ≤ 0; it is its own primal, of independent draws.
type coin struct {
	most, scale float64
	lambda      float64
	x           []int32
	r           *rand.Rand
}

func (c *coin) Len() int                    { return 1 }
func (c *coin) Sites() int                  { return 1 }
func (c *coin) Beta() float64               { return 1 }
func (c *coin) SetLambda(l []float64) error { c.lambda = l[0]; return nil }
func (c *coin) States() []int32             { return c.x }
func (c *coin) SetStates(x []int32) error   { copy(c.x, x); return nil }
func (c *coin) Reset() error                { return nil }
func (c *coin) up(lambda float64) float64   { return 1 / (1 + math.Exp(lambda*c.scale)) }
func (c *coin) Violation(g []float64, x []int32) {
	for s, v := range x {
		g[s] = c.scale * (float64(v) - c.most)
	}
}
func (c *coin) Run(_ context.Context, n int) error {
	p := c.up(c.lambda)
	for s := range c.x {
		c.x[s] = 0
		if c.r.Float64() < p {
			c.x[s] = 1
		}
	}
	return nil
}

// excess returns by how much E[x] at λ̄ is above the limit after so many steps,
// relative to the limit: the mean over seeds and its standard error.
func excess(t *testing.T, rule dual.Rule, most float64, states, steps, seeds int) (mean, se float64) {
	squares := 0.0
	for seed := range seeds {
		c := &coin{most: most, scale: 1, x: make([]int32, states), r: rand.New(rand.NewPCG(uint64(seed), 7))}
		inf := exact.Must(dual.NewInference[int32](context.Background(), c, c, dual.Config{Rule: rule}))
		require.NoError(t, inf.Run(ctx, steps))
		d := c.up(inf.Average()[0])/most - 1
		mean += d / float64(seeds)
		squares += d * d / float64(seeds)
	}
	return mean, math.Sqrt((squares - mean*mean) / float64(seeds-1))
}

// Rare events are where bounds matter: the mean of E[x] at λ̄ is at the limit.
// With the covariance of the present batch mixed in first it is far above.
func TestRareEvents(t *testing.T) {
	exact.SkipUnderRace(t)
	steps, seeds, wide := 8000, 100, 1.0
	if testing.Short() {
		steps, seeds, wide = 2000, 40, 4
	}
	for _, c := range []struct {
		most    float64
		states  int
		allowed float64
	}{{0.05, 16, 0.005}, {0.01, 64, 0.005}, {0.01, 16, 0.02}} {
		mean, se := excess(t, nil, c.most, c.states, steps, seeds)
		twin, twinSE := excess(t, newton{keep: 0.9}, c.most, c.states, steps, 20)
		t.Logf("E[x] ≤ %v, %d states: %+.4f ± %.4f; broken twin %+.4f ± %.4f", c.most, c.states, mean, se, twin, twinSE)
		require.LessOrEqual(t, math.Abs(mean), wide*c.allowed)
		require.Greater(t, twin, wide*c.allowed+4.9*twinSE)
	}
}

// λ·s is the same for g × s, whatever s.
func TestUnits(t *testing.T) {
	run := func(rule dual.Rule, scale float64) float64 {
		c := &coin{most: 0.05, scale: scale, x: make([]int32, 64), r: rand.New(rand.NewPCG(1, 7))}
		inf := exact.Must(dual.NewInference[int32](context.Background(), c, c, dual.Config{Rule: rule, Diverge: math.Inf(1)}))
		require.NoError(t, inf.Run(ctx, 500))
		return inf.Average()[0] * scale
	}
	for _, rule := range []dual.Rule{dual.Auto{}, dual.Ascent{}, dual.PI{}, dual.Extragradient{}, dual.AdaGrad{}, dual.Decay{}} {
		want := run(rule, 1)
		require.Greater(t, want, 1.0)
		for _, scale := range []float64{1e-6, 1e-4, 1e-3, 1e3, 1e6} {
			require.InEpsilon(t, want, run(rule, scale), 5e-7, "%T g × %g", rule, scale)
		}
	}
	require.Less(t, run(newton{keep: 0.9}, 1e-4), 0.01, "the broken twin does not move")
}

// crowd returns twelve coupled spins with so many random linear bounds, of which
// at most twelve are independent, that spins which are up with probability .3
// would meet.
func crowd(t testing.TB, bounds int, scale float64) *dual.Lagrangian {
	const n = 12
	r := rand.New(rand.NewPCG(12, uint64(bounds)))
	var set []constraint.Set
	for range bounds {
		a, at := make([]float64, 2*n), 0.0
		for i := range n {
			a[2*i+1] = -scale * r.NormFloat64()
			at -= 0.3 * a[2*i+1]
		}
		set = append(set, dual.AtMost(exact.Must(model.NewIndependent(a, 2)), at+0.02*scale))
	}
	return exact.Must(dual.NewLagrangian(exact.Must(model.NewIsing(model.Lattice{n}, 0.1, 0)), set...))
}

// residual returns the largest violation and |slack| at λ, by enumeration.
func residual(t testing.TB, lag *dual.Lagrangian, lambda []float64) float64 {
	require.NoError(t, lag.SetLambda(lambda))
	sites, levels := lag.Shape()
	var x []int32
	for _, s := range exact.States(sites, levels) {
		x = append(x, s...)
	}
	e := make([]float64, len(x)/sites)
	lag.Energy(e, x)
	g := make([]float64, len(e)*lag.Len())
	lag.Violation(g, x)
	low, z := e[0], 0.0
	for _, v := range e {
		low = min(low, v)
	}
	mean := make([]float64, lag.Len())
	for s, v := range e {
		p := math.Exp(low - v)
		z += p
		for j := range mean {
			mean[j] += p * g[s*len(mean)+j]
		}
	}
	worst := 0.0
	for j, v := range mean {
		worst = max(worst, v/z, math.Abs(lambda[j]*v/z))
	}
	return worst
}

// Many bounds, most of them combinations of others.
func TestDependentBounds(t *testing.T) {
	exact.SkipRepeated(t)
	for _, c := range []struct {
		bounds, steps int
		allowed       float64
	}{{40, 500, 0.05}, {120, 500, 0.05}} {
		lag := crowd(t, c.bounds, 1)
		run := func(rule dual.Rule) float64 {
			inf := loop(t, lag, 1, 1, dual.Config{Rule: rule})
			if err := inf.Run(ctx, c.steps); err != nil {
				t.Logf("%d bounds: %v", c.bounds, err)
				return math.Inf(1)
			}
			return residual(t, lag, inf.Average())
		}
		auto, twin := run(nil), run(newton{keep: 0.9})
		t.Logf("%d bounds: residual %.4f; broken twin %.4g", c.bounds, auto, twin)
		require.LessOrEqual(t, auto, c.allowed)
		require.True(t, !(twin <= c.allowed) || !check.Finite(twin))
	}
}

// On the ring Auto is five times closer than ascent at the paper's step.
func TestAutoRing(t *testing.T) {
	exact.SkipRepeated(t)
	auto, se := distance(t, 1, 250, 40, dual.Config{})
	t.Logf("auto %.4g ± %.2g", auto, se)
	require.LessOrEqual(t, auto, 0.0049)
	cfg := ascent(250)
	cfg.Uniform = false
	plain, se := distance(t, 1, 250, 40, cfg)
	t.Logf("ascent, same mean %.4g ± %.2g", plain, se)
	require.Greater(t, plain, 5*auto)
	half, se := distance(t, 0.5, 250, 20, dual.Config{})
	t.Logf("auto at β = 0.5 %.4g ± %.2g", half, se)
	require.Less(t, half+4.9*se, 0.0049, "errors of λ are proportional to β")
}

// The rules' zero values solve the reference ring; 0.5 is half of what ascent at
// the paper's step leaves by then.
func TestZeroValuesOnRing(t *testing.T) {
	exact.SkipRepeated(t)
	for _, rule := range []dual.Rule{dual.Auto{}, dual.Ascent{}, dual.PI{}, dual.Decay{}, dual.Extragradient{}, dual.AdaGrad{}} {
		seeds := 3
		if exact.Long() {
			seeds = 10
		}
		d, se := distance(t, 1, 1000, seeds, dual.Config{Rule: rule})
		t.Logf("%T: %.4g ± %.2g", rule, d, se)
		require.LessOrEqual(t, d, 0.5, "%T", rule)
	}
}

// BenchmarkAuto is an update of many multipliers with batches of 64.
func BenchmarkAuto(b *testing.B) {
	for _, n := range []int{10, 100, 500} {
		b.Run(fmt.Sprintf("multipliers=%d", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			batch := &dual.Batch{States: 64, Beta: 1, Mean: make([]float64, n), Max: math.Inf(1)}
			g, lambda := make([]float64, 64*n), make([]float64, n)
			u := exact.Must(dual.Auto{}.Bind(ctx, n))
			for b.Loop() {
				b.StopTimer()
				for i := range g {
					g[i] = r.NormFloat64() - 0.1*lambda[i%n]
				}
				require.NoError(b, batch.Measure(g))
				b.StartTimer()
				require.NoError(b, u.Update(lambda, batch))
				batch.Step++
			}
		})
	}
}

// The bit with E[x] ≤ .2, λ* = log 4, and as many bounds as AdaGrad is the default
// for, without a setting.
func TestKnownByDefaults(t *testing.T) {
	c := &coin{most: 0.2, scale: 1, x: make([]int32, 64), r: rand.New(rand.NewPCG(3, 7))}
	inf := exact.Must(dual.NewInference[int32](context.Background(), c, c, dual.Config{}))
	require.NoError(t, inf.Run(ctx, 2000))
	// 128 000 draws at the variance .16 leave λ̄ a standard error of .007.
	require.InDelta(t, 1.386294361120, inf.Average()[0], 4.9*0.007)

	many := exact.Must(dual.NewInference[int32](context.Background(), &copies{coin: c, n: 2001}, c, dual.Config{}))
	require.NoError(t, many.Run(ctx, 2))
	by := exact.Must(dual.NewInference[int32](context.Background(), &copies{coin: c, n: 2001}, c, dual.Config{Rule: dual.AdaGrad{}}))
	var a, b bytes.Buffer
	require.NoError(t, many.Save(&a))
	require.NoError(t, by.Run(ctx, 2))
	require.NoError(t, by.Save(&b))
	require.Equal(t, b.Len(), a.Len(), "the state of AdaGrad")
}

// copies is a coin's bound many times over; the first multiplier counts.
type copies struct {
	*coin
	n int
}

func (c *copies) Len() int { return c.n }
func (c *copies) Violation(g []float64, x []int32) {
	for k := range g {
		g[k] = float64(x[k/c.n]) - c.most
	}
}
