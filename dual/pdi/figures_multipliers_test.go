package pdi_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/stretchr/testify/require"
)

// path is a way to choose the multipliers of a diffusion.
type path struct {
	name     string
	cfg      func(paper *pdi.Denoiser) pdi.Config // paper made the run of the first path
	schedule noise.Schedule
}

// cold is the inverse temperature 1/β of the paper's mixture.
const cold = 50.0

// ascent is the paper's rule on its mixture. Its step size is 1, and its multipliers are at most 50,
// in the units in which the tilt is exp(−λᵀg). Here the tilt is exp(−λᵀg/β).
func ascent(*pdi.Denoiser) pdi.Config {
	return pdi.Config{Rule: dual.Ascent{Step: dual.Constant(1 / cold)}, Max: new(50 / cold)}
}

// averaged returns a configuration that fixes λ at the average over the last part of the paper's
// path, or at its end if part is 0.
func averaged(part float64) func(paper *pdi.Denoiser) pdi.Config {
	return func(paper *pdi.Denoiser) pdi.Config {
		first, _ := paper.At(0)
		mean, n := make([]float64, len(first)), max(1, int(part*float64(paper.Steps())))
		for k := range n {
			lambda, _ := paper.At(paper.Steps() - n + k)
			for j, l := range lambda {
				mean[j] += l / float64(n)
			}
		}
		return pdi.Config{Fixed: true, Start: mean}
	}
}

// paths returns the paths to compare for a problem whose optimal multipliers are known. The first
// one is that of the paper's rule.
func paths(star []float64) []path {
	usual := func(*pdi.Denoiser) pdi.Config { return pdi.Config{} }
	all := []path{
		{"ascent", ascent, nil},
		{"the default rule", usual, nil},
		{"fixed at the optimum", func(*pdi.Denoiser) pdi.Config { return pdi.Config{Fixed: true, Start: star} }, nil},
		{"fixed at the end of ascent", averaged(0), nil},
	}
	for _, part := range []float64{0.2, 0.6, 1} {
		all = append(all, path{fmt.Sprintf("fixed at the average of ascent over the last %g %%", 100*part), averaged(part), nil})
	}
	for _, s := range []struct {
		name     string
		schedule noise.Schedule
	}{{"linear β", noise.LinearBeta{}}, {"quartic signal-to-noise ratio", noise.PolynomialSNR{}}} {
		all = append(all, path{"ascent, " + s.name, ascent, s.schedule}, path{"the default rule, " + s.name, usual, s.schedule})
	}
	return all
}

// How far the samples of a mixture are from the optimum, by the way in which λ moves: along the
// path of the paper's rule, of the default rule, and fixed at the optimum, at the end of the
// paper's path, and at its averages.
func TestMultiplierFigures(t *testing.T) {
	if *figures == 0 {
		t.Skip("a table of minutes: -figures 3")
	}
	p := authors(t, 1/cold, 1, 0)
	p.optimum(t.Context())
	const samples, steps = 1024, 500
	size := math.Sqrt(dot(p.star.Lambda, p.star.Lambda))
	runs := map[string][][]float64{}
	var order []string
	for seed := range *figures {
		sample := func(cfg pdi.Config, schedule noise.Schedule) ([]float32, *pdi.Denoiser) {
			if schedule == nil {
				schedule = noise.CosineBar{}
			}
			d := exact.Must(pdi.New(context.Background(), p.predictor, cfg))
			run := exact.Must(diffusion.New(context.Background(), d, diffusion.Process[float32](diffusion.Gaussian{Eta: 1, Wide: true, Schedule: schedule}), diffusion.Config{Steps: steps, Batch: samples, Seed: uint64(seed + 1)}))
			x := make([]float32, samples*p.base.Sites())
			require.NoError(t, run.Sample(t.Context(), x))
			return x, d
		}
		var paper *pdi.Denoiser
		free := map[noise.Schedule]float64{}
		for _, way := range paths(p.star.Lambda) {
			from := exact.CPU().Seconds()
			x, d := sample(way.cfg(paper), way.schedule)
			seconds := exact.CPU().Seconds() - from
			if paper == nil {
				paper = d
			}
			if _, ok := free[way.schedule]; !ok {
				y, _ := sample(pdi.Config{Fixed: true}, way.schedule)
				free[way.schedule], _ = p.judge(y)
			}
			u, worst := p.judge(x)
			row := []float64{(u - (free[way.schedule] - p.free) - p.u) / p.u, worst}
			for _, at := range []int{0, steps / 4, steps / 2, 3 * steps / 4, steps - 1} {
				lambda, _ := d.At(at)
				far := 0.0
				for j, l := range lambda {
					far += (l - p.star.Lambda[j]) * (l - p.star.Lambda[j])
				}
				row = append(row, math.Sqrt(far)/size)
			}
			if seed == 0 {
				order = append(order, way.name)
			}
			runs[way.name] = append(runs[way.name], append(row, seconds))
		}
	}
	t.Logf("authors' mixture, 1/β = %v, %d samples, %d steps, U* %.3f, |λ*| %.3f; relative gap of U, largest violation, |λ − λ*|/|λ*| at steps 0, 125, 250, 375 and 499, seconds of processor", cold, samples, steps, p.u, size)
	for _, name := range order {
		line := name + ":"
		for k := range runs[name][0] {
			var v []float64
			for _, r := range runs[name] {
				v = append(v, r[k])
			}
			mean, se := meanSE(v)
			line += fmt.Sprintf(" %.4f ± %.4f", mean, se)
		}
		t.Log(line)
	}
	// The default rule ends near the optimum; the end of the paper's path is not it.
	violation := func(name string) float64 {
		return slices.MaxFunc(runs[name], func(a, b []float64) int { return cmp.Compare(a[1], b[1]) })[1]
	}
	require.LessOrEqual(t, violation("the default rule"), 0.003)
	require.Greater(t, violation("fixed at the end of ascent"), violation("the default rule"))
}

// dot returns the dot product of a and b.
func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
