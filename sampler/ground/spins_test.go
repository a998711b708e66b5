package ground

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func integers(t *testing.T, m energy.Model) (*system[int32], float64) {
	b := bonds.Of(m)
	w, f, unit, ok := b.Integers(maxReach)
	require.True(t, ok)
	return newSystem(b, w, f), unit
}

func reals(m energy.Model) *system[float64] {
	b := bonds.Of(m)
	return newSystem(b, b.Weight, b.Field)
}

func energyOf(m energy.Model, x interface{ levels([]int32) }) float64 {
	sites, _ := m.Shape()
	l, e := make([]int32, sites), make([]float64, 1)
	x.levels(l)
	m.Energy(e, l)
	return e[0]
}

// Losses are differences of energies, after any flips.
func checkLosses[T number](t *testing.T, m energy.Model, g *system[T], unit float64, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	x, y := newSpins(g), newSpins(g)
	x.random(g, sampler.NewStream(seed, 0))
	for range 20 {
		x.flip(g, r.IntN(g.sites()))
	}
	e := energyOf(m, x)
	for i := range g.sites() {
		y.copy(x)
		y.flip(g, i)
		require.InDelta(t, energyOf(m, y)-e, unit*float64(x.loss[i]), 1e-12)
		require.LessOrEqual(t, math.Abs(float64(x.loss[i])), float64(g.reach))
	}
	l := make([]int32, g.sites())
	x.levels(l)
	y.set(g, l)
	for i := range l {
		require.Equal(t, x.s[i], y.s[i])
		require.InDelta(t, float64(x.loss[i]), float64(y.loss[i]), 1e-12)
	}
}

func TestLosses(t *testing.T) {
	exact.SkipUnderRace(t)
	for name, m := range models(t) {
		if name == "huge" || name == "tiny" {
			continue
		}
		_, _, _, ok := bonds.Of(m).Integers(maxReach)
		assert.Equal(t, name != "dense" && name != "real glass", ok, name)
		if ok {
			g, unit := integers(t, m)
			checkLosses(t, m, g, unit, 1)
		}
		checkLosses(t, m, reals(m), 1, 1)
	}
}

func TestMirrored(t *testing.T) {
	for name, m := range models(t) {
		want := name == "glass" || name == "real glass" || name == "nothing" || name == "dense" || name == "huge" || name == "tiny"
		assert.Equal(t, want, reals(m).mirrored, name)
	}
}

// Of all states that clusters can make of two, takeOver finds the best, and says by
// how much it is better. Taking all of the better state over, or nothing, is worse.
func checkClusters[T number](t *testing.T, m energy.Model, g *system[T], unit float64) {
	t.Helper()
	c := newClusters[T](g.sites())
	never := func(int) bool { return false }
	wins := 0
	for seed := range uint64(40) {
		r := sampler.NewStream(seed, 5)
		x, y := newSpins(g), newSpins(g)
		x.random(g, r)
		y.copy(x)
		for range g.sites() / 3 {
			y.flip(g, r.IntN(g.sites()))
		}
		before, other := energyOf(m, x), energyOf(m, y)
		best := bestOfClusters(m, g, x, y)
		gain, ok := c.takeOver(g, x, y, seed%2 == 0, never)
		require.True(t, ok)
		after := energyOf(m, x)
		require.InDelta(t, before-after, unit*gain, 1e-9)
		require.InDelta(t, best, after, 1e-9)
		if after < min(before, other)-1e-9 {
			wins++
		}
		again, ok := c.takeOver(g, x, y, false, never)
		require.True(t, ok)
		require.InDelta(t, 0, again, 1e-9, "nothing is left to take over")
		// Stopped anywhere, it has done nothing.
		y.random(g, r)
		was := append([]T{}, x.s...)
		left := int(seed) % 7
		_, ok = c.takeOver(g, x, y, true, func(int) bool { left--; return left < 0 })
		require.False(t, ok)
		require.Equal(t, was, x.s)
	}
	assert.Greater(t, wins, 20, "clusters beat both states")
}

// bestOfClusters tries every subset of the clusters, found by repeated search for
// neighbours.
func bestOfClusters[T number](m energy.Model, g *system[T], x, y *spins[T]) float64 {
	n := g.sites()
	apart := 0
	for i := range n {
		if x.s[i] != y.s[i] {
			apart++
		}
	}
	label := make([]int, n)
	for i := range n {
		if (x.s[i] != y.s[i]) != (g.mirrored && apart > n/2) {
			label[i] = i + 1
		}
	}
	for again := true; again; {
		again = false
		for i := range n {
			for _, a := range g.row(i) {
				if label[i] > 0 && label[a.to] > 0 && label[a.to] != label[i] {
					label[i], label[a.to], again = min(label[i], label[a.to]), min(label[i], label[a.to]), true
				}
			}
		}
	}
	least := energyOf(m, x)
	z := newSpins(g)
	for l := 1; l <= n; l++ { // clusters change the energy independently
		z.copy(x)
		for i, v := range label {
			if v == l {
				z.flip(g, i)
			}
		}
		least += min(0, energyOf(m, z)-energyOf(m, x))
	}
	return least
}

func TestTakeOver(t *testing.T) {
	m := glass(8, false, 2)
	g, unit := integers(t, m)
	checkClusters(t, m, g, unit)
	real := glass(8, true, 2)
	checkClusters(t, real, reals(real), 1)
	field := exact.Must(m.WithFields(make([]float64, 64)))
	checkClusters(t, field, reals(field), 1)
}

// A sweep accepts a loss l with probability e^(−βl) to the last bit of 32: the table
// holds it, and sites of a field alone are flipped as often.
func TestAcceptances(t *testing.T) {
	table := acceptances(nil, 0.7, 1000)
	for l, p := range table {
		assert.InDelta(t, math.Exp(-0.7*float64(l)), float64(p)/two32, 1.1/two32)
	}
	assert.Less(t, math.Exp(-0.7*float64(len(table))), 1/two32)
	assert.Len(t, acceptances(nil, 0.7, 3), 4)
	assert.Len(t, acceptances(table, 0, 5), 6)
	assert.Less(t, simd.Exp(-neverBelow), 1/two32)
}

// Free spins in a field h flip from their ground state with probability e^(−2βh):
// counted over 2¹⁶ of them, in either number, within 5 standard deviations (a false
// alarm in 1.7 million).
func TestSweepAccepts(t *testing.T) {
	const n, beta = 1 << 16, 0.4
	check := func(flipped int, twin float64) {
		t.Helper()
		p := math.Exp(-2 * beta)
		sd := math.Sqrt(n * p * (1 - p))
		assert.InDelta(t, n*p, float64(flipped), 5*sd)
		assert.Greater(t, math.Abs(n*twin-float64(flipped)), 5*sd, "half the loss")
	}
	b := &bonds.Bonds{Start: make([]int32, n+1), Field: make([]float64, n)}
	fields := make([]int32, n)
	for i := range fields {
		fields[i], b.Field[i] = 2, 2
	}
	gi := newSystem(b, []int32{}, fields)
	xi := newSpins(gi)
	xi.set(gi, make([]int32, n))
	w := newSearcher(gi, nil, nil, nil, nil, scale{}, 1, 1).words
	xi.sweep(gi, 0, n, beta, acceptances(nil, beta, 10), &w)
	minus := 0
	for _, s := range xi.s {
		minus += int(1-s) / 2
	}
	check(minus, math.Exp(-beta))
	gr := newSystem(b, []float64{}, b.Field)
	xr := newSpins(gr)
	xr.set(gr, make([]int32, n))
	w = newSearcher(gr, nil, nil, nil, nil, scale{}, 2, 1).words
	xr.sweep(gr, 0, n, beta, nil, &w)
	minus = 0
	for _, s := range xr.s {
		minus += int(1-s) / 2
	}
	check(minus, math.Exp(-beta))
}

func TestScale(t *testing.T) {
	c := scale{0.1, 10}
	assert.InDelta(t, 0.1, c.at(0, 0), 1e-12)
	assert.InDelta(t, 10, c.at(0, 1), 1e-12)
	assert.InDelta(t, 5.05, c.at(0, 0.5), 1e-12, "linear")
	assert.InDelta(t, 1, c.at(0.5, 0), 1e-12, "positions are geometric")
	wide := scale{1e-6, 10}
	assert.InDelta(t, 10, wide.at(0, 1), 1e-9)
	assert.Less(t, wide.at(0, 0.5), 0.1, "bent")
	m, _ := integers(t, glass(6, false, 1))
	// Losses are −2 … 2 units, those of four weights ±½.
	assert.InDelta(t, hotField, scaleOf(m).hot, 1e-12)
	assert.InDelta(t, coldGap, scaleOf(m).cold, 1e-12)
	free := reals(exact.Must(energy.Scale(glass(3, false, 1), 0)))
	assert.Equal(t, scale{1, 1}, scaleOf(free))
}

func scaleOf[T number](g *system[T]) scale {
	c, _ := newScale(g, newPairs(g))
	return c
}
