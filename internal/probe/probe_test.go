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

// Targets are told apart by method, name and energies, equal ones are not.
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
			energies, _ = value.([]float64)
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

// A model is told from one with another coupling, whichever of them it is.
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
