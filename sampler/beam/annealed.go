package beam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Annealed is a [shard.Run] of annealed importance sampling: what [anneal.AIS] takes.
// Each chain counts as one of a single draw, with two functions: "log weight", and
// "weight", exp(log w − Reference). [LogZ] makes an estimate of their tally.
type Annealed struct {
	Model  energy.Model
	Method sampler.Method
	Config anneal.AISConfig // of the whole run, without a Checkpoint

	// Reference is a number within some 300 of log Z, such as what a short run
	// found: so far float64s reach. 0 is fine for models of a few hundred bits.
	Reference float64
}

// Kind returns "weights".
func (a Annealed) Kind() string { return "weights" }

// Size returns the number of chains and the block in which they move.
func (a Annealed) Size() (n, block int) {
	n = a.Config.Chains
	if n == 0 {
		n = 64
	}
	return n, sampler.BlockSize
}

// Part makes weights, and writes the ends of the chains as a .npy file of int32,
// chains × sites.
func (a Annealed) Part(first, count int) (*diagnose.Tally, func(context.Context, io.Writer) error, error) {
	if a.Model == nil || a.Method == nil {
		return nil, nil, fmt.Errorf("beam: Annealed: Model = %v, Method = %v, want both", a.Model, a.Method)
	}
	if a.Config.First != 0 || a.Config.Count != 0 || a.Config.Checkpoint.Path != "" {
		return nil, nil, fmt.Errorf("beam: Annealed.Config: First, Count or Checkpoint is set, want those of the whole run")
	}
	if math.IsNaN(a.Reference) || math.IsInf(a.Reference, 0) {
		return nil, nil, fmt.Errorf("beam: Annealed.Reference = %v, want a finite number", a.Reference)
	}
	n, _ := a.Size()
	logw := 0.0 // of the chain that is shown to the tally
	t, err := tally(diagnose.TallyConfig{
		Chains: n, First: first, Count: count, Draws: 1, Seed: a.Config.Seed, Run: annealedSettings{a},
	}, []func([]int32) float64{
		func([]int32) float64 { return logw },
		func([]int32) float64 { return simd.Exp(logw - a.Reference) },
	}, []string{"log weight", "weight"})
	if err != nil {
		return nil, nil, err
	}
	return t, func(ctx context.Context, states io.Writer) error {
		cfg := a.Config
		cfg.First, cfg.Count = first, count
		res, err := anneal.AIS(ctx, a.Model, a.Method, cfg)
		if err != nil {
			return err
		}
		sites, _ := a.Model.Shape()
		for i, w := range res.LogWeights {
			logw = w
			t.Observe(first+i, 0, res.States[i*sites:(i+1)*sites], nil)
		}
		if states == nil {
			return nil
		}
		return npy.Write(states, res.States, count, sites)
	}, nil
}

// LogZ returns the estimate of log Z, its standard error, and the effective number of
// weights that a tally of [Annealed] with this reference holds: those of
// anneal.AISResult up to rounding.
func LogZ(t *diagnose.Tally, reference float64) (logZ, stdErr, ess float64, err error) {
	s, err := t.Summary()
	if err != nil {
		return 0, 0, 0, err
	}
	if len(s.Rows) != 2 || s.Rows[1].Name != "weight" {
		return 0, 0, 0, fmt.Errorf("beam: LogZ: the tally is not one of Annealed")
	}
	w := s.Rows[1]
	for _, e := range []diagnose.Estimate{w.Mean, w.MCSEChains} { // equal weights have no error
		if !e.Defined() && !errors.Is(e.Err, diagnose.ErrConstant) {
			return 0, 0, 0, fmt.Errorf("beam: LogZ: reference = %v: the weights: %w", reference, e.Err)
		}
	}
	if !(w.Mean.Value > 0) {
		return 0, 0, 0, fmt.Errorf("beam: LogZ: reference = %v: all weights underflow: %w", reference, sampler.ErrZero)
	}
	stdErr = w.MCSEChains.Value / w.Mean.Value
	n := float64(s.Chains)
	return reference + math.Log(w.Mean.Value), stdErr, n / (1 + stdErr*stdErr*(n-1)), nil
}

type annealedSettings struct{ a Annealed }

func (s annealedSettings) Name() string { return "weights" }

func (s annealedSettings) Shape() (sites, levels int) { return s.a.Model.Shape() }

func (s annealedSettings) Settings(add func(name string, value any)) {
	sites, _ := s.a.Model.Shape()
	add("sites", sites)
	add("Stages", s.a.Config.Stages)
	add("Moves", s.a.Config.Moves)
	add("Schedule", s.a.Config.Schedule)
	add("Reference", s.a.Reference)
	probe.Target(add, s.a.Model, s.a.Method, sampler.NewStream(probe.States, 0).IntN)
}
