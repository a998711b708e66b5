package probe_test

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type named struct{ energy.Model }

func (named) Name() string { return "spins" }

func settings(m energy.Model) *fingerprint.List {
	l := &fingerprint.List{}
	probe.Target(l.Add, m, "a method", sampler.NewStream(probe.States, 0).IntN)
	return l
}

// Targets differ by method, name and energies; equal ones agree.
func TestTarget(t *testing.T) {
	ising := func(a float64) energy.Model { return exact.Must(model.NewIsing(model.Lattice{4}, a, 0)) }
	require.NoError(t, fingerprint.Compare(settings(ising(.2)), settings(ising(.2))))
	assert.ErrorContains(t, fingerprint.Compare(settings(ising(.2)), settings(ising(.3))), "energies of test states")
	assert.ErrorContains(t, fingerprint.Compare(settings(ising(.2)), settings(named{ising(.2)})), "model is unset in the checkpoint and")
	potts := exact.Must(model.NewPotts(model.Lattice{4}, 3, .2, nil))
	assert.ErrorContains(t, fingerprint.Compare(settings(ising(.2)), settings(potts)), "levels")

	// States without probability are repaired where the model can.
	clamped := exact.Must(energy.Clamp(ising(.2), map[int]int32{0: 1}))
	var energies []float64
	probe.Target(func(name string, value any) {
		if name == "energies of test states" {
			energies, _ = value.(fingerprint.Doubles)
		}
	}, clamped, nil, sampler.NewStream(probe.States, 0).IntN)
	require.NoError(t, sampler.CheckStart(energies))
	require.Len(t, energies, 10)

	// Matrix products belong to an instruction set.
	rbm := exact.Must(model.NewRBM([]float32{1, 2}, []float32{0}, []float32{0, 1}))
	set := ""
	probe.Target(func(name string, value any) {
		if name == "instruction set" {
			set, _ = value.(string)
		}
	}, rbm, nil, sampler.NewStream(probe.States, 0).IntN)
	assert.Equal(t, simd.Backend(), set)
}

// A model differs from one with another coupling, whichever coupling it is.
func TestEveryCouplingCounts(t *testing.T) {
	const n = 40
	with := func(edges ...model.Edge) energy.Model {
		return exact.Must(model.NewQuadratic(n, append([]model.Edge{{I: 0, J: 1, W: .1}}, edges...), model.Polynomial{}))
	}
	for i := range n {
		for j := range i {
			assert.ErrorContains(t, fingerprint.Compare(settings(with()), settings(with(model.Edge{I: i, J: j, W: 3}))), "energies of test states", "%d and %d", i, j)
		}
	}
}

// Units do not matter: a model differs from its negative, and from one with a slightly
// different coupling, at any scale.
func TestScaleDoesNotHideAModel(t *testing.T) {
	ising := func(a float64) energy.Model { return exact.Must(model.NewIsing(model.Lattice{4, 4}, a, 0)) }
	for _, scale := range []float64{1e-12, 1e-8, 1, 1e8} {
		require.NoError(t, fingerprint.Compare(settings(ising(scale)), settings(ising(scale))))
		for _, other := range []float64{-scale, 1.0000001 * scale} {
			assert.ErrorContains(t, fingerprint.Compare(settings(ising(scale)), settings(ising(other))), "energies of test states", "%v and %v", scale, other)
		}
	}
}

// What proposals take from a model in addition to its energies is a setting, too.
func TestTablesCount(t *testing.T) {
	plain := energy.Func{Sites: 6, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) }}
	field := func(by float32) energy.Model {
		f := plain
		f.Field = func(h []float32, x []int32) float64 {
			for i := range h {
				h[i] = by
			}
			return f.E(x)
		}
		return f
	}
	grad := func(by float32) energy.Model {
		f := plain
		f.Grad = func(g []float32, x []int32) float64 {
			for i := range g {
				g[i] = by * float32(i%2-int(x[i/2]))
			}
			return f.E(x)
		}
		return f
	}
	batch := func(rows, n int) energy.Model {
		f := plain
		f.Rows, f.Batch = rows, n
		f.Estimate = func(h []float32, x []int32, rows []int32) {
			clear(h)
			for _, r := range rows {
				h[0] += float32(r)
			}
		}
		return f
	}
	for name, c := range map[string]struct{ saved, here energy.Model }{
		"field at a test state":    {field(1), field(1.001)},
		"table at a test state":    {grad(1), grad(1.001)},
		"estimate at a test state": {batch(100, 10), batch(100, 20)},
	} {
		require.NoError(t, fingerprint.Compare(settings(c.saved), settings(c.saved)), name)
		assert.ErrorContains(t, fingerprint.Compare(settings(c.saved), settings(c.here)), name)
		assert.ErrorContains(t, fingerprint.Compare(settings(plain), settings(c.here)), name)
	}
	assert.ErrorContains(t, fingerprint.Compare(settings(batch(100, 10)), settings(batch(200, 10))), "estimate at a test state")
}
