package shard

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Sampler makes independent samples one after the other. An example is diffusion.Runner.
type Sampler[S energy.Site] interface {
	Shape() (sites, levels int)

	// Sample fills x with the next samples, each with one entry per site. If it returns an error,
	// even of a single sample (diffusion.SampleErrors), the part fails, because a tally cannot omit
	// a sample.
	Sample(ctx context.Context, x []S) error

	// Settings calls add with the name and value of every setting on which samples depend, except
	// the index of the first sample.
	Settings(add func(name string, value any))
}

// Samples is a [Run] of independent samples, such as those of a diffusion:
//
//	shard.Samples[int32]{Samples: 100_000, New: func(ctx context.Context, first, count int) (shard.Sampler[int32], error) {
//		return diffusion.New(ctx, denoiser, diffusion.Masked{Mask: mask}, diffusion.Config{Seed: 1, First: first, Count: count})
//	}}
//
// In the tally, a sample counts as a chain of one draw.
type Samples[S energy.Site] struct {
	Samples int // number of samples of the whole run, ≥ 1

	// Block is the number of consecutive samples that are always made in the same part; 0 means 64.
	// It must be a multiple of the batch size if predictions for a state depend on the rest of the
	// batch.
	Block int

	// New returns a sampler for a part of the run: samples first … first+count−1.
	New func(ctx context.Context, first, count int) (Sampler[S], error)

	Functions []func(x []S) float64
	Names     []string // names of the functions; nil means f1, f2, …
}

// Kind returns "samples", the name of the elements. It implements [Run].
func (s Samples[S]) Kind() string { return "samples" }

// Size returns the number of samples of the run and the number of samples in a block.
func (s Samples[S]) Size() (n, block int) {
	return s.Samples, cmp.Or(s.Block, 64)
}

// Part prepares a part of the run: samples first … first+count−1. It implements [Run]. Part returns
// an empty [diagnose.Tally] and a function that makes the samples and records them in the tally.
// The function writes them as a .npy file of int32 or float32, samples × sites. Part passes ctx to
// the field New.
func (s Samples[S]) Part(ctx context.Context, first, count int) (*diagnose.Tally, func(context.Context, io.Writer) error, error) {
	n, block := s.Size()
	if err := cmp.Or(
		check.If(n < 1, "shard: Samples.Samples = %d, want ≥ 1", n),
		check.If(block < 1, "shard: Samples.Block = %d, want ≥ 0", block),
		check.If(s.New == nil, "shard: Samples.New = nil, want a function"),
		check.If(first < 0 || count < 1 || first > n-count, "shard: Samples: %d … %d, want some of 0 … %d", first, first+count-1, n-1),
		checkNames("Samples", s.Names, len(s.Functions)),
	); err != nil {
		return nil, nil, err
	}
	maker, err := s.New(ctx, first, count)
	if err != nil {
		return nil, nil, err
	}
	if check.Nil(maker) {
		return nil, nil, fmt.Errorf("shard: Samples.New returned nil, want a Sampler")
	}
	sites, levels := maker.Shape()
	if err := cmp.Or(
		check.If(sites < 1 || levels < 1, "shard: Samples.New: the sampler has %d sites and %d levels, want both ≥ 1", sites, levels),
		check.Entries("shard: Samples", "samples × sites", count, sites),
	); err != nil {
		return nil, nil, err
	}
	t, observe, err := s.tally(diagnose.TallyConfig{
		Chains: n, First: first, Count: count, Draws: 1, Run: identity{"samples", sites, levels, maker.Settings},
	})
	if err != nil {
		return nil, nil, err
	}
	if s.Names != nil {
		t.Name(s.Names...)
	}
	return t, func(ctx context.Context, states io.Writer) error {
		together := count
		if states == nil { // in blocks, because states are not kept
			together = min(count, block)
		}
		x := make([]S, together*sites)
		for at := 0; at < count; at += together {
			x = x[:min(together, count-at)*sites]
			if err := maker.Sample(ctx, x); err != nil {
				return err
			}
			for i := 0; i < len(x)/sites; i++ {
				observe(first+at+i, 0, x[i*sites:(i+1)*sites], nil)
			}
		}
		if states == nil {
			return nil
		}
		return npy.Write(states, x, count, sites)
	}, nil
}

// tally returns an empty tally and the function that adds a sample to the tally.
func (s Samples[S]) tally(cfg diagnose.TallyConfig) (t *diagnose.Tally, observe func(chain, draw int, x []S, info *sampler.Info), err error) {
	switch f := any(s.Functions).(type) {
	case []func([]int32) float64:
		t, err = diagnose.NewTally(cfg, f...)
		if err == nil {
			observe = any(t.Observe).(func(int, int, []S, *sampler.Info))
		}
	case []func([]float32) float64:
		var real sampler.RealObserver
		t, real, err = diagnose.RealTally(cfg, f...)
		if err == nil {
			observe = any((func(int, int, []float32, *sampler.Info))(real)).(func(int, int, []S, *sampler.Info))
		}
	}
	return t, observe, err
}
