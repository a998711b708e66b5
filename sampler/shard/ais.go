package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// AIS is a [Run] of annealed importance sampling. It estimates log Z, where Z is the normaliser of
// a model. Its fields are the arguments of [anneal.AIS]. Its elements are the chains or, if
// Config.Population is set, the populations. [AIS.LogZ] returns the estimate.
//
// The tally of the run has one function, "log w": the log-weight of a chain, or the log of the mean
// weight of a population. For a population, the tally records the state of its first chain.
type AIS struct {
	Model  energy.Model
	Method sampler.Method
	// Config holds the settings of the whole run. Checkpoint must be empty, and Exact holds draws
	// for all chains.
	Config anneal.AISConfig
}

// Kind returns "ais", the name of this kind of run. It implements [Run].
func (a AIS) Kind() string { return "ais" }

// Size returns the number of chains of the run and the number of chains in a block. Blocks are
// never divided between parts. If Config.Population is set, Size returns the number of populations
// and the block size 1.
func (a AIS) Size() (n, block int) {
	whole, _ := a.Config.Part(0, 1) // fills in the default of Chains; method Part reports errors
	if each := whole.Population; each > 0 {
		return max(whole.Chains/each, 1), 1
	}
	return whole.Chains, sampler.Config{Chains: whole.Chains}.Block()
}

// Part prepares a part of the run: elements first … first+count−1. It implements [Run]. The
// elements are chains or, if Config.Population is set, populations. Part returns an empty
// [diagnose.Tally] and a function that runs these elements and records them in the tally. The
// function writes the last states of all chains of the part as a .npy file of int32, chains ×
// sites.
func (a AIS) Part(ctx context.Context, first, count int) (*diagnose.Tally, func(context.Context, io.Writer) error, error) {
	cfg := a.Config
	n, _ := a.Size()
	each := max(cfg.Population, 1)
	if err := cmp.Or(
		check.If(cfg.First != 0 || cfg.Count != 0, "shard: AIS.Config.First, Count = %d, %d, want 0: the whole run", cfg.First, cfg.Count),
		check.If(cfg.Checkpoint.Path != "", "shard: AIS.Config.Checkpoint.Path = %q, want none: finished parts are kept", cfg.Checkpoint.Path),
		check.If(first < 0 || count < 1 || first > n-count, "shard: AIS: elements %d … %d, want some of 0 … %d", first, first+count-1, n-1),
	); err != nil {
		return nil, nil, err
	}
	cfg.First, cfg.Count = first*each, count*each
	if e := len(cfg.Exact) / n; cfg.Exact != nil && e*n == len(cfg.Exact) {
		cfg.Exact = cfg.Exact[first*e : (first+count)*e]
	} else if cfg.Exact != nil {
		return nil, nil, fmt.Errorf("shard: AIS: len(Config.Exact) = %d, want a state for each of %d chains", len(cfg.Exact), n*each)
	}
	run, err := anneal.NewAIS(a.Model, a.Method, cfg)
	if err != nil {
		return nil, nil, err
	}
	sites, levels := a.Model.Shape()
	weight := 0.0
	t, err := diagnose.NewTally(diagnose.TallyConfig{
		Chains: n, First: first, Count: count, Draws: 1, Seed: cfg.Seed, LogWeights: true,
		Run: identity{"ais", sites, levels, func(add func(name string, value any)) {
			run.Settings(add)
			add("Config.Exact", a.Config.Exact)
		}},
	}, func([]int32) float64 { return weight })
	if err != nil {
		return nil, nil, err
	}
	t.Name("log w")
	return t, func(ctx context.Context, states io.Writer) error {
		r, err := run.Run(ctx)
		if err != nil {
			return err
		}
		for i, w := range r.Populations() {
			weight = w
			t.Observe(first+i, 0, r.States[i*each*sites:(i*each+1)*sites], nil)
		}
		if states == nil {
			return nil
		}
		return npy.Write(states, r.States, count*each, sites)
	}, nil
}

// LogZ returns the estimate of log Z and the effective number of chains or populations from a tally
// of the run. Both equal the values in [anneal.AISResult] up to rounding. LogZ returns the same
// errors as [diagnose.Tally.LogMeanExp].
func (a AIS) LogZ(t *diagnose.Tally) (z anneal.LogZ, ess float64, err error) {
	if t == nil {
		return z, 0, errors.New("shard: AIS.LogZ: t = nil, want a tally")
	}
	z.Value, z.StdErr, ess, err = t.LogMeanExp()
	if a.Config.Exact != nil {
		z.Value = -z.Value // backwards, the weights estimate 1/Z
	}
	return z, ess, err
}

// identity identifies a run in a tally by its kind, its shape and its settings.
type identity struct {
	name          string
	sites, levels int
	list          func(add func(name string, value any))
}

func (i identity) Name() string                              { return i.name }
func (i identity) Shape() (sites, levels int)                { return i.sites, i.levels }
func (i identity) Settings(add func(name string, value any)) { i.list(add) }
