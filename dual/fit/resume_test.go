package fit_test

import (
	"bytes"
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// A checkpoint in the middle of a fit, in the middle of a step even, goes on to the
// same bits.
func TestResume(t *testing.T) {
	for name, o := range map[string]fit.Objective{
		"persistent": nil, "buffer": fit.Persistent{Buffer: 64, Restart: 0.1, Draws: 3}, "contrastive": fit.Contrastive{Draws: 2},
		"cold": fit.Persistent{Cold: true, Buffer: 40}, "pseudo": fit.Pseudo{}, "exact": fit.Exact{},
	} {
		build := func() (*fit.Fit, *sampler.Chains) {
			p, data := ring(t, 100, 9)
			c := chains(t, p, 40, 2, mcmc.DMALA{StepSize: 0.4})
			f, err := fit.New(context.Background(), p, data, fit.Config{Objective: o, Chains: c, Batch: 30, Seed: 6, L1: 0.01})
			require.NoError(t, err)
			return f, c
		}
		whole, wholeChains := build()
		require.NoError(t, whole.Run(ctx, 50))
		first, _ := build()
		require.NoError(t, first.Run(ctx, 23))
		var b bytes.Buffer
		require.NoError(t, first.Save(&b))
		second, secondChains := build()
		require.NoError(t, second.Load(context.Background(), &b), name)
		assert.Zero(t, b.Len(), "it reads no more than its own")
		require.NoError(t, second.Run(ctx, 27))
		assert.Equal(t, whole.Params(), second.Params(), name)
		assert.Equal(t, whole.Average(), second.Average(), name)
		assert.Equal(t, whole.Report(), second.Report(), name)
		assert.Equal(t, wholeChains.States(), secondChains.States(), name)
	}
}

// stopping chains end their first Run after one draw.
type stopping struct {
	*sampler.Chains
	cancel context.CancelFunc
}

func (s *stopping) Run(ctx context.Context, n int) error {
	if s.cancel == nil {
		return s.Chains.Run(ctx, n)
	}
	if err := s.Chains.Run(ctx, 1); err != nil {
		return err
	}
	s.cancel()
	s.cancel = nil
	return context.Canceled
}

func TestInterruptedStepsGoOn(t *testing.T) {
	build := func() (*fit.Fit, *stopping) {
		p, data := ring(t, 100, 9)
		c := &stopping{Chains: chains(t, p, 40, 2, mcmc.Gibbs{})}
		f, err := fit.New(context.Background(), p, data, fit.Config{Objective: fit.Persistent{Draws: 4}, Chains: c})
		require.NoError(t, err)
		return f, c
	}
	whole, _ := build()
	require.NoError(t, whole.Run(ctx, 10))
	cut, c := build()
	require.NoError(t, cut.Run(ctx, 5))
	stop, cancel := context.WithCancel(ctx)
	c.cancel = cancel
	require.ErrorIs(t, cut.Run(stop, 1), context.Canceled)
	require.ErrorIs(t, cut.Run(stop, 1), context.Canceled)
	assert.Equal(t, 5, cut.Len())
	var b bytes.Buffer
	require.NoError(t, cut.Save(&b))
	next, _ := build()
	require.NoError(t, next.Load(context.Background(), &b))
	require.NoError(t, next.Run(ctx, 5))
	assert.Equal(t, whole.Params(), next.Params())
}

// What differs is named, damage is refused, and then nothing has changed.
func TestLoadRefuses(t *testing.T) {
	build := func(change func(*fit.Config), rows int) *fit.Fit {
		p, data := ring(t, rows, 9)
		cfg := fit.Config{Chains: chains(t, p, 8, 2, mcmc.Gibbs{}), Batch: 20}
		change(&cfg)
		f, err := fit.New(context.Background(), p, data, cfg)
		require.NoError(t, err)
		return f
	}
	same := func(*fit.Config) {}
	f := build(same, 30)
	require.NoError(t, f.Run(ctx, 5))
	var b bytes.Buffer
	require.NoError(t, f.Save(&b))
	for want, other := range map[string]*fit.Fit{
		"rows of data is 30 in the checkpoint and 31 here": build(same, 31),
		"Config.Batch is 20":  build(func(c *fit.Config) { c.Batch = 10 }, 30),
		"Config.L1 is 0":      build(func(c *fit.Config) { c.L1 = 1 }, 30),
		"Config.Objective is": build(func(c *fit.Config) { c.Objective = fit.Pseudo{} }, 30),
		"Config.Rate":         build(func(c *fit.Config) { c.Rate = dual.Constant(1) }, 30),
	} {
		before := other.Params()
		require.ErrorContains(t, other.Load(context.Background(), bytes.NewReader(b.Bytes())), want)
		assert.Equal(t, before, other.Params())
	}
	for _, cut := range []int{0, 5, 300, b.Len() / 2, b.Len() - 1} {
		other := build(same, 30)
		before := other.Params()
		require.Error(t, other.Load(context.Background(), bytes.NewReader(b.Bytes()[:cut])), "cut at %d", cut)
		assert.Equal(t, before, other.Params())
		require.NoError(t, other.Run(ctx, 1))
	}
	require.EqualError(t, f.Save(nil), "fit: Save: w = nil")
	require.EqualError(t, f.Load(context.Background(), nil), "fit: Load: r = nil")
	path := t.TempDir() + "/fit"
	require.NoError(t, f.SaveFile(path))
	other := build(same, 30)
	require.NoError(t, other.LoadFile(context.Background(), path))
	assert.Equal(t, f.Params(), other.Params())
	require.Error(t, other.LoadFile(context.Background(), path+"x"))
	require.Error(t, f.SaveFile(path+"/no/such"))
}

// Models of the same shape and data are distinguished, also where a row of data says
// nothing and no chains do.
func TestLoadTellsModelsApart(t *testing.T) {
	build := func(edges []model.Edge, scale float64) *fit.Fit {
		m := exact.Must(model.NewQuadratic(4, edges, model.Polynomial{}))
		p := exact.Must(m.Learn())
		q, ok := energy.As[energy.Parametric](exact.Must(energy.Scale(p, scale)))
		require.True(t, ok)
		f, err := fit.New(context.Background(), q, []int32{0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1}, fit.Config{Objective: fit.Pseudo{}, L2: 1})
		require.NoError(t, err)
		return f
	}
	chain := []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 1}, {I: 2, J: 3, W: 1}}
	star := []model.Edge{{I: 0, J: 1, W: 1}, {I: 0, J: 2, W: 1}, {I: 0, J: 3, W: 1}}
	f := build(chain, 1)
	require.NoError(t, f.Run(ctx, 3))
	var b bytes.Buffer
	require.NoError(t, f.Save(&b))
	for _, other := range []*fit.Fit{build(star, 1), build(chain, 2)} {
		before := other.Params()
		require.ErrorContains(t, other.Load(context.Background(), bytes.NewReader(b.Bytes())), "of test states")
		assert.Equal(t, before, other.Params())
	}
	same := build(chain, 1)
	require.NoError(t, same.Load(context.Background(), &b))
	assert.Equal(t, f.Params(), same.Params())
}

// bent is a model that is not linear in its parameters.
type bent struct {
	energy.Parametric
	power float64
}

func (m bent) Energy(e []float64, x []int32) {
	m.Parametric.Energy(e, x)
	for s, v := range e {
		e[s] = math.Copysign(math.Pow(math.Abs(v), m.power), v)
	}
}

// Models that are not linear in their parameters are distinguished by their energies.
func TestLoadTellsNonlinearModelsApart(t *testing.T) {
	build := func(power float64) *fit.Fit {
		p, data := ring(t, 30, 9)
		require.NoError(t, p.SetParams([]float64{1, 2, 3, 4, 5, 6, 7, 8}))
		f, err := fit.New(context.Background(), struct{ energy.Parametric }{bent{p, power}}, data, fit.Config{Objective: fit.Exact{}})
		require.NoError(t, err)
		return f
	}
	f := build(2)
	require.NoError(t, f.Run(ctx, 1))
	var b bytes.Buffer
	require.NoError(t, f.Save(&b))
	other := build(3)
	before := other.Params()
	require.ErrorContains(t, other.Load(context.Background(), bytes.NewReader(b.Bytes())), "energies of test states")
	assert.Equal(t, before, other.Params())
	require.NoError(t, build(2).Load(context.Background(), &b))
}

// A fit keeps itself in a file, every few steps and when its Run ends or is stopped.
func TestCheckpointFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fit")
	build := func(edit func(*fit.Config)) *fit.Fit {
		p, data := ring(t, 30, 9)
		cfg := fit.Config{Chains: chains(t, p, 8, 2, mcmc.Gibbs{}), Batch: 20}
		cfg.Checkpoint.Path, cfg.Checkpoint.Every = path, 3
		if edit != nil {
			edit(&cfg)
		}
		f, err := fit.New(context.Background(), p, data, cfg)
		require.NoError(t, err)
		return f
	}
	whole := build(func(c *fit.Config) { c.Checkpoint.Path = "" })
	require.NoError(t, whole.Run(ctx, 20))
	func() { // the observer ends it as a kill would
		defer func() { assert.NotNil(t, recover()) }()
		_ = build(func(c *fit.Config) {
			c.Observe = func(step int, _, _ []float64) {
				if step == 7 {
					panic("killed")
				}
			}
		}).Run(ctx, 20)
	}()
	at := func(path string) int {
		f := build(nil)
		require.NoError(t, f.LoadFile(context.Background(), path))
		return f.Len()
	}
	assert.Equal(t, 6, at(path))
	assert.Equal(t, 3, at(path+".old"))
	next := build(nil)
	require.NoError(t, next.LoadFile(context.Background(), path))
	stop, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, next.Run(stop, 20), context.Canceled)
	require.NoError(t, next.Run(ctx, 4))
	last := build(nil)
	require.NoError(t, last.LoadFile(context.Background(), path))
	require.NoError(t, last.Run(ctx, 10))
	assert.Equal(t, whole.Params(), last.Params())
	lost := build(func(c *fit.Config) { c.Checkpoint.Path = filepath.Join(path, "no", "folder") })
	require.ErrorContains(t, lost.Run(ctx, 20), "fit: Run: Config.Checkpoint: ")
	assert.Equal(t, 0, lost.Len())
	p, data := ring(t, 30, 9)
	var cfg fit.Config
	cfg.Checkpoint.Every = -1
	_, err := fit.New(context.Background(), p, data, cfg)
	assert.EqualError(t, err, "fit: Config.Checkpoint.Every = -1, want ≥ 0")
}
