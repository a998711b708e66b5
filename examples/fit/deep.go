package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// filters is the number of filters of the convolutional energy.
const filters = 8

// deep fits a residual network or, with -conv, a convolutional energy to images by persistent chains
// that start from a replay buffer.
func deep(ctx context.Context, o options) (*report, error) {
	sites, data, name := 16, bars(4), "bars and stripes of 4×4"
	if o.images != "" {
		var err error
		if sites, data, err = readImages(o.images); err != nil {
			return nil, err
		}
		name = o.images
	}
	rows := len(data) / sites
	o.n = rows
	start := time.Now()
	p, method, rate, err := potential(o, sites)
	if err != nil {
		return nil, err
	}
	chains, err := sampler.NewChains(ctx, p, method, sampler.Config{Chains: 256, Seed: o.seed, Warmup: -1})
	if err != nil {
		return nil, err
	}
	f, err := fit.New(ctx, p, data, fit.Config{
		Objective: fit.Persistent{Draws: 4, Restart: 0.5}, Chains: chains, // with fewer restarts chains lose the modes and energies run away
		Batch: min(256, rows), L1: o.l1, L2: 0.01, Seed: o.seed, Rate: dual.Constant(rate),
	})
	if err != nil {
		return nil, err
	}
	if err := steps(ctx, f, cmp.Or(o.steps, 1500), func() bool { return time.Since(start).Seconds() > o.seconds }); err != nil {
		return nil, err
	}
	if err := f.UseAverage(); err != nil {
		return nil, err
	}
	r := newReport(o, name)
	r.note("%v", f.Report())
	r.Seconds = time.Since(start).Seconds()
	if err := certify(ctx, r, p, data, sites <= 20, method, cmp.Or(o.stages, 2000), o.seed); err != nil {
		return nil, err
	}
	if coins := -float64(sites) * math.Ln2; *r.LogLik < coins {
		r.note("log-likelihood below that of coins, %.3f: the chains have lost the data, and energies run away", coins)
	}
	return r, nil
}

// potential returns the energy to fit, the method that samples it, and the learning rate.
func potential(o options, sites int) (p energy.Parametric, method sampler.Method, rate float64, err error) {
	if o.conv {
		side := int(math.Round(math.Sqrt(float64(sites))))
		if side*side != sites || side < 3 {
			return nil, nil, 0, fmt.Errorf("-conv: images of %d pixels, want squares of at least 3×3", sites)
		}
		return newConvolution(side, filters, rand.New(rand.NewPCG(o.seed, 1))), mcmc.DMALA{StepSize: 0.2}, 0.01, nil
	}
	net, err := neural.NewPotential(sites, 2, 32, 2, rand.NewPCG(o.seed, 1))
	if err != nil {
		return nil, nil, 0, err
	}
	method = mcmc.DMALA{StepSize: 0.2}
	if sites <= 64 {
		method = mcmc.Gibbs{} // exact conditionals by evaluation
	}
	p, err = net.Learn()
	return p, method, 0.001, err
}

// bars returns all distinct images of side×side pixels in which each row, or each column, has
// one colour.
func bars(side int) []int32 {
	var x []int32
	for mask := range 1 << side {
		for _, across := range []bool{false, true} {
			if across && (mask == 0 || mask == 1<<side-1) {
				continue // the same both ways
			}
			for i := range side * side {
				k := i / side
				if across {
					k = i % side
				}
				x = append(x, int32(mask>>k&1))
			}
		}
	}
	return x
}

// readImages reads an array of images × pixels with entries 0 and 1, in float32 or float64.
func readImages(path string) (sites int, data []int32, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, nil, err
	}
	defer file.Close()
	shape, raw, err := npy.Read[float32](file)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(shape) < 2 {
		return 0, nil, fmt.Errorf("%s: shape %v, want images × pixels, or images × rows × columns", path, shape)
	}
	sites = 1
	for _, n := range shape[1:] {
		sites *= n
	}
	for i, v := range raw {
		if v != 0 && v != 1 {
			return 0, nil, fmt.Errorf("%s: pixel %d of image %d is %v, want 0 or 1", path, i%sites, i/sites, v)
		}
		data = append(data, int32(v))
	}
	if sites < 1 || len(data) < 2*sites {
		return 0, nil, fmt.Errorf("%s: shape %v, want at least two images", path, shape)
	}
	return sites, data, nil
}
