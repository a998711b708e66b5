package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// method is a way to make generated series satisfy their limits. Most are variants of a
// diffusion; see diffusion.Config.ProjectState for a list.
type method struct {
	name    string
	config  diffusion.Config // settings that determine where the diffusion projects
	renoise bool             // whether the noise is recomputed from the projected prediction
	metric  bool             // whether the projector uses the posterior covariance as its metric
	penalty bool             // whether guidance by a penalty replaces the projector
	free    bool             // whether there is no constraint
	// whether the predictions are guided as in Guided-DiffTime
	guide bool
	// trains a network of the method's own and returns its denoiser for a held-out window; nil
	// for the common model
	own    func(p *problem, ctx context.Context, o options, l *lesson) (func(i int) energy.Denoiser[float32], error)
	flow   *diffusion.ECI // flow method that replaces the diffusion; nil for none
	critic bool           // whether a Wasserstein critic then moves the samples
	exact  bool           // whether samples are drawn from the conditional distribution itself
	// how a training window is chosen instead of running a model; none for a model
	from baseline
}

// baseline is the rule by which a training window is chosen.
type baseline uint8

const (
	none    baseline = iota
	nearest          // the training window that a projection moves least, projected
	drawn            // a random training window, projected
	asItIs           // a random training window, unchanged
)

// methods lists all methods, with constrained posterior sampling first. The last one gives the
// distances between real windows for reference.
var methods = []method{
	{name: "cps"},
	{name: "cps-metric", renoise: true, metric: true},
	{name: "conditional", exact: true},
	{name: "pdm", config: diffusion.Config{ProjectState: true}},
	{name: "prodigy", config: diffusion.Config{ProjectState: true, ProjectPower: 1}},
	{name: "cop-ft", config: diffusion.Config{ProjectState: true, ProjectEvery: -1}},
	{name: "cop-ft-critic", config: diffusion.Config{ProjectState: true, ProjectEvery: -1}, critic: true},
	{name: "guided", penalty: true},
	{name: "guided-difftime", free: true, guide: true},
	{name: "loss-difftime", free: true, own: (*problem).lossDiffTime},
	{name: "diffusion-ts", free: true, guide: true, own: (*problem).diffusionTS},
	{name: "noise-corrected", renoise: true},
	{name: "eci", flow: &diffusion.ECI{Mix: 5}},
	{name: "pcfm", flow: &diffusion.ECI{Resample: -1}},
	{name: "cop", from: drawn},
	{name: "cop-critic", from: drawn, critic: true},
	{name: "retrieval", from: nearest},
	{name: "unconstrained", free: true},
	{name: "real", from: asItIs},
}

// String returns the name.
func (m method) String() string { return m.name }

// chosen returns the methods of -method. If it is empty, these are all methods but those that train
// a network of their own.
func chosen(names string) (out []method, err error) {
	if names == "" {
		return slices.DeleteFunc(slices.Clone(methods), func(m method) bool { return m.own != nil }), nil
	}
	for _, name := range strings.Split(names, ",") {
		k := slices.IndexFunc(methods, func(m method) bool { return m.name == strings.TrimSpace(name) })
		if k < 0 {
			return nil, fmt.Errorf("-method: no method %q; there are %v", name, methods)
		}
		out = append(out, methods[k])
	}
	return out, nil
}

// denoiser returns the model of a method for held-out window i.
func (p *problem) denoiser(o options, m method, i int) energy.Denoiser[float32] {
	model := p.model
	if m.own != nil {
		model = p.own[m.name](i)
	}
	if m.guide {
		return guide{model, p.sets[i], o.weight, p.prior}
	}
	return model
}

// prepare trains the network of a method that has its own.
func (p *problem) prepare(ctx context.Context, o options, m method) error {
	if m.own == nil || p.own[m.name] != nil {
		return nil
	}
	l := &lesson{}
	model, err := m.own(p, ctx, o, l)
	if err != nil {
		return err
	}
	if p.own == nil {
		p.own, p.lessons = map[string]func(i int) energy.Denoiser[float32]{}, map[string]*lesson{}
	}
	p.own[m.name], p.lessons[m.name] = model, l
	return nil
}

// recipe returns the process and the configuration of a method for held-out window i.
func (p *problem) recipe(o options, m method, i int) (diffusion.Process[float32], diffusion.Config) {
	cfg := m.config
	cfg.Steps = o.steps
	cfg.Seed = o.seed + uint64(i)<<32 // the same noise for all methods
	g := diffusion.Gaussian{Schedule: schedule, Eta: o.eta, Recompute: m.renoise}
	switch {
	case m.penalty:
		return diffusion.Penalised{Process: g, Set: p.sets[i], Weight: o.weight, Covariance: p.prior.apply}, cfg
	case m.free:
		return g, cfg
	}
	near := proximal.Projector{Set: p.sets[i], Gamma: o.penalty()}
	if m.metric {
		near.Metric = func(dst, v []float64, t float64) { p.prior.apply(dst, v, schedule.Alpha(t)) }
	}
	cfg.Projector = near
	if m.flow != nil {
		return *m.flow, cfg
	}
	return g, cfg
}
