package main

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// BenchmarkQwen600M runs a network with random weights that has the shape of Qwen3-0.6B and comes in
// four files. It reports
//
//   - the time of Open, and the bytes that it allocates over the bytes of the files,
//   - the time of a pass of the network over 256 tokens, most of them masked, and
//   - the time of a step of the diffusion, with a JSON Schema on the masked tokens, over the
//     time of the pass in it.
//
// Times are in seconds, by the clock (s) and of all processors (cpu-s).
//
// The files take 1.2 GB in a temporary folder (go -C examples test -run '^$' -bench Qwen600M -benchtime 1x ./canvas).
func BenchmarkQwen600M(b *testing.B) {
	dir := os.Getenv("GIBBSITE_CHECKPOINT") // a folder that is kept
	if dir == "" {
		dir = b.TempDir()
	}
	if _, err := os.Stat(dir + "/config.json"); err != nil {
		qwen600M.write(b, dir)
		runtime.GC()
	}
	files := 0.0
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".safetensors") {
			files += float64(info.Size())
		}
	}
	o, err := parse([]string{"-model", dir, "-prompt", "A person as JSON, and then some words of the first: ", "-tokens", "236",
		"-schema", put(b, b.TempDir(), "schema.json", []byte(schema))})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	tok, pad, err := tokenizer(o)
	if err != nil {
		b.Fatal(err)
	}
	var load, pass, step spent
	var allocated float64
	timed := func(sum *spent, do func() error) {
		if err := sum.add(do); err != nil {
			b.Fatal(err)
		}
	}
	const steps = 4
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var net *pretrained.Network
		timed(&load, func() (err error) { net, err = pretrained.Open(dir); return err })
		runtime.ReadMemStats(&after)
		allocated += float64(after.TotalAlloc - before.TotalAlloc)
		pieces, err := o.pieces()
		if err != nil {
			b.Fatal(err)
		}
		c, err := lay(ctx, tok, pieces, pad, func(s string) (string, error) { return s, nil })
		if err != nil {
			b.Fatal(err)
		}
		model, err := net.Masked(len(c.clamp), pretrained.Options{})
		if err != nil {
			b.Fatal(err)
		}
		// Neither revealed nor unmasked tokens: every step predicts all masked positions.
		watch := &passes{Masked: model, spent: new(spent)}
		d, err := diffusion.New[int32](ctx, watch, diffusion.Masked{Mask: model.MaskLevel()}, diffusion.Config{Steps: steps, Clamp: c.clamp, Projector: c.spans, Batch: 1})
		if err != nil {
			b.Fatal(err)
		}
		watch.spent = &pass
		timed(&step, func() error { return d.Sample(ctx, make([]int32, len(c.clamp))) })
		if err := net.Close(); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(b.N)
	b.ReportMetric(load.clock/n, "s/load")
	b.ReportMetric(load.processor/n, "cpu-s/load")
	b.ReportMetric(allocated/n/files, "memory/file")
	b.ReportMetric(pass.clock/steps/n, "s/pass")
	b.ReportMetric(pass.processor/steps/n, "cpu-s/pass")
	b.ReportMetric(step.processor/pass.processor, "cpu-step/pass")
}

// spent adds up seconds, by the clock and of all processors.
type spent struct{ clock, processor float64 }

func (s *spent) add(do func() error) error {
	start, processor := time.Now(), command.Processor()
	err := do()
	s.clock += time.Since(start).Seconds()
	s.processor += command.Processor() - processor
	return err
}

// passes adds up the time of a model's predictions.
type passes struct {
	*pretrained.Masked
	spent *spent
}

func (p *passes) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return p.spent.add(func() error { return p.Masked.Denoise(ctx, v, q) })
}
