package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Settings of the lattice run, chosen on samples with a seed other than the default.
const (
	latticeL1 = 0.02 // ℓ1 penalty, in nats per sample
	selection = 100  // steps of the pseudo-likelihood fit, which selects the zeros
	// sweeps of the sampler that generates the data, started from all up or all down
	sweeps = 200
)

// lattice estimates all couplings between the sites of a lattice from samples. The
// pseudo-likelihood with an ℓ1 penalty first determines which couplings are zero. Persistent
// chains then refine the others without the penalty, which would bias them.
func lattice(ctx context.Context, o options) (*report, error) {
	var sides model.Lattice
	for _, s := range strings.Split(o.lattice, ",") {
		k, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || k < 1 {
			return nil, fmt.Errorf("-lattice: side %q, want a number ≥ 1", s)
		}
		sides = append(sides, k)
	}
	truth, err := model.NewIsing(sides, 2*o.sigma, 0)
	if err != nil {
		return nil, err
	}
	n, _ := truth.Shape()
	if n > 2000 {
		return nil, fmt.Errorf("-lattice: %d sites have %d couplings, want at most 2000 sites", n, n*(n-1)/2)
	}
	data := make([]int32, o.n*n)
	for i := range data {
		data[i] = int32(i / n % 2)
	}
	source, err := sampler.NewChains(ctx, truth, mcmc.Gibbs{}, sampler.Config{Chains: o.n, Seed: o.seed, Warmup: -1, Init: data})
	if err != nil {
		return nil, err
	}
	if err := source.Run(ctx, sweeps); err != nil {
		return nil, err
	}
	copy(data, source.States())

	start := time.Now()
	m, err := model.NewDenseQuadratic(n, make([]float64, n*n), model.Polynomial{Values: []float32{-1, 1}})
	if err != nil {
		return nil, err
	}
	p, err := m.Learn()
	if err != nil {
		return nil, err
	}
	fixed := make([]bool, len(p.Params()))
	for i := range n {
		fixed[len(fixed)-1-i] = true // no fields
	}
	l1 := o.l1
	if l1 == 0 {
		l1 = latticeL1
	}
	until := func(part float64) func() bool {
		return func() bool { return time.Since(start).Seconds() >= part*o.seconds }
	}
	f, err := fit.New(ctx, p, data, fit.Config{Objective: fit.Pseudo{}, L1: l1, Fixed: fixed, Rate: dual.Constant(0.02), Memory: 0.9})
	if err != nil {
		return nil, err
	}
	if err := steps(ctx, f, selection, until(0.7)); err != nil {
		return nil, err
	}
	r := newReport(o, "lattice "+o.lattice)
	r.note("pseudo-likelihood with λ₁ = %v: log-RMSE %.2f, %v", l1, logRMSE(truth, p.Params(), o.sigma), f.Report())
	for k, v := range p.Params() {
		fixed[k] = fixed[k] || v == 0
	}
	chains, err := sampler.NewChains(ctx, p, mcmc.Gibbs{}, sampler.Config{Chains: 256, Seed: o.seed + 1, Warmup: -1})
	if err != nil {
		return nil, err
	}
	f, err = fit.New(ctx, p, data, fit.Config{Chains: chains, Fixed: fixed, Rate: dual.Power(0.02, 0.5), Memory: 0.99})
	if err != nil {
		return nil, err
	}
	if err := steps(ctx, f, math.MaxInt, until(1)); err != nil {
		return nil, err
	}
	if err := f.UseAverage(); err != nil {
		return nil, err
	}
	r.note("persistent chains: %v", f.Report())
	r.Seconds = time.Since(start).Seconds()
	r.set(&r.LogRMSE, logRMSE(truth, p.Params(), o.sigma))
	if o.Dir != "" {
		return r, r.couplings(o, p.Params(), n, nil, -0.5)
	}
	return r, nil
}

// steps makes up to most steps, and at least one. It stops early when over returns true.
func steps(ctx context.Context, f *fit.Fit, most int, over func() bool) error {
	for k := 0; k < most && (k == 0 || !over()); k++ {
		if err := f.Run(ctx, 1); err != nil {
			return err
		}
	}
	return nil
}

// logRMSE returns the natural logarithm of the root mean square error over all n² entries of J.
// The energy is E = −xᵀJx, so the model's coupling is A_ij = −2J_ij.
func logRMSE(truth *model.Ising, theta []float64, sigma float64) float64 {
	start, adj := truth.Graph()
	n, _ := truth.Shape()
	bonds := make([]float64, n*n)
	for i := range n {
		for _, j := range adj[start[i]:start[i+1]] {
			bonds[i*n+int(j)] = sigma
		}
	}
	sum, k := 0.0, 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			d := -theta[k]/2 - bonds[i*n+j]
			sum += 2 * d * d
			k++
		}
	}
	return math.Log(math.Sqrt(sum / float64(n*n)))
}
