package ground

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// signs is a random graph of weights ±2, …, ±2·largest with fields that are multiples of 2; site 0
// has up to most neighbours.
func signs(n, most, largest int) *model.Quadratic {
	r := rand.New(rand.NewPCG(3, uint64(most)))
	var edges []model.Edge
	for i := range n {
		for j := range i {
			if j == 0 && i <= most || r.IntN(4) == 0 {
				edges = append(edges, model.Edge{I: i, J: j, W: float64((4*r.IntN(2) - 2) * (1 + r.IntN(largest)))})
			}
		}
		edges = append(edges, model.Edge{I: i, J: i, W: float64(2*r.IntN(5) - 4)})
	}
	return exact.Must(model.NewQuadratic(n, edges, model.Polynomial{}))
}

func crowdOf(t *testing.T, m *model.Quadratic) (*system[int32], *crowd) {
	b := bonds.Of(m)
	w, f, _, ok := b.Integers(maxReach)
	require.True(t, ok)
	g := newSystem(b, w, f)
	c := newCrowd(g).empty()
	require.NotNil(t, c)
	return g, c
}

// A site of every member flips where it loses no more than one of the two thresholds, counted
// one by one.
func TestCrowdsFlip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for k, most := range []int{3, 7, 15, 40, 7, 40} {
		g, c := crowdOf(t, signs(41, most, 1+k/4*(k-2))) // weights of one magnitude, up to 3 and up to 4
		for i := range c.sites() {
			c.put(i, r.Uint64())
		}
		table, x, levels := acceptances(nil, 0.4, c.most), newSpins(g), make([]int32, c.sites())
		w := words{stream: *sampler.NewStream(5, 6), at: 256}
		two := 0
		for range 20 {
			for i := range c.sites() {
				var want uint64
				drawn := w
				a, b, mask := loss(table, drawn.next()), loss(table, drawn.next()), uint64(0)
				if a != b {
					mask = uint64(drawn.next())<<32 | uint64(drawn.next())
					two++
				}
				for m := range crowdMembers {
					c.member(levels, m)
					x.set(g, levels)
					accepted := b
					if mask>>m&1 == 1 {
						accepted = a
					}
					level := uint64(levels[i])
					if float64(x.loss[i]) <= float64(accepted)*c.half {
						level = 1 - level
					}
					want |= level << m
				}
				c.sweep(i, i+1, table, &w)
				require.Equal(t, want, c.x[i], "site %d of %d, at most %d neighbours", i, c.sites(), c.most)
				require.Equal(t, ^want, c.x[c.sites()+i])
			}
		}
		assert.Positive(t, two)
	}
}

// Large multiples of a weight, fields between multiples, reals and dense graphs are
// annealed one state at a time.
func TestCrowdsRefuse(t *testing.T) {
	for name, edges := range map[string][]model.Edge{
		"magnitudes": {{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 200}},
		"field":      {{I: 0, J: 1, W: 4}, {I: 1, J: 2, W: 4}, {I: 2, J: 2, W: 1}},
		"no pairs":   {{I: 0, J: 0, W: 1}},
	} {
		b := bonds.Of(exact.Must(model.NewQuadratic(3, edges, model.Polynomial{})))
		w, f, _, ok := b.Integers(maxReach)
		require.True(t, ok)
		assert.Nil(t, newCrowd(newSystem(b, w, f)), name)
	}
	b := bonds.Of(dense(9))
	assert.Nil(t, newCrowd(newSystem(b, b.Weight, b.Field)))
}

// A site may have a field and bonds of as many units as tables hold.
func TestCrowdOfGreatField(t *testing.T) {
	const n, bonds = 200, 4
	var edges []model.Edge
	for i := range n {
		for d := 1; d <= bonds/2; d++ {
			j := (i + d) % n
			edges = append(edges, model.Edge{I: min(i, j), J: max(i, j), W: 1})
		}
	}
	linear := make([]float64, n)
	linear[0] = maxReach - bonds
	m := exact.Must(model.NewQuadratic(n, edges, model.Polynomial{Linear: linear}))
	_, c := crowdOf(t, m)
	require.Equal(t, 2*maxReach, c.most)
	s := exact.Must(New(m, Config{Seed: 1, Sweeps: 1}))
	require.NoError(t, s.Run(t.Context(), 1))
	x, e := s.Best()
	require.Zero(t, x[0])
	require.Zero(t, e)
}

// By default a large model that a crowd anneals is searched once, any other one four times.
func TestCrowdsOfLargeModelsAreAlone(t *testing.T) {
	// rings of spins whose bonds span one and two sites
	ring := func(n int, unit float64) *model.Quadratic {
		var edges []model.Edge
		for i := range n {
			edges = append(edges, model.Edge{I: i, J: (i + 1) % n, W: 1}, model.Edge{I: i, J: (i + 2) % n, W: unit})
		}
		return exact.Must(model.NewQuadratic(n, edges, model.Polynomial{}))
	}
	n := crowdAlone + 1
	for _, c := range []struct {
		m      *model.Quadratic
		cfg    Config
		chains int
	}{
		{ring(n, 1), Config{}, 1},
		{ring(n, 1), Config{Init: make([]int32, n)}, 1},
		{ring(n, 1), Config{Init: make([]int32, 4*n)}, 4},
		{ring(n, 1), Config{Chains: 3}, 3},
		{ring(n-1, 1), Config{}, 4},
		{ring(n, 0.7123456), Config{}, 4},
	} {
		s, err := New(c.m, c.cfg)
		require.NoError(t, err)
		assert.Len(t, s.Energies(), c.chains)
		var file bytes.Buffer
		require.NoError(t, s.Save(&file))
		c.cfg.Chains = c.chains
		require.NoError(t, exact.Must(New(c.m, c.cfg)).Load(context.Background(), &file), "the default is this number")
	}
}
