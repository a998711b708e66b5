package conformance_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

// process is a line of the registry of processes on tokens: a part, and what its doc
// claims.
type process struct {
	name string
	part diffusion.Process[int32]
	o    diffusiontest.ProcessOptions
}

// The processes of the module on tokens, of two tokens and the mask 2. A new one adds a
// line here, or below if it is on reals.
func processes() []process {
	exactly := diffusiontest.ProcessOptions{Claim: diffusiontest.Exact, Counts: []int{4}}
	heuristic := diffusiontest.ProcessOptions{Claim: diffusiontest.Heuristic, Samples: 500}
	return []process{
		{"diffusion.Masked", diffusion.Masked{Mask: 2}, diffusiontest.ProcessOptions{}},
		{"diffusion.Masked", diffusion.Masked{Mask: 0, Schedule: noise.Cosine{}}, diffusiontest.ProcessOptions{}},
		{"diffusion.Masked", diffusion.Masked{Mask: 2, FirstHitting: true}, exactly},
		{"diffusion.Uniform", diffusion.Uniform{}, diffusiontest.ProcessOptions{}},
		{"diffusion.Uniform", diffusion.Uniform{Schedule: noise.GeometricSigma{Min: 1e-4}}, diffusiontest.ProcessOptions{}},
		{"diffusion.Remask", diffusion.Remask{Mask: 2, Eta: 0.3}, remasking(func(_, _, most float64) float64 { return min(0.3, most) })},
		{"diffusion.Remask", diffusion.Remask{Mask: 2, Rule: diffusion.RemaskRescale, Eta: 0.1}, remasking(func(_, _, most float64) float64 { return 0.1 * most })},
		{"diffusion.Remask", diffusion.Remask{Mask: 2, Rule: diffusion.RemaskLoop, Hold: 0.3}, remasking(func(t, s, _ float64) float64 {
			if t == s {
				return 0.02
			}
			return 0
		})},
		{"diffusion.Remask", diffusion.Remask{Mask: 2, Rule: diffusion.RemaskConfidence, Eta: 0.3}, heuristic},
		{"diffusion.Ordered", diffusion.Ordered{Mask: 2}, heuristic},
		{"unmask.Scheduled", unmask.Scheduled{Mask: 2}, exactly},
		{"unmask.Blocks", unmask.Blocks{Mask: 2, Size: 2}, exactly},
		{"unmask.EntropyBound", unmask.EntropyBound{Mask: 2}, exactly},
		{"unmask.Planned", unmask.Planned{Mask: 2, Noise: 1}, heuristic},
		{"unmask.Threshold", unmask.Threshold{Mask: 2, Edit: 0.6}, heuristic},
	}
}

// remasking is the step of masked diffusion with remasking at a documented rate, given
// the times and σ_max.
func remasking(sigma func(t, s, most float64) float64) diffusiontest.ProcessOptions {
	return diffusiontest.ProcessOptions{Claim: diffusiontest.Steps, Step: func(t, s, at, as float64) func(int32, []float64) []float64 {
		return diffusiontest.MaskedStep(2, at, as, sigma(t, s, min(1, (1-as)/at)))
	}}
}

// realProcess is a line of the registry of processes on reals.
type realProcess struct {
	name string
	part diffusion.Process[float32]
	o    diffusiontest.RealOptions
}

func realProcesses() []realProcess {
	return []realProcess{
		{"diffusion.Gaussian", diffusion.Gaussian{}, diffusiontest.RealOptions{Step: ddim(0), Distance: 0.02}},
		{"diffusion.Gaussian", diffusion.Gaussian{Eta: 0.5}, diffusiontest.RealOptions{Step: ddim(0.5)}},
		{"diffusion.Gaussian", diffusion.Gaussian{Eta: 1, Schedule: noise.CosineBar{}}, diffusiontest.RealOptions{Step: ddim(1), Distance: 0.05}},
		{"diffusion.Penalised", diffusion.Penalised{Set: narrow()}, diffusiontest.RealOptions{}},
		{"diffusion.Corrected", diffusion.Corrected{Process: diffusion.Gaussian{Eta: 1}, Moves: 2, Size: 0.2}, diffusiontest.RealOptions{}},
		{"diffusion.ECI", diffusion.ECI{Mix: 2}, diffusiontest.RealOptions{}},
	}
}

// narrow keeps the sum of three sites within 0 … 1.
func narrow() constraint.Slabs {
	return constraint.Slabs{A: constraint.Rows([]float64{1, 1, 1}, 3), Lower: []float64{0}, Upper: []float64{1}}
}

// ddim is the step of Song et al. 2021, eq. 12.
func ddim(eta float64) func(at, as float64) (keep, clean, noise float64) {
	return func(at, as float64) (keep, clean, noise float64) {
		if as < 1 {
			noise = eta * math.Sqrt((1-as)/(1-at)) * math.Sqrt(1-at/as)
		}
		keep = math.Sqrt(max(0, 1-as-noise*noise)) / math.Sqrt(1-at)
		return keep, math.Sqrt(as) - keep*math.Sqrt(at), noise
	}
}

func TestProcesses(t *testing.T) {
	ctx := context.Background()
	registered := map[string]bool{}
	for i, p := range processes() {
		registered[p.name] = true
		t.Run(fmt.Sprintf("%s/%d", p.name, i), func(t *testing.T) {
			if err := diffusiontest.TestProcess(ctx, p.part, p.o); err != nil {
				t.Fatal(err)
			}
		})
	}
	for i, p := range realProcesses() {
		registered[p.name] = true
		t.Run(fmt.Sprintf("%s/%d", p.name, i), func(t *testing.T) {
			if err := diffusiontest.TestRealProcess(ctx, p.part, p.o); err != nil {
				t.Fatal(err)
			}
		})
	}
	complete(t, "diffusion.Process", "process_test.go", registered, nil, parts(t, "sampler/diffusion", "Process"))
}
