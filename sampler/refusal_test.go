package sampler_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// run is something with checkpoints, ready to save or to load.
type run struct {
	save func() ([]byte, error)
	load func([]byte) error
}

type maker func() (run, error)

// pair is two runs that differ in one setting, and how a refusal calls it.
type pair struct {
	setting     string
	saved, here maker
}

func chains(m energy.Model, method sampler.Method, cfg sampler.Config) maker {
	return func() (run, error) {
		c, err := sampler.NewChains(context.Background(), m, method, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(c, func() error { return c.Run(context.Background(), 2) }), nil
	}
}

func reals(m energy.Scored, cfg langevin.Config) maker {
	return func() (run, error) {
		c, err := langevin.New(context.Background(), m, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(c, func() error { return c.Run(context.Background(), 2) }), nil
	}
}

func ascent(base energy.Model, set constraint.Set, beta float64, chains int, cfg dual.Config) maker {
	return func() (run, error) {
		l, err := dual.NewLagrangian(base, set)
		if err != nil {
			return run{}, err
		}
		if l, err = l.AtTemperature(beta); err != nil {
			return run{}, err
		}
		c, err := sampler.NewChains(context.Background(), l, mcmc.Gibbs{}, sampler.Config{Chains: chains, Warmup: 4})
		if err != nil {
			return run{}, err
		}
		i, err := dual.NewInference(context.Background(), l, c, cfg)
		if err != nil {
			return run{}, err
		}
		return saver(i, func() error { return i.Run(context.Background(), 2) }), nil
	}
}

func trace(tr func() *diagnose.Trace) maker {
	return func() (run, error) {
		t := tr()
		for c := range t.Chains() {
			for i := range 5 {
				t.Observe(c, i, []int32{int32(i), 1}, nil)
			}
		}
		return run{func() ([]byte, error) { return t.AppendBinary(nil) }, t.UnmarshalBinary}, nil
	}
}

// keeper is a run with checkpoints.
type keeper interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}

func saver(s keeper, begin func() error) run {
	return run{
		save: func() ([]byte, error) {
			if err := begin(); err != nil {
				return nil, err
			}
			var b bytes.Buffer
			err := s.Save(&b)
			return b.Bytes(), err
		},
		load: func(b []byte) error { return s.Load(context.Background(), bytes.NewReader(b)) },
	}
}

// each pairs neighbours of a list: base with everything after it.
func each[T any](pairs []pair, setting string, make func(T) maker, values ...T) []pair {
	for i, v := range values {
		for _, w := range values[:i] {
			pairs = append(pairs, pair{setting, make(w), make(v)})
		}
	}
	return pairs
}

func languages(t *testing.T) []constraint.Automaton {
	words := exact.Must(constraint.ContainsAny([]int32{1, 0, 1}))
	avoids := exact.Must(constraint.Avoids([]int32{1, 1}))
	residue := exact.Must(constraint.NewResidue([]int{0, 1}, 3, 1))
	sum := exact.Must(constraint.NewSum([]int{0, 1}, 2, 5))
	both := exact.Must(constraint.Intersect(avoids, constraint.Count{Levels: []int32{1}, Min: 1, Max: constraint.Unbounded}))
	lexicon := &constraint.Lexicon{}
	lexicon.Add([]int32{0, 1, 0, 1, 0, 1})
	lexicon.Add([]int32{1, 0, 0, 1, 0, 1})
	lexicon.Add([]int32{1, 0, 1, 1, 0, 1})
	mask := exact.Must(constraint.NewMask(2, [][]int32{nil, {1}}))
	return []constraint.Automaton{nil, constraint.Count{Levels: []int32{1}, Min: 2, Max: 3}, constraint.Count{Levels: []int32{1}, Min: 2, Max: 4},
		words, avoids, residue, sum, both, lexicon, mask}
}

func pairs(t *testing.T) []pair {
	m := exact.NewQuadratic(6, 1)
	cfg := sampler.Config{Chains: 3, Warmup: 6}
	method := func(x sampler.Method) maker { return chains(m, x, cfg) }
	var p []pair
	p = each[sampler.Method](p, "method", method, mcmc.DMALA{}, mcmc.DULA{}, mcmc.DUPS{}, mcmc.Gibbs{}, mcmc.GWG{}, mcmc.Paths{}, mcmc.LocallyBalanced{}, mcmc.HammingBall{}, mcmc.Metropolis{})
	p = each(p, "dmala.StepSize", func(v float64) maker { return method(mcmc.DMALA{StepSize: v}) }, 0, 0.1, 0.2, 0.3)
	p = each(p, "dmala.Target", func(v float64) maker { return method(&mcmc.DMALA{Target: v}) }, 0, 0.4, 0.5)
	p = each(p, "dmala.Preconditioner", func(v []float32) maker { return method(mcmc.DMALA{Preconditioner: v}) }, nil, []float32{1, 1, 1, 1, 1, 1}, []float32{1, 1, 1, 1, 1, 2})
	p = each(p, "dmala.Within", func(v constraint.Automaton) maker { return method(mcmc.DMALA{Within: v}) }, languages(t)...)
	p = each(p, "pair-gibbs.Within", func(v constraint.Automaton) maker { return method(mcmc.PairGibbs{Within: v}) }, languages(t)[1:7]...)
	p = each(p, "pair-gibbs.Updates", func(v int) maker { return method(mcmc.PairGibbs{Updates: v}) }, 0, 1, 2)
	p = each(p, "swap.Within", func(v constraint.Automaton) maker { return method(mcmc.Swap{Within: v}) }, languages(t)[1:4]...)
	p = each(p, "block-gibbs.Within", func(v constraint.Automaton) maker {
		return method(mcmc.BlockGibbs{Within: v, Blocks: [][]int{{0, 1, 2}, {3, 4, 5}}})
	}, languages(t)[1:4]...)
	p = each(p, "block-gibbs.Blocks", func(v [][]int) maker { return method(mcmc.BlockGibbs{Blocks: v}) }, [][]int{{0, 2}, {1, 3}, {4, 5}}, [][]int{{0, 1}, {2, 3}, {4, 5}}, [][]int{{0, 1}, {2, 5}, {4, 3}})
	p = each(p, "gibbs.Scan", func(v mcmc.Gibbs) maker { return method(v) }, mcmc.Gibbs{}, mcmc.Gibbs{Scan: mcmc.Random})
	p = each(p, "gwg.Flips", func(v int) maker { return method(mcmc.GWG{Flips: v}) }, 0, 1, 2)
	p = each(p, "paths.Length", func(v int) maker { return method(mcmc.Paths{Length: v}) }, 0, 2, 3)
	p = each(p, "locally-balanced.Exact", func(v bool) maker { return method(mcmc.LocallyBalanced{Exact: v}) }, false, true)
	p = each(p, "locally-balanced.Balance", func(v mcmc.LocallyBalanced) maker { return method(v) }, mcmc.LocallyBalanced{Balance: mcmc.Barker}, mcmc.LocallyBalanced{Balance: mcmc.Min}, mcmc.LocallyBalanced{Balance: mcmc.Max})
	p = each(p, "dmala.Balance", func(v mcmc.DMALA) maker { return method(v) }, mcmc.DMALA{}, mcmc.DMALA{Balance: mcmc.Barker}, mcmc.DMALA{Balance: mcmc.Max})
	p = each(p, "dmaps", func(v mcmc.DMAPS) maker { return method(v) }, mcmc.DMAPS{}, mcmc.DMAPS{StepSize: 0.3}, mcmc.DMAPS{Exact: true})
	p = each(p, "hamming-ball.Block", func(v int) maker { return method(mcmc.HammingBall{Block: v}) }, 0, 2, 3, 4)
	p = each(p, "hamming-ball.Radius", func(v int) maker { return method(mcmc.HammingBall{Radius: v}) }, 0, 1, 2, 3)
	p = each(p, "metropolis.Updates", func(v int) maker { return method(mcmc.Metropolis{Updates: v}) }, 0, 1, 2)
	p = each(p, "cyclical.Period", func(v int) maker { return method(mcmc.Cyclical{Period: v}) }, 0, 4, 5)
	p = each(p, "cyclical.Balance", func(v float64) maker { return method(mcmc.Cyclical{Balance: v}) }, 0, 0.6, 0.7)
	p = each[sampler.Method](p, "tempering.Base", func(v sampler.Method) maker { return method(mcmc.Tempering{Rungs: 3, Base: v}) }, mcmc.Gibbs{}, mcmc.DMALA{})
	p = each(p, "tempering.Base.StepSize", func(v float64) maker { return method(mcmc.Tempering{Rungs: 3, Base: mcmc.DMALA{StepSize: v}}) }, 0, 0.1, 0.2)
	p = each(p, "tempering.Betas", func(v []float64) maker { return method(mcmc.Tempering{Betas: v}) }, nil, []float64{1, 0.5}, []float64{1, 0.4}, []float64{1, 0.5, 0})
	p = each(p, "dhams.StepSize", func(v float64) maker { return method(momentum.DHAMS{StepSize: v}) }, 0, 0.1, 0.2)
	p = each(p, "dhams.Relaxation", func(v float64) maker { return method(momentum.DHAMS{Relaxation: v}) }, 0, 0.1, 0.2)
	p = each(p, "tempering.Rungs", func(v int) maker { return method(mcmc.Tempering{Rungs: v}) }, 0, 3, 4)

	config := func(edit func(*sampler.Config)) maker {
		c := cfg
		edit(&c)
		return chains(m, mcmc.Gibbs{}, c)
	}
	p = each(p, "Config.Chains", func(v int) maker { return config(func(c *sampler.Config) { c.Chains = v }) }, 1, 3, 32, 33)
	p = each(p, "Config.Warmup", func(v int) maker { return config(func(c *sampler.Config) { c.Warmup = v }) }, -1, 0, 6, 7)
	p = each(p, "Config.Thin", func(v int) maker { return config(func(c *sampler.Config) { c.Thin = v }) }, 1, 2, 3)

	p = each(p, "sites", func(v int) maker { return chains(exact.NewQuadratic(v, 1), mcmc.Gibbs{}, cfg) }, 5, 6, 7)
	p = each(p, "levels", func(v int) maker {
		return chains(exact.Must(model.NewPotts(model.Lattice{6}, v, 0.3, nil)), mcmc.Gibbs{}, cfg)
	}, 2, 3, 4)
	p = each(p, "energies of test states", func(v uint64) maker { return chains(exact.NewQuadratic(6, v), mcmc.Gibbs{}, cfg) }, 1, 2, 3)
	p = each(p, "energies of test states", func(v float64) maker {
		return chains(exact.Must(model.NewIsing(model.Lattice{6}, v, 0.1)), mcmc.Gibbs{}, cfg)
	}, 0.1, 0.2, 0.2001)

	quad := func(v float64) energy.Scored {
		return exact.Must(continuous.NewQuadratic([]float64{v, 0, 0, 1}, nil, 0))
	}
	real := func(edit func(*langevin.Config)) maker {
		c := langevin.Config{Chains: 3, Warmup: 6}
		edit(&c)
		return reals(quad(1), c)
	}
	p = each(p, "energies of test states", func(v float64) maker { return reals(quad(v), langevin.Config{Chains: 3, Warmup: 6}) }, 1, 2, 2.01)
	p = each(p, "Config.StepSize", func(v float64) maker { return real(func(c *langevin.Config) { c.StepSize = v }) }, 0, 0.1, 0.2)
	p = each(p, "Config.Target", func(v float64) maker { return real(func(c *langevin.Config) { c.Target = v }) }, 0, 0.4, 0.5)
	p = each(p, "Config.Unadjusted", func(v bool) maker { return real(func(c *langevin.Config) { c.StepSize, c.Unadjusted = 0.1, v }) }, false, true)
	p = each[func([]float32)](p, "Config.Project", func(v func([]float32)) maker {
		return real(func(c *langevin.Config) { c.StepSize, c.Unadjusted, c.Project = 0.1, true, v })
	}, nil, clip(0, 1), clip(0, 2), clip(-1, 1))
	p = each(p, "Config.Chains", func(v int) maker { return real(func(c *langevin.Config) { c.Chains = v }) }, 1, 3, 33)

	ising := exact.Must(model.NewIsing(model.Lattice{6}, 0.2, 0))
	few := constraint.Count{Levels: []int32{1}, Max: 2}
	loop := func(edit func(*dual.Config)) maker {
		var c dual.Config
		edit(&c)
		return ascent(ising, few, 1, 4, c)
	}
	rule := func(v dual.Rule) maker { return loop(func(c *dual.Config) { c.Rule = v }) }
	p = each[dual.Rule](p, "Config.Rule", rule, dual.Auto{}, dual.Ascent{}, dual.Decay{}, dual.PI{}, dual.AdaGrad{}, dual.Extragradient{})
	p = each[dual.Schedule](p, "Step", func(v dual.Schedule) maker { return rule(dual.Ascent{Step: v}) }, nil, dual.Constant(0.1), dual.Constant(0.2), dual.Power(0.1, 0.5), dual.Power(0.1, 0.6))
	p = each(p, "Rate", func(v float64) maker { return rule(dual.Decay{Rate: v}) }, 0, 0.5, 0.6)
	p = each(p, "Proportional", func(v float64) maker { return rule(&dual.PI{Proportional: v}) }, 0, 0.5, 0.6)
	p = each(p, "Config.Inner", func(v int) maker { return loop(func(c *dual.Config) { c.Inner = v }) }, 1, 2, 3)
	p = each(p, "Config.Max", func(v float64) maker { return loop(func(c *dual.Config) { c.Max = &v }) }, 0, 5, 6)
	p = each(p, "Config.Uniform", func(v bool) maker { return loop(func(c *dual.Config) { c.Uniform = v }) }, false, true)
	p = each(p, "Config.Diverge", func(v float64) maker { return loop(func(c *dual.Config) { c.Diverge = v }) }, 0, 1e5, 1e6)
	p = each(p, "states", func(v int) maker { return ascent(ising, few, 1, v, dual.Config{}) }, 2, 4, 5)
	p = each(p, "β of the target", func(v float64) maker { return ascent(ising, few, v, 4, dual.Config{}) }, 1, 0.9, 0.8)
	p = each(p, "violations of test states", func(v int) maker {
		return ascent(ising, constraint.Count{Levels: []int32{1}, Max: v}, 1, 4, dual.Config{})
	}, 1, 2, 3)

	f := func(x []int32) float64 { return float64(x[0]) }
	p = each(p, "marginals", func(v int) maker {
		return trace(func() *diagnose.Trace { return diagnose.NewTrace(f).KeepMarginals(v) })
	}, 1, 2, 3)
	p = each(p, "names", func(v string) maker { return trace(func() *diagnose.Trace { return diagnose.NewTrace(f).Name(v) }) }, "a", "b", "c")
	p = each(p, "mode", func(v func(...func([]int32) float64) *diagnose.Trace) maker {
		return trace(func() *diagnose.Trace { return v(f) })
	}, diagnose.NewTrace, diagnose.NewStreamingTrace)
	return append(append(p, runnerPairs()...), learnerPairs()...)
}

func clip(lo, hi float32) func([]float32) {
	return func(x []float32) {
		for i := range x {
			x[i] = min(max(x[i], lo), hi)
		}
	}
}

// Two runs that differ in one setting do not read each other's checkpoints, and
// the refusal names the setting; equal runs do.
func TestRefusalsNameTheSetting(t *testing.T) {
	exact.SkipUnderRace(t)
	p := pairs(t)
	t.Logf("%d pairs", len(p))
	require.GreaterOrEqual(t, len(p), 470)
	for i, p := range p {
		name := fmt.Sprintf("pair %d, %s", i, p.setting)
		from, err := p.saved()
		require.NoError(t, err, name)
		file, err := from.save()
		require.NoError(t, err, name)
		to, err := p.here()
		require.NoError(t, err, name)
		assert.ErrorContains(t, to.load(file), p.setting, name)
		same, err := p.saved()
		require.NoError(t, err, name)
		assert.NoError(t, same.load(file), name)
	}
}
