package sampler_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// A draw that is more steps away than an int counts is waited for, too.
func TestThinBeyondAllBounds(t *testing.T) {
	for _, thin := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt - 5} {
		ctx, cancel := context.WithCancel(context.Background())
		cfg := sampler.Config{Chains: 2, Warmup: 10, Thin: thin, Progress: func(done, _ int) {
			if done > 20 {
				cancel()
			}
		}}
		c := exact.Must(sampler.NewChains(context.Background(), exact.NewQuadratic(3, 1), mcmc.Gibbs{}, cfg))
		require.ErrorIs(t, c.Run(ctx, 1), context.Canceled, "Thin = %d", thin)
		assert.Greater(t, c.Steps()[0], 20)
		cancel()
	}
}

// A number of draws beyond all bounds means: until the context ends.
func TestRunUntilCancelled(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt / 2} {
		for _, thin := range []int{1, 2, 1 << 30} {
			ctx, cancel := context.WithCancel(context.Background())
			total := 0
			cfg := sampler.Config{Chains: 2, Warmup: 3, Thin: thin, Progress: func(done, all int) {
				if total = all; done > 20 {
					cancel()
				}
			}}
			defer cancel()
			c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, cfg))
			require.NoError(t, c.Run(ctx, 0), "so that there are steps already")
			require.ErrorIs(t, c.Run(ctx, n), context.Canceled, "n = %d, Thin = %d", n, thin)
			assert.Greater(t, total, math.MaxInt/4)
			assert.Greater(t, c.Steps()[0], 20)
		}
	}
}

func TestTooManyChains(t *testing.T) {
	for _, n := range []int{math.MaxInt, math.MaxInt / 3, math.MaxInt / 30} {
		_, err := sampler.NewChains(context.Background(), exact.NewQuadratic(3, 1), mcmc.Gibbs{}, sampler.Config{Chains: n})
		assert.ErrorContains(t, err, "Config.Chains = ")
	}
}

var errUser = errors.New("the user's own")

// A panic in an energy or an observer reaches the caller of Run with its stack,
// whatever the number of workers, and the chains go on afterwards.
func TestPanicsReachTheCaller(t *testing.T) {
	for _, workers := range []int{1, 2, 5} {
		for _, where := range []string{"energy", "observer"} {
			var calls atomic.Int64
			trip := func(at string) {
				if at == where && calls.Add(1) == 5000 {
					panic(errUser)
				}
			}
			m := energy.Func{Sites: 4, Levels: 2, E: func(x []int32) float64 { trip("energy"); return float64(x[0] + x[1]*x[2]) }}
			draws := make([]int, 100)
			c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 100, Warmup: -1, Workers: workers,
				Observe: func(chain, draw int, _ []int32, _ *sampler.Info) {
					trip("observer")
					if assert.Equal(t, draws[chain], draw) {
						draws[chain]++
					}
				}}))
			func() {
				defer func() {
					err, ok := recover().(error)
					require.True(t, ok)
					assert.ErrorIs(t, err, errUser)
					assert.Contains(t, err.Error(), "TestPanicsReachTheCaller", "the stack")
				}()
				_ = c.Run(context.Background(), 200)
				assert.Fail(t, "no panic")
			}()
			if where == "observer" { // one draw of one chain was not seen
				continue
			}
			require.NoError(t, c.Run(context.Background(), 200-c.Len()))
			assert.Equal(t, 200, c.Len())
			assert.Equal(t, slices.Repeat([]int{200}, 100), draws)
			var b bytes.Buffer
			assert.NoError(t, c.Save(&b))
		}
	}
}

// A panic at the last draw of the last chain leaves no draw to be made.
func TestPanicAtTheLastDraw(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 5, Warmup: -1, Workers: 1, Observe: func(chain, draw int, _ []int32, _ *sampler.Info) {
		if chain == 4 && draw == 9 {
			panic(errUser)
		}
	}}))
	require.Panics(t, func() { _ = c.Run(context.Background(), 10) })
	require.Equal(t, 10, c.Len())
	require.NoError(t, c.Run(context.Background(), 2))
	require.Equal(t, 12, c.Len())
}

// So does one at whatever evaluation, the first among them, before any chain has moved.
func TestEveryPanicHasAStack(t *testing.T) {
	for _, workers := range []int{1, 3} {
		for _, draws := range []bool{false, true} {
			for calm := range int64(20) {
				var calls atomic.Int64
				on := false
				m := energy.Func{Sites: 3, Levels: 2, E: func([]int32) float64 {
					if on && calls.Add(1) == calm+1 {
						panic(errUser)
					}
					return 0
				}}
				c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Metropolis{}, sampler.Config{Chains: 4, Warmup: -1, Workers: workers}))
				func() {
					defer func() {
						err, ok := recover().(error)
						require.True(t, ok, "evaluation %d", calm)
						require.ErrorIs(t, err, errUser)
						require.Contains(t, err.Error(), "TestEveryPanicHasAStack", "the stack")
					}()
					on = true
					if draws {
						for range c.Draws(context.Background(), 100) {
						}
					}
					_ = c.Run(context.Background(), 100)
				}()
				require.NoError(t, c.Run(context.Background(), 3))
			}
		}
	}
}

func TestOneRunAtATime(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	var c *sampler.Chains
	seen := 0
	c = exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 1, Warmup: -1, Observe: func(int, int, []int32, *sampler.Info) {
		seen++
		for call, do := range map[string]func() error{
			"Run":       func() error { return c.Run(context.Background(), 1) },
			"Warm":      func() error { return c.Warm(context.Background(), 1) },
			"Reset":     func() error { return c.Reset() },
			"SetStates": func() error { return c.SetStates(make([]int32, 3)) },
			"Retarget":  func() error { return sampler.Retarget(context.Background(), c, m) },
			"Save":      func() error { return c.Save(new(bytes.Buffer)) },
			"Load":      func() error { return c.Load(context.Background(), new(bytes.Buffer)) },
		} {
			assert.ErrorContains(t, do(), call+": another call of this run is under way")
		}
	}}))
	require.NoError(t, c.Run(context.Background(), 3))
	require.NoError(t, c.Run(context.Background(), 3))
	assert.Equal(t, 6, seen)
}

// Reset names the level that the model does not have, and no Run begins.
func TestResetChecksStates(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	for _, bad := range []int32{-1, 2, math.MaxInt32} {
		c := runs.Run(t, m, mcmc.Gibbs{}, sampler.Config{Chains: 2}, 1)
		c.States()[4] = bad
		want := "level of site 1 of chain 1 = "
		assert.ErrorContains(t, c.Reset(), want)
		assert.ErrorContains(t, c.Err(), want)
		assert.ErrorContains(t, c.Run(context.Background(), 1), want)
		c.States()[4] = 1
		assert.NoError(t, c.Run(context.Background(), 1))
		assert.NoError(t, c.Reset())
	}
}

func TestNilArguments(t *testing.T) {
	m := exact.NewQuadratic(3, 1)
	var none *sampler.Chains
	for _, f := range []func() error{
		func() error {
			_, err := sampler.NewChains(context.Background(), (*energy.Func)(nil), mcmc.Gibbs{}, sampler.Config{})
			return err
		},
		func() error {
			_, err := sampler.NewChains(context.Background(), m, (*mcmc.DMALA)(nil), sampler.Config{})
			return err
		},
		func() error { _, err := langevin.New(context.Background(), nil, langevin.Config{}); return err },
		func() error {
			_, err := sampler.NewRunner[int32](context.Background(), nil, sampler.Config{}, nil, nil)
			return err
		},
		func() error { return sampler.Retarget(context.Background(), none, m) },
		func() error {
			//lint:ignore SA1012 no context is what is tested
			return exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{})).Run(nil, 1)
		},
		func() error {
			return exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{})).Save(nil)
		},
		func() error {
			return exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{})).Load(context.Background(), nil)
		},
		func() error {
			return exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{})).Save((*bytes.Buffer)(nil))
		},
	} {
		var err error
		require.NotPanics(t, func() { err = f() })
		assert.ErrorContains(t, err, "= nil")
	}
}

// slow kernels of so many sites count what they do.
type slow struct{ steps *atomic.Int64 }

func (s slow) Kernel(context.Context, energy.Model, int) (sampler.Kernel, error) {
	return &slowKernel{steps: s.steps}, nil
}

func (slow) Settings(func(string, any)) {}

type slowKernel struct {
	sampler.Base
	steps *atomic.Int64
}

func (k *slowKernel) Reset(sampler.Control, []int32) error { return nil }

func (k *slowKernel) Step(sampler.Control, []sampler.Info, []int32, []sampler.Stream) int {
	k.steps.Add(1)
	return 1
}

// After the context has ended, what is left to do is bounded by work, not by
// the number of chains; what chains have missed is made up for.
func TestCancellationIsBounded(t *testing.T) {
	const sites, blocks = 1 << 14, 8
	var steps atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	m := energy.Func{Sites: sites, Levels: 2, E: func([]int32) float64 { return 0 }}
	var after atomic.Int64
	cfg := sampler.Config{Chains: sampler.BlockSize * blocks, Warmup: -1, Workers: 1}
	cfg.Observe = func(chain, draw int, _ []int32, _ *sampler.Info) {
		if chain == 0 && draw == 3 {
			cancel()
			after.Store(steps.Load())
		}
	}
	c := exact.Must(sampler.NewChains(context.Background(), m, slow{&steps}, cfg))
	require.ErrorIs(t, c.Run(ctx, 10), context.Canceled)
	assert.Zero(t, steps.Load()-after.Load(), "other blocks do not follow: %d sites", sites*32)
	done := c.Len() // how many steps blocks make at a time depends on the clock
	assert.LessOrEqual(t, done, 3)
	assert.Greater(t, done, 0)
	var file bytes.Buffer
	require.NoError(t, c.Save(&file), "chains at different steps can be saved")
	require.NoError(t, c.Load(context.Background(), &file))
	require.NoError(t, c.Run(context.Background(), 10-done))
	assert.Equal(t, slices.Repeat([]int{10}, blocks), c.Steps())
	assert.EqualValues(t, 10*blocks, steps.Load())
}
