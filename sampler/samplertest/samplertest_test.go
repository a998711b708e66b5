package samplertest_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/samplertest"
)

// barker changes one site at a time, in order, and accepts with Barker's probability
// 1/(1 + exp(ΔE)), unless it has one of the bugs below.
type barker struct{ Bug string }

// Name says which: they are different methods.
func (b barker) Name() string { return "barker" + b.Bug }

var made, steps atomic.Int64 // kernels and steps, for the bugs that look at them

func (b barker) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if b.Bug != "arguments" && (m == nil || chains < 1 || chains > sampler.BlockSize) {
		return nil, fmt.Errorf("barker: model %v and %d chains", m, chains)
	}
	if m == nil {
		return &kernel{bug: b.Bug}, nil
	}
	sites, levels := m.Shape()
	k := &kernel{bug: b.Bug, m: m, sites: sites, levels: levels, e: make([]float64, max(chains, 0)), f: make([]float64, 1), y: make([]int32, sites), lazy: 0.1}
	k.odd = made.Add(1)%2 == 1
	if b.Bug != "lost position" {
		k.Keep(&k.at)
	}
	if b.Bug != "lost step size" {
		k.Keep(&k.lazy)
	}
	if b.Bug != "lost energies" {
		k.Keep(k.e)
	}
	return k, nil
}

type kernel struct {
	sampler.Base
	bug           string
	m             energy.Model
	sites, levels int
	e, f          []float64
	y             []int32
	at            int     // site
	lazy          float64 // probability to propose nothing, which adapts
	odd           bool
	keep          []byte
}

func (k *kernel) Reset(_ sampler.Control, x []int32) error {
	if k.bug == "stale cache" && k.e[0] != 0 {
		return nil
	}
	k.m.Energy(k.e, x)
	if k.bug == "start" {
		return nil
	}
	return sampler.CheckStart(k.e)
}

func (k *kernel) Adapt([]sampler.Info, int, int) { k.lazy *= 0.99 }

func (k *kernel) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	done = 1 // also of a panic that is swallowed
	if k.bug == "swallowed panic" {
		defer func() { _ = recover() }()
	}
	if k.bug == "allocation" {
		k.keep = append([]byte(nil), k.keep[:0]...)
		k.keep = make([]byte, 100)
	}
	for s := range info {
		k.move(s, &info[s], x[s*k.sites:(s+1)*k.sites], &r[s], &r[0])
	}
	last := k.sites
	if k.bug == "skipped site" {
		last--
	}
	k.at = (k.at + 1) % last
	return done
}

func (k *kernel) move(s int, info *sampler.Info, x []int32, r, first *sampler.Stream) {
	if k.bug == "one stream" {
		*r = *first
	}
	site := k.at
	if k.bug == "kernel order" && k.odd || k.bug == "global state" && steps.Add(1)%7 == 0 {
		site = k.sites - 1 - site
	}
	before := k.e[s]
	*info = sampler.Info{Energy: before, Accept: 1}
	if r.Float64() < k.lazy || k.bug == "no move" {
		return
	}
	copy(k.y, x)
	k.y[site] = (x[site] + 1 + int32(r.IntN(k.levels-1))) % int32(k.levels)
	k.m.Energy(k.f, k.y)
	d := k.f[0] - before
	switch {
	case k.bug == "support" && math.IsInf(d, 1):
		d = 0
	case k.bug == "a tenth":
		d *= 1.1
	case k.bug == "acceptance":
		d *= 2
	case k.bug == "only up":
		d = max(d, 0)
	case k.bug == "asserted" && r.Float64() < 0.5:
		if _, ok := k.m.(energy.Graphical); ok {
			return
		}
	case k.bug == "wrong reverse" && k.levels > 2 && k.y[site] == 0:
		d -= math.Log(2)
	}
	info.Accept = 1 / (1 + math.Exp(d))
	if k.bug != "failure" && (math.IsNaN(k.f[0]) || math.IsInf(k.f[0], -1)) {
		info.Accept, info.Invalid = 0, 1
	}
	u := r.Float64() < info.Accept || math.IsNaN(info.Accept)
	if k.bug == "accept" {
		info.Accept *= 1.5
	}
	if u {
		copy(x, k.y)
		k.e[s] = k.f[0]
		info.Moved = 1
	}
	switch k.bug {
	case "moved":
		info.Moved = 0
	case "moved too much":
		info.Moved = 1
	case "reported energy":
		info.Energy = before
		return
	}
	info.Energy = k.e[s]
}

func TestRightMethod(t *testing.T) {
	opt := samplertest.Options{Report: t.Logf}
	if testing.Short() {
		opt.Draws = 8192
	}
	require.NoError(t, samplertest.TestMethod(t.Context(), barker{}, opt))
}

// Each of these kernels breaks one law, and is found by it.
func TestWrongMethods(t *testing.T) {
	for bug, want := range map[string]string{
		"acceptance":      "invariance: model 0 (Ising ring, 5 sites of 2 levels): after 1 steps from draws of the target",
		"only up":         "invariance",
		"wrong reverse":   "invariance: model 1 (Potts path",
		"support":         "invariance: model 2 (forbidden states",
		"stale cache":     "invariance",
		"no move":         "it does not move",
		"one stream":      "chains are at",
		"skipped site":    "mixing: model 0 (Ising ring, 5 sites of 2 levels): after 256 steps from [1 0 1 0 0]",
		"lost position":   "resume: model 0 (Ising ring, 5 sites of 2 levels): saved after 1 of 20 draws and loaded: chain 0 differs from draw 1",
		"lost energies":   "resume: model 0 (Ising ring, 5 sites of 2 levels): a kernel restored by UnmarshalBinary",
		"lost step size":  "resume",
		"swallowed panic": "panics: model 0 (Ising ring, 5 sites of 2 levels): the model panics at evaluation 18, 1 workers: method Run returns (<nil>) instead of panicking",
		"global state":    "chain 0 differs from draw 0",
		"kernel order":    "model 0", // of resume, workers or parts
		"allocation":      "allocations: model 0 (Ising ring, 5 sites of 2 levels): 1 allocations in a step, want none",
		"moved":           "reports",
		"moved too much":  "reports",
		"reported energy": "energy",
		"accept":          "reports",
		"failure":         "failures: model 0 (Ising ring, 5 sites of 2 levels): some states have the energy NaN",
		"start":           "failures",
		"asserted":        "wrappers: model 0 (Ising ring, 5 sites of 2 levels): a wrapper around the model",
		"arguments":       "Kernel(ctx, nil, 1) returns no error",
	} {
		t.Run(bug, func(t *testing.T) {
			if bug == "allocation" {
				exact.SkipUnderRace(t)
			}
			err := samplertest.TestMethod(t.Context(), barker{bug}, samplertest.Options{Draws: 4096})
			require.ErrorContains(t, err, want)
		})
	}
}

// The default number of draws finds an energy that is taken a tenth too high.
func TestDrawsFindATenth(t *testing.T) {
	exact.SkipUnderRace(t)
	err := samplertest.TestMethod(t.Context(), barker{"a tenth"}, samplertest.Options{})
	require.ErrorContains(t, err, "invariance: model 0 (Ising ring, 5 sites of 2 levels)")
}
