package beam

import (
	"context"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Diffusion is a [shard.Run] of samples of tokens: what [diffusion.New] takes, and how
// many. Each counts as a chain of one draw: a tally has means and their errors. The
// name of the denoiser (sampler.Named) tells it apart in tallies.
type Diffusion struct {
	Denoiser  energy.Denoiser[int32]
	Process   diffusion.Process[int32]
	Config    diffusion.Config // of the whole run, without a Checkpoint
	Count     int              // samples, ≥ 1
	Functions []func(x []int32) float64
	Names     []string // of the functions; nil: f1, f2, …
}

// Kind returns "samples".
func (d Diffusion) Kind() string { return "samples" }

// Size returns the number of samples; with Config.Batch, samples of a batch go
// together, in case the denoiser or a multiplier couples them.
func (d Diffusion) Size() (n, block int) { return d.Count, max(d.Config.Batch, 1) }

// Part makes samples and writes them as a .npy file of int32, samples × sites.
func (d Diffusion) Part(first, count int) (*diagnose.Tally, func(context.Context, io.Writer) error, error) {
	if d.Denoiser == nil || d.Process == nil {
		return nil, nil, fmt.Errorf("beam: Diffusion: Denoiser = %v, Process = %v, want both", d.Denoiser, d.Process)
	}
	if d.Config.First != 0 || d.Config.Count != 0 || d.Config.Checkpoint.Path != "" {
		return nil, nil, fmt.Errorf("beam: Diffusion.Config: First, Count or Checkpoint is set, want those of the whole run")
	}
	t, err := tally(diagnose.TallyConfig{
		Chains: d.Count, First: first, Count: count, Draws: 1, Seed: d.Config.Seed, Run: diffusionSettings{d},
	}, d.Functions, d.Names)
	if err != nil {
		return nil, nil, err
	}
	return t, func(ctx context.Context, states io.Writer) error {
		cfg := d.Config
		cfg.First, cfg.Count = first, count
		r, err := diffusion.New(ctx, d.Denoiser, d.Process, cfg)
		if err != nil {
			return err
		}
		sites, _ := d.Denoiser.Shape()
		x := make([]int32, count*sites)
		if err := r.Sample(ctx, x); err != nil {
			return err
		}
		for i := range count {
			t.Observe(first+i, 0, x[i*sites:(i+1)*sites], nil)
		}
		if states == nil {
			return nil
		}
		return npy.Write(states, x, count, sites)
	}, nil
}

// tally is diagnose.NewTally with names, if there are any.
func tally(cfg diagnose.TallyConfig, f []func([]int32) float64, names []string) (*diagnose.Tally, error) {
	if names != nil && len(names) != len(f) {
		return nil, fmt.Errorf("beam: Names = %q, want %d of them", names, len(f))
	}
	t, err := diagnose.NewTally(cfg, f...)
	if err == nil && names != nil {
		t.Name(names...)
	}
	return t, err
}

type diffusionSettings struct{ d Diffusion }

func (s diffusionSettings) Name() string { return "samples" }

func (s diffusionSettings) Shape() (sites, levels int) { return s.d.Denoiser.Shape() }

func (s diffusionSettings) Settings(add func(name string, value any)) {
	sites, levels := s.d.Denoiser.Shape()
	c := &s.d.Config
	add("sites", sites)
	add("levels", levels)
	add("process", s.d.Process)
	add("Steps", c.Steps)
	add("Batch", c.Batch)
	add("Clamp", c.Clamp)
	add("Projector", c.Projector)
	add("ProjectStart", c.ProjectStart)
	add("ProjectEvery", c.ProjectEvery)
	add("ColdStart", c.ColdStart)
	add("Decode", uint8(c.Decode))
	add("Retries", c.Retries)
	if n, ok := s.d.Denoiser.(sampler.Named); ok {
		add("denoiser", n.Name())
	}
}
