package trellis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// TestCertificate: what certified lets pass is right, and without it sums that
// lost what mattered would pass as well.
func TestCertificate(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(14, 1))
	passed, caught := 0, 0
	for range 20000 {
		p := newInstance(r)
		for i := range p.v {
			p.v[i] = float32(350 * r.NormFloat64())
		}
		all, _ := p.brute()
		if len(all) == 0 {
			continue
		}
		run := compile(t, p)
		run.v, run.method = p.v, scaled
		run.enter(summing)
		require.NoError(t, run.allSums())
		run.enter(sweeping)
		dead := !run.sweep()
		run.enter(backward)
		if dead {
			continue
		}
		done, clean := run.linear()
		if !done {
			continue
		}
		wrong := math.Abs(run.logZ-logSum(all)) > 1e-10*math.Abs(logSum(all))
		if clean || run.certified() {
			require.False(t, wrong)
			passed++
		} else if wrong {
			caught++
		}
	}
	require.Greater(t, passed, 1000)
	require.Greater(t, caught, 5)
}

// TestLossWithoutZero is a small case of a sum that is positive and wrong. Three
// ways lead through three sites, with weights
//
//	0, 0, −800      0, −2000, 0      −300, −90, −560.
//
// The end of the first is lost against that of the second, which then is lost itself; the
// third is scaled up and survives. log Z is −800, not −950.
func TestLossWithoutZero(t *testing.T) {
	const x = none
	a := &table{levels: 3, accepting: []bool{false, true, true, true}, next: []int{
		1, 2, 3,
		1, x, x,
		x, 2, x,
		x, x, 3,
	}}
	p := &instance{a: a, config: Config{Sites: 3, Levels: 3}, v: []float32{
		0, 0, -300,
		0, -2000, -90,
		-800, 0, -560,
	}}
	run := compile(t, p)
	run.v, run.method = p.v, scaled
	run.enter(summing)
	require.NoError(t, run.allSums())
	run.enter(sweeping)
	require.True(t, run.sweep())
	run.enter(backward)
	done, clean := run.linear()
	require.True(t, done)
	require.False(t, clean)
	near(t, -950, run.logZ, 1e-12)
	require.False(t, run.certified())
	logZ, err := run.Filter(p.v)
	require.NoError(t, err)
	near(t, -800, logZ, 1e-12)
	y := make([]int32, 3)
	run.Draw(y, rand.NewPCG(1, 1))
	require.Equal(t, []int32{0, 0, 0}, y)
}

// TestLongSequences: scaling keeps a sum over 10⁴ sites of drifting weights in
// range; the normaliser factorises.
func TestLongSequences(t *testing.T) {
	const sites = 10000
	for _, drift := range []float32{-9, 0, 7} {
		v := make([]float32, sites*3)
		for i := range v {
			v[i] = drift + float32(i%3)
		}
		run := compile(t, &instance{a: evenOnes(3), config: Config{Sites: sites, Levels: 3}})
		got, err := run.Filter(v)
		require.NoError(t, err)
		require.Equal(t, scaled, run.method)
		near(t, parityLogZ(v, 3), got, 1e-12)
		m := make([]float64, len(v))
		run.Marginals(m)
		for _, t0 := range []int{0, sites / 2, sites - 1} {
			sum := 0.0
			for l := range 3 {
				sum += math.Exp(m[t0*3+l])
			}
			require.InDelta(t, 1, sum, 1e-9)
		}
	}
}

// TestFrontierNarrows: with all but one site revealed the sums visit one node
// per site.
func TestFrontierNarrows(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	const sites, levels = 20, 12
	p := &instance{a: classy(r, 30, levels, levels), config: Config{Sites: sites, Levels: levels}}
	run := compile(t, p)
	v := make([]float32, sites*levels)
	_, err := run.Filter(v)
	require.NoError(t, err)
	x := make([]int32, sites)
	run.Draw(x, r)
	for i := range x {
		for l := range levels {
			if l != int(x[i]) && i != 10 {
				v[i*levels+l] = float32(math.Inf(-1))
			}
		}
	}
	_, err = run.Filter(v)
	require.NoError(t, err)
	for i := 1; i <= 10; i++ {
		list, all := run.nodes(i)
		require.False(t, all)
		require.Len(t, list, 1)
	}
	for i := 11; i <= sites; i++ {
		list, _ := run.nodes(i)
		require.LessOrEqual(t, len(list), levels)
	}
}
