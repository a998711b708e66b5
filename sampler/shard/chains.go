package shard

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Chains is a [Run] of Markov chains. Its fields are the arguments of [sampler.NewChains], the
// number of draws, and the functions that the tally evaluates at every draw.
type Chains struct {
	Model  energy.Model
	Method sampler.Method
	Config sampler.Config // settings of the whole run; DrawsFile and Checkpoint must be empty
	Draws  int            // number of draws per chain, ≥ 1
	// Nested is the number of consecutive chains that start in the same state; see
	// [diagnose.TallyConfig].
	Nested    int
	Functions []func(x []int32) float64
	Names     []string // names of the functions; nil means f1, f2, …
}

// Kind returns "chains", the name of the elements. It implements [Run].
func (c Chains) Kind() string { return "chains" }

// Size returns the number of chains of the run and the number of chains in a block. This second
// number is a multiple of Nested. Blocks are never divided between parts.
func (c Chains) Size() (n, block int) {
	return cmp.Or(c.Config.Chains, 4), multiple(c.Config.Block(), max(c.Nested, 1))
}

// multiple returns the least common multiple of a and b.
func multiple(a, b int) int {
	g, r := a, b
	for r > 0 {
		g, r = r, g%r
	}
	return a / g * b
}

// Part prepares a part of the run: the chains numbered first … first+count−1. It implements [Run].
// Part returns an empty [diagnose.Tally] and a function that runs the chains and records them in
// the tally. The function writes their last states as a .npy file of int32, chains × sites.
func (c Chains) Part(ctx context.Context, first, count int) (*diagnose.Tally, func(context.Context, io.Writer) error, error) {
	cfg := c.Config
	sites, _, err := check.Shape("shard: Chains", c.Model, 1, sampler.BlockSize)
	if err = cmp.Or(check.Refuse("shard: Chains.",
		check.Rule(check.Nil(c.Model), "Model", nil, "one"),
		check.Rule(check.Nil(c.Method), "Method", nil, "one"),
		check.Rule(cfg.First != 0 || cfg.Count != 0, "Config.First, Count", [2]int{cfg.First, cfg.Count}, "0: the whole run"),
		check.Rule(cfg.DrawsFile != "", "Config.DrawsFile", cfg.DrawsFile, "none: parts would share the file"),
		check.Rule(cfg.Checkpoint.Path != "", "Config.Checkpoint.Path", cfg.Checkpoint.Path, "none: finished parts are kept"),
	), checkNames("Chains", c.Names, len(c.Functions)), err); err != nil {
		return nil, nil, err
	}
	n, _ := c.Size()
	cfg.First, cfg.Count = first, count
	if len(cfg.Init) == n*sites && n > 1 {
		if first < 0 || count < 0 || first > n-count {
			return nil, nil, fmt.Errorf("shard: Chains: chains %d … %d, want 0 … %d", first, first+count-1, n-1)
		}
		cfg.Init = cfg.Init[first*sites : (first+count)*sites]
	}
	t, err := diagnose.NewTally(diagnose.TallyConfig{
		Chains: n, First: first, Count: count, Draws: c.Draws, Seed: cfg.Seed, Nested: c.Nested, Run: settings{c},
	}, c.Functions...)
	if err != nil {
		return nil, nil, err
	}
	if c.Names != nil {
		t.Name(c.Names...)
	}
	cfg.Observe = cfg.Observe.And(t.Observe)
	return t, func(ctx context.Context, states io.Writer) error {
		ch, err := sampler.NewChains(ctx, c.Model, c.Method, cfg)
		if err != nil {
			return err
		}
		if err := ch.Run(ctx, c.Draws); err != nil || states == nil {
			return err
		}
		return npy.Write(states, ch.States(), count, sites)
	}, nil
}

// settings identifies the settings on which draws of chains depend, besides the number of chains
// and the seed.
type settings struct{ c Chains }

func (s settings) Name() string { return "chains" }

// Shape returns the numbers of sites and levels of the model. A setting that is a language is
// compared by its sequences of this shape.
func (s settings) Shape() (sites, levels int) { return s.c.Model.Shape() }

func (s settings) Settings(add func(name string, value any)) {
	sites, _ := s.c.Model.Shape()
	add("Warmup", s.c.Config.Warmup)
	add("Thin", s.c.Config.Thin)
	add("Init", s.c.Config.Init)
	add("sites", sites)
	probe.Target(add, s.c.Model, s.c.Method, sampler.NewStream(probe.States, 0).IntN)
}

// checkNames returns an error unless names is nil or holds n valid names for
// [diagnose.Tally.Name].
func checkNames(who string, names []string, n int) error {
	if names != nil && len(names) != n {
		return fmt.Errorf("shard: %s.Names = %v, want %d of them", who, names, n)
	}
	for i, name := range names {
		if name == "" || strings.ContainsAny(name, ",\r\n") {
			return fmt.Errorf("shard: %s.Names[%d] = %q, want one without comma and line break", who, i, name)
		}
	}
	return nil
}
