package dual_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

// loop returns a loop over 64 Gibbs chains on the ring.
func loop(t testing.TB, lag *dual.Lagrangian, seed uint64, workers int, cfg dual.Config) *dual.Inference[int32] {
	t.Helper()
	chains := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: seed, Warmup: -1, Workers: workers}))
	return exact.Must(dual.NewInference(context.Background(), lag, chains, cfg))
}

// distance returns the mean over seeds of ‖λ̄ − λ*‖² after T steps on the ring
// at β, and its standard error.
func distance(t *testing.T, beta float64, T, seeds int, cfg dual.Config) (mean, se float64) {
	t.Helper()
	star := exact.Must(dual.Solve(ctx, ring(t, beta))).Lambda
	var squares float64
	for seed := range seeds {
		inf := loop(t, ring(t, beta), uint64(seed), 0, cfg)
		require.NoError(t, inf.Run(ctx, T))
		d := 0.0
		for j, v := range inf.Average() {
			d += (v - star[j]) * (v - star[j])
		}
		mean += d
		squares += d * d
	}
	n := float64(seeds)
	mean /= n
	return mean, math.Sqrt((squares/n - mean*mean) / (n - 1))
}

// within fails unless a mean of squared errors agrees with a figure known with
// the error se: 4.9 standard errors are 1e-6 two-sided.
func within(t *testing.T, want, wantSE, got, se float64) {
	t.Helper()
	require.InDelta(t, want, got, 4.9*math.Hypot(wantSE, se), "± %v", se)
}

// course returns all that a loop remembers of its way.
func course(inf *dual.Inference[int32]) []float64 {
	c := inf.Certificate()
	return slices.Concat(inf.Lambda(), c.Lambda, c.Violation, c.ViolationSE)
}

func TestWorkersAndResume(t *testing.T) {
	for _, rule := range []dual.Rule{dual.Auto{}, dual.PI{Smooth: 0.5}, dual.Ascent{}, dual.AdaGrad{}, dual.Extragradient{}} {
		cfg := dual.Config{Rule: rule, Inner: 2}
		whole := loop(t, ring(t, 1), 5, 1, cfg)
		require.NoError(t, whole.Run(ctx, 60))
		many := loop(t, ring(t, 1), 5, 7, cfg)
		require.NoError(t, many.Run(ctx, 60))
		require.Equal(t, course(whole), course(many))

		half := loop(t, ring(t, 1), 5, 2, cfg)
		require.NoError(t, half.Run(ctx, 30))
		var b bytes.Buffer
		require.NoError(t, half.Save(&b))
		resumed := loop(t, ring(t, 1), 5, 2, cfg)
		require.NoError(t, resumed.Load(context.Background(), &b))
		require.NoError(t, resumed.Run(ctx, 30))
		require.Equal(t, course(whole), course(resumed))
	}
}

// A certificate is of other multipliers than the last step's, and a checkpoint made
// after it is whole.
func TestCertifiedLoopsResume(t *testing.T) {
	cfg := dual.Config{Inner: 2}
	certified := func() *dual.Inference[int32] {
		inf := loop(t, ring(t, 1), 5, 2, cfg)
		require.NoError(t, inf.Run(ctx, 20))
		exact.Must(inf.Certify(ctx, nil, 3, 10))
		return inf
	}
	whole, saved := certified(), certified()
	var b bytes.Buffer
	require.NoError(t, saved.Save(&b))
	resumed := loop(t, ring(t, 1), 5, 2, cfg)
	require.NoError(t, resumed.Load(context.Background(), &b))
	for _, inf := range []*dual.Inference[int32]{whole, saved, resumed} {
		require.NoError(t, inf.Run(ctx, 20))
	}
	require.Equal(t, course(whole), course(resumed))
	require.Equal(t, course(whole), course(saved))
}

// interrupted is a primal whose context ends in the middle of a step.
type interrupted struct {
	*sampler.Chains
	after  int
	cancel func()
}

func (p *interrupted) Run(ctx context.Context, n int) error {
	for range n {
		if p.after--; p.after == 0 {
			p.cancel()
		}
		if err := p.Chains.Run(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

func TestInterrupted(t *testing.T) {
	cfg := dual.Config{Inner: 5}
	whole := loop(t, ring(t, 1), 9, 1, cfg)
	require.NoError(t, whole.Run(ctx, 20))

	build := func(lag *dual.Lagrangian) (*dual.Inference[int32], *interrupted, context.Context) {
		stop, cancel := context.WithCancel(ctx)
		p := &interrupted{exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: 9, Warmup: -1})), 38, cancel}
		return exact.Must(dual.NewInference(context.Background(), lag, p, cfg)), p, stop
	}
	inf, p, stop := build(ring(t, 1))
	require.ErrorIs(t, inf.Run(stop, 20), context.Canceled)
	require.Equal(t, 7, inf.Len())
	require.Equal(t, 37, p.Len(), "draws, two of them of an unfinished step")
	_, err := inf.Certify(ctx, nil, 0, 1)
	require.ErrorContains(t, err, "interrupted")

	var b bytes.Buffer
	require.NoError(t, inf.Save(&b))
	require.NoError(t, inf.Run(ctx, 13))
	require.Equal(t, course(whole), course(inf))

	other, _, _ := build(ring(t, 1))
	require.NoError(t, other.Load(context.Background(), &b))
	require.NoError(t, other.Run(ctx, 13))
	require.Equal(t, course(whole), course(other))
}

func TestLoadErrors(t *testing.T) {
	inf := loop(t, ring(t, 1), 1, 1, dual.Config{})
	require.NoError(t, inf.Run(ctx, 3))
	var b bytes.Buffer
	require.NoError(t, inf.Save(&b))
	good := b.Bytes()
	for _, size := range []int{0, 10, 30, 200, len(good) / 2, len(good) - 1} {
		require.Error(t, loop(t, ring(t, 1), 1, 1, dual.Config{}).Load(context.Background(), bytes.NewReader(good[:size])))
	}
	for _, at := range []int{0, 20, 50, 130} {
		bad := bytes.Clone(good)
		bad[at] ^= 64
		require.Error(t, loop(t, ring(t, 1), 1, 1, dual.Config{}).Load(context.Background(), bytes.NewReader(bad)))
	}
	require.Error(t, loop(t, ring(t, 1), 1, 1, dual.Config{Rule: dual.Ascent{}}).Load(context.Background(), bytes.NewReader(good)), "another rule")
	lag := ring(t, 1)
	few := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 2}))
	require.ErrorContains(t, exact.Must(dual.NewInference(context.Background(), lag, few, dual.Config{})).Load(context.Background(), bytes.NewReader(good)), "states is 64 in the checkpoint and 2 here")
}

// A checkpoint whose body is anything at all, with length and checksum right, is
// refused or gives an ascent that goes on.
func FuzzLoadInference(f *testing.F) {
	inf := loop(f, ring(f, 1), 1, 1, dual.Config{})
	require.NoError(f, inf.Run(ctx, 2))
	var b bytes.Buffer
	require.NoError(f, inf.Save(&b))
	for _, edits := range exact.MangleSeeds() {
		f.Add(edits)
	}
	f.Fuzz(func(t *testing.T, edits []byte) {
		inf := loop(t, ring(t, 1), 1, 1, dual.Config{})
		if inf.Load(context.Background(), bytes.NewReader(exact.Mangle(b.Bytes(), edits))) == nil {
			_ = inf.Run(ctx, 1)
		}
	})
}

func FuzzLoad(f *testing.F) {
	inf := loop(f, ring(f, 1), 1, 1, dual.Config{})
	require.NoError(f, inf.Run(ctx, 2))
	var b bytes.Buffer
	require.NoError(f, inf.Save(&b))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = loop(t, ring(t, 1), 1, 1, dual.Config{}).Load(context.Background(), bytes.NewReader(data))
	})
}

func TestDiverges(t *testing.T) {
	exact.SkipUnderRace(t)
	base := exact.Must(model.NewIsing(model.Lattice{4}, 0.2, 0))
	up := constraint.Count{Levels: []int32{1}, Min: 3, Max: constraint.Unbounded}
	few := constraint.Count{Levels: []int32{1}, Max: 2}
	run := func(set []constraint.Set, cfg dual.Config) (*dual.Inference[int32], *dual.DivergedError) {
		inf := loop(t, exact.Must(dual.NewLagrangian(base, set...)), 1, 1, cfg)
		err := inf.Run(ctx, 20000)
		var diverged *dual.DivergedError
		require.ErrorAs(t, err, &diverged)
		return inf, diverged
	}
	for _, set := range [][]constraint.Set{{up, few}, {opaque{up}, opaque{few}}} {
		inf, diverged := run(set, dual.Config{Rule: dual.Ascent{Step: dual.Constant(0.5)}})
		require.True(t, diverged.Proven)
		require.ErrorIs(t, diverged, constraint.ErrInfeasible)
		require.Positive(t, diverged.Margin)
		require.GreaterOrEqual(t, inf.Len(), 64)
		require.Contains(t, diverged.Error(), "no distribution meets")
		// What the certificate says is true of every state.
		require.LessOrEqual(t, diverged.Margin, 0.5+1e-9)
	}
	// Too many states to enumerate: the run itself is the evidence.
	base = exact.Must(model.NewIsing(model.Lattice{30}, 0.2, 0))
	inf, diverged := run([]constraint.Set{opaque{up}, opaque{few}}, dual.Config{Rule: dual.Ascent{Step: dual.Constant(0.5)}, Diverge: 50})
	require.False(t, diverged.Proven)
	require.NotErrorIs(t, diverged, constraint.ErrInfeasible)
	require.Contains(t, diverged.Error(), "every sample of the last")
	require.Greater(t, inf.Average()[0], 1.0)
	require.NotEmpty(t, inf.Certificate().String(), "state is kept")

	// A problem that starts far from feasible is not mistaken for one.
	n := 30
	down := exact.Must(model.NewIsing(model.Lattice{n}, 0, -3))
	all := constraint.Count{Levels: []int32{1}, Min: 25, Max: constraint.Unbounded}
	inf = loop(t, exact.Must(dual.NewLagrangian(down, all)), 1, 1, dual.Config{Rule: dual.Ascent{Step: dual.Constant(0.001)}})
	require.NoError(t, inf.Run(ctx, 2000))
}

func TestCertificates(t *testing.T) {
	exact.SkipUnderRace(t)
	inf := loop(t, ring(t, 1), 3, 0, dual.Config{})
	require.Nil(t, inf.Certificate())
	require.NoError(t, inf.Solve(ctx, 5000, 0.02))
	c := inf.Certificate()
	require.True(t, c.Holds(0.02))
	require.LessOrEqual(t, c.Residual(), 0.02)
	require.Less(t, inf.Len(), 5000, "stops early")

	star := exact.Must(dual.Solve(ctx, ring(t, 1)))
	frozen, err := inf.Certify(ctx, star.Lambda, 20, 2000)
	require.NoError(t, err)
	require.True(t, frozen.Frozen && frozen.HasDual)
	require.InDelta(t, star.Dual, frozen.Dual, 1e-10)
	for j, v := range frozen.Violation {
		// At λ* the means are 0. 44 batches: a t quantile of 1e-6 is 5.7.
		require.LessOrEqual(t, math.Abs(v), 5.7*frozen.ViolationSE[j])
		require.Less(t, frozen.ViolationSE[j], 0.003)
	}
	gap, se := frozen.Gap()
	require.LessOrEqual(t, math.Abs(gap), 5.7*se)
	require.Contains(t, frozen.String(), "dual value -6.31265")
	// The broken twin: half the multipliers do not meet the constraints.
	half := []float64{star.Lambda[0] / 2, star.Lambda[1] / 2}
	frozen, err = inf.Certify(ctx, half, 20, 2000)
	require.NoError(t, err)
	require.Greater(t, frozen.Violation[0], 5.7*frozen.ViolationSE[0])
	require.False(t, frozen.Holds(0.02))

	var not *dual.NotConverged
	require.ErrorAs(t, inf.Solve(ctx, 10, 1e-9), &not)
	require.Contains(t, not.Error(), "row 0 has the mean")
	require.Error(t, inf.Solve(ctx, 10, 0))
	require.Error(t, loop(t, ring(t, 1), 1, 1, dual.Config{}).Solve(ctx, 0, 1))
	_, err = inf.Certify(ctx, nil, 0, 0)
	require.Error(t, err)
	_, err = inf.Certify(ctx, []float64{-1, 0}, 0, 1)
	require.Error(t, err)
}

func TestInferenceErrors(t *testing.T) {
	lag := ring(t, 1)
	chains := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{}))
	for _, cfg := range []dual.Config{
		{Inner: -1}, {Max: new(-1.0)}, {Diverge: math.NaN()}, {Start: []float64{1}},
		{Start: []float64{-1, 0}}, {Start: []float64{2, 0}, Max: new(1.0)}, {Rule: dual.AdaGrad{Rate: -1}},
	} {
		_, err := dual.NewInference(context.Background(), lag, chains, cfg)
		require.Error(t, err, "%+v", cfg)
	}
	_, err := dual.NewInference[int32](context.Background(), lag, nil, dual.Config{})
	require.Error(t, err)
	other := exact.Must(sampler.NewChains(context.Background(), energy.Func{Sites: 3, Levels: 2, E: func([]int32) float64 { return 0 }}, mcmc.Gibbs{}, sampler.Config{}))
	_, err = dual.NewInference(context.Background(), lag, other, dual.Config{})
	require.ErrorContains(t, err, "multiple of 10")
	inf := exact.Must(dual.NewInference(context.Background(), lag, chains, dual.Config{}))
	require.Error(t, inf.Run(ctx, -1))

	bad := exact.Must(dual.NewLagrangian(lag.Base(), opaque{dual.AtMost(energy.Func{Sites: 10, Levels: 2, E: func([]int32) float64 { return math.NaN() }}, 0)}))
	err = loop(t, bad, 1, 1, dual.Config{}).Run(ctx, 1)
	require.ErrorContains(t, err, "mean violation 0 = NaN")
}

// A warm start and a bound are respected, and the observer sees every step.
func TestConfig(t *testing.T) {
	var seen int
	inf := loop(t, ring(t, 1), 1, 1, dual.Config{Start: []float64{4.5, 3}, Max: new(5.0), Observe: func(step int, lambda, mean []float64) {
		require.Equal(t, seen, step)
		if step == 0 {
			require.Equal(t, []float64{4.5, 3}, lambda)
		}
		require.NotZero(t, mean[0])
		seen++
	}})
	require.Equal(t, []float64{4.5, 3}, inf.Average())
	var held *dual.NotConverged
	require.ErrorAs(t, inf.Run(ctx, 300), &held)
	require.ErrorContains(t, held, "row 1 has the mean -0.06")
	require.ErrorContains(t, held, "which is at its bound Max = 5")
	require.Equal(t, 300, held.Steps)
	require.Equal(t, 300, seen)
	require.Equal(t, 5.0, inf.Lambda()[1], "λ* = 5.77 is beyond the bound")
	require.Greater(t, inf.Certificate().Violation[1], 0.0)
}

// Chains on the base, or on another Lagrangian of the same problem, draw whatever
// the multipliers are, and are refused. Chains on the target, or on a model around
// it, are not.
func TestWrongModel(t *testing.T) {
	lag := ring(t, 1)
	around := energy.Func{Sites: 10, Levels: 2, E: func(x []int32) float64 {
		e := make([]float64, 1)
		lag.Energy(e, x)
		return e[0]
	}}
	for _, c := range []struct {
		name  string
		model energy.Model
		wrong bool
	}{{"base", lag.Base(), true}, {"another", ring(t, 1), true}, {"target", lag, false}, {"around", around, false}} {
		chains := exact.Must(sampler.NewChains(context.Background(), c.model, mcmc.Gibbs{}, sampler.Config{Seed: 1}))
		_, err := dual.NewInference(context.Background(), lag, chains, dual.Config{Start: []float64{1, 0}})
		if c.wrong {
			require.ErrorContains(t, err, "runs on another model", c.name)
		} else {
			require.NoError(t, err, c.name)
			require.Equal(t, []float64{1, 0}, lag.Lambda())
		}
	}
}

// picky rejects multipliers that sum to more than a limit.
type picky struct {
	*dual.Lagrangian
	most     float64
	rejected *int
}

func (p picky) SetLambda(lambda []float64) error {
	sum := 0.0
	for _, l := range lambda {
		sum += l
	}
	if sum > p.most {
		*p.rejected++
		return fmt.Errorf("%v sums to more than %v", lambda, p.most)
	}
	return p.Lagrangian.SetLambda(lambda)
}

// Steps to multipliers that the target rejects are halved. The loop finds λ* within the limit, and
// returns the error of the target if the limit excludes λ*.
func TestRejectedStepsAreHalved(t *testing.T) {
	lag := ring(t, 0.3)
	star := 0.0
	for _, l := range exact.Must(dual.Solve(ctx, lag)).Lambda {
		star += l
	}
	require.Greater(t, star, 0.1)
	for _, most := range []float64{1.005 * star, 0.5 * star} {
		rejected := 0
		chains := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Warmup: -1}))
		inf := exact.Must(dual.NewInference[int32](context.Background(), picky{lag, most, &rejected}, chains, dual.Config{}))
		err := inf.Run(ctx, 2000)
		require.Positive(t, rejected)
		sum := 0.0
		for _, l := range inf.Average() {
			sum += l
		}
		require.LessOrEqual(t, sum, most)
		if most < star {
			require.ErrorContains(t, err, "pressed against the limit of the target")
			continue
		}
		require.NoError(t, err)
		require.InEpsilon(t, star, sum, 0.05)
	}
	chains := exact.Must(sampler.NewChains(context.Background(), lag, mcmc.Gibbs{}, sampler.Config{Chains: 4, Warmup: -1}))
	_, err := dual.NewInference[int32](context.Background(), picky{lag, -1, new(int)}, chains, dual.Config{})
	require.ErrorContains(t, err, "sums to more than -1")
}
