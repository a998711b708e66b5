package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

const visible, hidden = 100, 16

// machine fits a restricted Boltzmann machine to samples of a known one. It reports log Z by
// annealed importance sampling and by the exact sum over all states of the hidden units.
func machine(ctx context.Context, o options) (*report, error) {
	src := rand.New(rand.NewPCG(o.seed, 1))
	normal := func(n int, sd float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(sd * src.NormFloat64())
		}
		return v
	}
	truth, err := model.NewRBM(normal(hidden*visible, 0.4), normal(hidden, 0.5), normal(visible, 0.5))
	if err != nil {
		return nil, err
	}
	source, err := sampler.NewChains(ctx, truth, mcmc.BlockGibbs{}, sampler.Config{Chains: o.n, Seed: o.seed, Warmup: -1})
	if err != nil {
		return nil, err
	}
	if err := source.Run(ctx, 1000); err != nil {
		return nil, err
	}
	data := append([]int32(nil), source.States()...)

	start := time.Now()
	first, err := model.NewRBM(normal(hidden*visible, 0.01), make([]float32, hidden), make([]float32, visible))
	if err != nil {
		return nil, err
	}
	p, err := first.Learn()
	if err != nil {
		return nil, err
	}
	chains, err := sampler.NewChains(ctx, p, mcmc.BlockGibbs{}, sampler.Config{Chains: 256, Seed: o.seed + 1, Warmup: -1})
	if err != nil {
		return nil, err
	}
	f, err := fit.New(ctx, p, data, fit.Config{Chains: chains, Batch: min(256, o.n), L1: o.l1, Seed: o.seed, Rate: dual.Power(0.03, 0.4)})
	if err != nil {
		return nil, err
	}
	if err := steps(ctx, f, cmp.Or(o.steps, 4000), func() bool { return time.Since(start).Seconds() > o.seconds }); err != nil {
		return nil, err
	}
	r := newReport(o, fmt.Sprintf("machine of %d visible and %d hidden units", visible, hidden))
	r.note("%v", f.Report())
	r.Seconds = time.Since(start).Seconds()
	exact, err := hiddenLogZ(ctx, p.Params())
	if err != nil {
		return nil, err
	}
	if err := certify(ctx, r, p, data, false, mcmc.BlockGibbs{}, cmp.Or(o.stages, 500), o.seed); err != nil {
		return nil, err
	}
	c, err := fit.Certify(ctx, p, data, func(context.Context) (float64, float64, error) { return exact, 0, nil })
	if err != nil {
		return nil, err
	}
	r.set(&r.LogLikExact, c.LogLik)
	r.set(&r.LogLik, c.LogLik)
	if o.mmd {
		r.Mixing, err = mixings(ctx, p, o.seed+4)
	}
	return r, err
}

// hiddenLogZ returns log Z as a sum over all states of the hidden units. It swaps the roles of
// the two layers, which leaves Z unchanged.
func hiddenLogZ(ctx context.Context, theta []float64) (float64, error) {
	w, bh, bv := make([]float32, visible*hidden), make([]float32, hidden), make([]float32, visible)
	for j := range hidden {
		for i := range visible {
			w[i*hidden+j] = float32(theta[j*visible+i])
		}
		bh[j] = float32(theta[hidden*visible+j])
	}
	for i := range bv {
		bv[i] = float32(theta[hidden*visible+hidden+i])
	}
	turned, err := model.NewRBM(w, bv, bh)
	if err != nil {
		return 0, err
	}
	sum, err := energy.Enumerate(ctx, turned)
	return sum.LogZ, err
}

// certify adds the log-likelihood of the data to the report. Annealed importance sampling
// estimates log Z, starting from independent sites fitted to the data. If enumerate is set, log
// Z is also computed exactly.
func certify(ctx context.Context, r *report, p energy.Model, data []int32, enumerate bool, method sampler.Method, stages int, seed uint64) error {
	sites, _ := p.Shape()
	rows := len(data) / sites
	logits := make([]float64, sites)
	for i := range logits {
		ones := 0.5
		for at := i; at < len(data); at += sites {
			ones += float64(data[at])
		}
		logits[i] = math.Log(ones / (float64(rows) + 1 - ones))
	}
	base, err := model.NewBernoulli(logits)
	if err != nil {
		return err
	}
	c, err := fit.Certify(ctx, p, data, func(ctx context.Context) (float64, float64, error) {
		z, err := anneal.AIS(ctx, p, method, anneal.AISConfig{Chains: 256, Stages: stages, Seed: seed + 3, Base: base})
		if err != nil {
			return 0, 0, err
		}
		return z.Value, z.StdErr, nil
	})
	if err != nil {
		return err
	}
	r.set(&r.LogLikAIS, c.LogLik)
	r.set(&r.LogLikErr, c.LogZErr)
	r.set(&r.LogLik, c.LogLik)
	if !enumerate {
		return nil
	}
	if c, err = fit.Certify(ctx, p, data, nil); err != nil {
		return err
	}
	r.set(&r.LogLikExact, c.LogLik)
	r.set(&r.LogLik, c.LogLik)
	return nil
}
