package network_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// tiny is a training of a moment.
func tiny(workers int) network.Config {
	c := quick(1)
	c.Rounds, c.PerRound, c.Chains, c.Path, c.Train.Batch, c.Train.Workers = 4, 5, 9, 6, 13, workers
	return c
}

// estimated is a Monte Carlo teacher of clusters.
func estimated() pdi.Predictor {
	base := exact.Must(continuous.NewDiagonal([]float64{2, 1}, []float64{-1, 0, 1.5, 0.5}, []float64{0.4, 0.3}))
	lag := exact.Must(dual.NewRealLagrangian(base, 1, dual.AtMost(exact.Must(continuous.NewLinear([]float64{-1, 0}, 0.5)), 0)))
	return exact.Must(pdi.NewGibbsScore(lag, pdi.GibbsOptions{Candidates: 8, Center: []float64{0}, Spread: []float64{1.5}, Score: true}))
}

// bits is what a training holds.
func bits(t *testing.T, tr *network.Trainer) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, tr.Save(&b))
	return b.String()
}

// ends is a context that ends when it has been asked so many times.
type ends struct {
	context.Context
	left *int
}

func (e ends) Err() error {
	if *e.left--; *e.left < 0 {
		return context.Canceled
	}
	return nil
}

// However often it is interrupted, within a round too, saved and loaded, and by however
// many workers, a training comes to the same bits.
func TestTrainingsResume(t *testing.T) {
	whole := exact.Must(network.New(context.Background(), estimated(), tiny(1)))
	require.NoError(t, whole.Run(t.Context(), 4))
	require.Equal(t, 4, whole.Round())
	want := bits(t, whole)

	path := filepath.Join(t.TempDir(), "training")
	tr := exact.Must(network.New(context.Background(), estimated(), tiny(3)))
	for _, asked := range []int{0, 30, 340, 700, 20, 1 << 30} {
		left := asked
		err := tr.Run(ends{t.Context(), &left}, 4-tr.Round())
		if left < 0 {
			require.ErrorIs(t, err, context.Canceled)
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, tr.SaveFile(path))
		tr = exact.Must(network.New(context.Background(), estimated(), tiny(2)))
		require.NoError(t, tr.LoadFile(context.Background(), path))
	}
	require.Equal(t, 4, tr.Round())
	require.Equal(t, want, bits(t, tr))
	require.Equal(t, whole.Loss(), tr.Loss())

	other := tiny(1)
	other.Train.Seed++
	different := exact.Must(network.New(context.Background(), estimated(), other))
	require.NoError(t, different.Run(t.Context(), 4))
	require.NotEqual(t, whole.Loss(), different.Loss())
}

// Config.Checkpoint keeps the training in a file, round by round and where it ends.
func TestCheckpointFiles(t *testing.T) {
	c := tiny(1)
	c.Checkpoint.Path, c.Checkpoint.Every = filepath.Join(t.TempDir(), "training"), 1
	tr := exact.Must(network.New(context.Background(), estimated(), c))
	require.NoError(t, tr.Run(t.Context(), 3))
	for path, rounds := range map[string]int{c.Checkpoint.Path: 3, c.Checkpoint.Path + ".old": 2} {
		again := exact.Must(network.New(context.Background(), estimated(), tiny(1)))
		require.NoError(t, again.LoadFile(t.Context(), path))
		require.Equal(t, rounds, again.Round())
	}
}

// A checkpoint of another training, a short one and a damaged one are refused, and
// change nothing.
func TestDamagedCheckpoints(t *testing.T) {
	tr := exact.Must(network.New(context.Background(), estimated(), tiny(1)))
	require.NoError(t, tr.Run(t.Context(), 2))
	saved := bits(t, tr)
	for name, edit := range map[string]func(c *network.Config){
		"Config.Rounds is 4 in the checkpoint and 5 here": func(c *network.Config) { c.Rounds = 5 },
		"Config.Bounds[1]":       func(c *network.Config) { c.Bounds[1][0] = 7 },
		"Config.Spread":          func(c *network.Config) { c.Spread = []float64{2} },
		"Config.Seed":            func(c *network.Config) { c.Train.Seed = 9 },
		"Config.Inference.Start": func(c *network.Config) { c.Inference.Start = []float64{1} },
		"Config.Inference.Rule":  func(c *network.Config) { c.Inference.Rule = dual.Ascent{Step: dual.Constant(0.1)} },
		"Config.Inference.Max":   func(c *network.Config) { c.Inference.Max = new(9.0) },
		"Config.Inference.Again": func(c *network.Config) { c.Inference.Again = true },
	} {
		c := tiny(1)
		edit(&c)
		require.ErrorContains(t, exact.Must(network.New(context.Background(), estimated(), c)).Load(context.Background(), bytes.NewReader([]byte(saved))), name)
	}
	require.ErrorContains(t, exact.Must(network.New(context.Background(), clusters(1, 0), tiny(1))).Load(context.Background(), bytes.NewReader([]byte(saved))), "prediction of the teacher")
	fresh := exact.Must(network.New(context.Background(), estimated(), tiny(1)))
	before := bits(t, fresh)
	for at := 0; at < len(saved); at += 1 + len(saved)/50 {
		require.Error(t, fresh.Load(context.Background(), bytes.NewReader([]byte(saved[:at]))))
		damaged := []byte(saved)
		damaged[at] ^= 4
		require.Error(t, fresh.Load(context.Background(), bytes.NewReader(damaged)))
	}
	require.Equal(t, before, bits(t, fresh))
	require.Error(t, fresh.Load(context.Background(), nil))
	require.Error(t, fresh.Save(nil))
}

// Nothing is allocated by a prediction once its batch has been met, and what is predicted
// does not depend on workers or on other predictions.
func TestPredictionsAllocateNothing(t *testing.T) {
	exact.SkipUnderRace(t)
	tr := exact.Must(network.New(context.Background(), clusters(1, 0), tiny(1)))
	require.NoError(t, tr.Run(t.Context(), 1))
	p := exact.Must(tr.Predictor(nil))
	c := tiny(3)
	two := exact.Must(network.New(context.Background(), clusters(1, 0), c))
	require.NoError(t, two.Run(t.Context(), 1))
	many := exact.Must(two.Predictor(nil))
	const n = 150
	x, v, w, alpha, lambda := make([]float32, 2*n), make([]float32, 2*n), make([]float32, 2*n), make([]float64, n), []float64{0.3}
	r := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i] = float32(r.NormFloat64())
		alpha[i/2] = float64(i/2) / (n - 1) // both ends among them
	}
	require.NoError(t, p.Predict(v, x, alpha, lambda, nil))
	require.Zero(t, testing.AllocsPerRun(20, func() { _ = p.Predict(v, x, alpha, lambda, nil) }))
	require.NoError(t, many.Predict(w, x, alpha, lambda, nil))
	require.Equal(t, v, w)
	for s := range n {
		require.NoError(t, p.Predict(w[:2], x[2*s:2*s+2], alpha[s:s+1], lambda, nil))
		require.Equal(t, v[2*s:2*s+2], w[:2])
	}
	require.Equal(t, x[2*n-2:], v[2*n-2:], "without noise the state is the prediction")
}

// The multipliers that a network learns from are those of the inference in its settings:
// of a rule that hardly moves them, what they start at.
func TestNetworksLearnAlongTheInferenceOfTheirConfig(t *testing.T) {
	c := tiny(1)
	c.Inference = pdi.Config{Rule: dual.Ascent{Step: dual.Constant(1e-3)}, Start: []float64{40}}
	tr := exact.Must(network.New(context.Background(), clusters(1, 0), c))
	require.NoError(t, tr.Run(t.Context(), 2))
	require.NoError(t, exact.Must(tr.Predictor(nil)).Outside([]float64{40}))
	plain := exact.Must(network.New(context.Background(), clusters(1, 0), tiny(1)))
	require.NoError(t, plain.Run(t.Context(), 2))
	require.Error(t, exact.Must(plain.Predictor(nil)).Outside([]float64{40}))
}

// misbehaved is a teacher that says something else.
type misbehaved struct {
	pdi.Predictor
	say   float32
	g     float64
	err   error
	sites int
	beta  float64
}

func (m misbehaved) Predict(v, x []float32, alpha, lambda []float64, src []rand.Source) error {
	for i := range v {
		v[i] = m.say
	}
	return m.err
}

func (m misbehaved) Violation(g []float64, x []float32) {
	for i := range g {
		g[i] = m.g
	}
}

func (m misbehaved) Sites() int    { return m.sites }
func (m misbehaved) Beta() float64 { return m.beta }

func TestErrors(t *testing.T) {
	with := func(edit func(c *network.Config)) error {
		c := tiny(1)
		edit(&c)
		return exact.Error(network.New(context.Background(), clusters(1, 0), c))
	}
	teacher := func(m misbehaved) error {
		if m.Predictor = clusters(1, 0); m.sites == 0 {
			m.sites, m.beta = 2, 1
		}
		tr, err := network.New(context.Background(), m, tiny(1))
		if err != nil {
			return err
		}
		return tr.Run(t.Context(), 1)
	}
	nan := math.NaN()
	for want, err := range map[string]error{
		"network: New: teacher is nil":                              exact.Error(network.New(context.Background(), nil, tiny(1))),
		"network: New: teacher of 2 sites and 1 multipliers at":     teacher(misbehaved{sites: 2, beta: nan}),
		"network: Config.Rounds = 0, want 1 … 1048576":              with(func(c *network.Config) { c.Rounds = 0 }),
		"network: Config.Width = -1, want 1 … ":                     with(func(c *network.Config) { c.Width = -1 }),
		"neural: New: Width = 3, want a multiple of 2":              with(func(c *network.Config) { c.Width = 3 }),
		"network: Config.Path = 1, want 2 … ":                       with(func(c *network.Config) { c.Path = 1 }),
		"network: Config.Checkpoint.Every = -1, want ≥ 0":           with(func(c *network.Config) { c.Checkpoint.Every = -1 }),
		"network: Config.Train.Steps = 3, want Rounds × PerRound":   with(func(c *network.Config) { c.Train.Steps = 3 }),
		"network: Config.Train.Checkpoint is set":                   with(func(c *network.Config) { c.Train.Checkpoint.Path = "x" }),
		"network: len(Config.Bounds) = 0, want ≥ 1":                 with(func(c *network.Config) { c.Bounds = [][]float64{} }),
		"network: len(Config.Bounds[1]) = 2, want 1":                with(func(c *network.Config) { c.Bounds[1] = []float64{1, 2} }),
		"network: Config.Bounds[2][0] = NaN, want a finite number":  with(func(c *network.Config) { c.Bounds[2][0] = nan }),
		"network: len(Config.Center) = 3, want 1 or 2":              with(func(c *network.Config) { c.Center = make([]float64, 3) }),
		"network: Config.Spread[0] = 0, want a finite number > 0":   with(func(c *network.Config) { c.Spread = []float64{0} }),
		"train: Batch = -1":                                         with(func(c *network.Config) { c.Train.Batch = -1 }),
		"network: New: 2 × bounds × Chains × Path":                  with(func(c *network.Config) { c.Chains, c.Path = 1<<20, 1<<20 }),
		"network: round 0: teacher is away":                         teacher(misbehaved{err: fmt.Errorf("teacher is away")}),
		"network: round 0: the teacher predicts NaN for coordinate": teacher(misbehaved{say: float32(nan)}),
		"violation 0": teacher(misbehaved{g: nan}),
		"network: Config.Inference.Domain is set, want nil":       with(func(c *network.Config) { c.Inference.Domain = pdi.Box(0, 1) }),
		"network: Config.Inference.Fixed = true, want false":      with(func(c *network.Config) { c.Inference.Fixed = true }),
		"network: Config.Inference: pdi: Config.Start has 2":      with(func(c *network.Config) { c.Inference.Start = []float64{1, 2} }),
		"network: Config.Inference: pdi: Config.Rule: dual: Auto": with(func(c *network.Config) { c.Inference.Rule = dual.Auto{} }),
	} {
		require.ErrorContains(t, err, want)
	}
	tr := exact.Must(network.New(context.Background(), clusters(1, 0), tiny(1)))
	require.True(t, math.IsNaN(tr.Loss()))
	var none context.Context
	require.ErrorContains(t, tr.Run(none, 1), "ctx = nil")
	require.ErrorContains(t, tr.Run(t.Context(), -1), "network: Run: n = -1, want ≥ 0")
	require.ErrorContains(t, exact.Error(tr.Predictor(nil)), "no round is done")
	require.ErrorContains(t, exact.Error(tr.Predictor([]float64{1, 2})), "len(shift) = 2, want 1")
	require.NoError(t, tr.Run(t.Context(), 1))
	p := exact.Must(tr.Predictor([]float64{0.25}))
	v, x := make([]float32, 2), []float32{1, 2}
	require.ErrorContains(t, p.Predict(v, x, []float64{0.5}, []float64{-1}, nil), "lambda[0] = -1, want a finite number ≥ 0")
	require.ErrorContains(t, p.Predict(v, []float32{float32(nan), 0}, []float64{0.5}, []float64{1}, nil), "state 0: what the network says is not finite")
	require.Panics(t, func() { _ = p.Predict(v, x, []float64{1.5}, []float64{1}, nil) })
	require.Panics(t, func() { _ = p.Predict(v, x[:1], []float64{0.5}, []float64{1}, nil) })
	require.Panics(t, func() { _ = p.Predict(v, x, []float64{0.5}, nil, nil) })
	g := make([]float64, 1)
	p.Violation(g, x)
	require.Equal(t, -0.25, g[0]) // 0.5 + 0.25 − 1
	require.Equal(t, []any{2, 1, 1.0}, []any{p.Sites(), p.Len(), p.Beta()})
}

// However far off the teacher is, the network is asked for six standard deviations at
// most: its squared error is that of a network that says about 0.
func TestTargetsAreClipped(t *testing.T) {
	tr := exact.Must(network.New(context.Background(), misbehaved{Predictor: clusters(1, 0), say: 1e6, sites: 2, beta: 1}, tiny(1)))
	require.NoError(t, tr.Run(t.Context(), 1))
	require.Greater(t, tr.Loss(), 5.0*5.0)
	require.Less(t, tr.Loss(), 7.0*7.0)
}

// A domain holds for what the network is asked for: it never leaves it by much.
func TestDomain(t *testing.T) {
	if testing.Short() {
		t.Skip("trainings")
	}
	exact.SkipUnderRace(t)
	learn := func(domain func(x []float32)) (top float32) {
		c := quick(1)
		c.Rounds, c.Bounds, c.Domain = 4, nil, domain
		tr := exact.Must(network.New(context.Background(), clusters(1, 0), c))
		require.NoError(t, tr.Run(t.Context(), 4))
		p, v := exact.Must(tr.Predictor(nil)), make([]float32, 2)
		require.NoError(t, p.Predict(v, []float32{1.8, 0.4}, []float64{0.9}, []float64{0}, nil))
		return v[0]
	}
	require.Less(t, learn(pdi.Box(-0.5, 0.5)), float32(0.9))
	require.Greater(t, learn(nil), float32(1.3))
}
