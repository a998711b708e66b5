package trellis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// agree reports whether counts of draws agree with the law of all at a false
// positive rate of rate.
func agree(all []listed, count map[string]int, rate float64) bool {
	logZ := logSum(all)
	n, p := make([]int, len(all)+1), make([]float64, len(all)+1)
	for i, s := range all {
		key := string(runes(s.x))
		n[i], p[i] = count[key], math.Exp(s.weight-logZ)
		delete(count, key)
	}
	for _, c := range count { // not in the language
		n[len(all)] += c
	}
	return exact.PValue(n, p) >= rate
}

// TestDrawLaw draws from 40 random problems and tests the joint law, at a rate
// of false alarms of 1e-6 in all. A twin that draws every site
// from its own weights, keeping only the language exact (token by token, left
// to right), must fail somewhere.
func TestDrawLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	caught := false
	for n := 0; n < 40; {
		p := newInstance(r)
		all, _ := p.brute()
		if len(all) < 3 {
			continue
		}
		n++
		run := compile(t, p)
		_, err := run.Filter(p.v)
		require.NoError(t, err)
		const draws = 4000
		count, twin := map[string]int{}, map[string]int{}
		x := make([]int32, p.config.Sites)
		for range draws {
			run.Draw(x, r)
			count[string(runes(x))]++
		}
		require.True(t, agree(all, count, 1e-6/40))
		if run.method == logarithm {
			continue
		}
		for range draws {
			myopic(run, x, r)
			twin[string(runes(x))]++
		}
		caught = caught || !agree(all, twin, 1e-6/40)
	}
	require.True(t, caught)
}

// myopic draws each token from its own weight among those that leave something
// to go on with.
func myopic(run *Runner, x []int32, src rand.Source) {
	q := int32(0)
	for t, l := range run.g.layers {
		sum, chosen := 0.0, int32(none)
		for e := l.row[q]; e < l.row[q+1]; e++ {
			w := run.sums(t)[l.col[e]]
			if run.values(t + 1)[l.to[e]] == 0 || w == 0 {
				continue
			}
			if sum += w; algebra.Unit(src)*sum < w {
				chosen = e
			}
		}
		x[t], q = run.pickToken(t, l, l.col[chosen], src), l.to[chosen]
	}
}

// TestFixedSites: revealing sites leaves results as they are by masking.
func TestFixedSites(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 300 {
		p := newInstance(r)
		all, _ := p.brute()
		if len(all) == 0 {
			continue
		}
		given := all[r.IntN(len(all))].x
		for i := range p.config.Sites {
			if r.IntN(2) == 0 {
				for l := range p.config.Levels {
					if int32(l) != given[i] {
						p.v[i*p.config.Levels+l] = float32(math.Inf(-1))
					}
				}
			}
		}
		all, _ = p.brute()
		logZ, err := compile(t, p).Filter(p.v)
		require.NoError(t, err)
		near(t, logSum(all), logZ, 1e-12)
	}
}

// TestNoAllocation: after the first round nothing allocates.
func TestNoAllocation(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	p := &instance{a: evenOnes(7), config: Config{Sites: 9, Levels: 7}, v: randomWeights(r, 63)}
	for i := range p.v {
		p.v[i] = float32(r.NormFloat64())
	}
	run := compile(t, p)
	x, m := make([]int32, 9), make([]float64, 63)
	src := rand.NewPCG(1, 2)
	round := func() {
		_, err := run.Filter(p.v)
		run.Draw(x, src)
		run.Marginals(m)
		_, err2 := run.MAP(x, p.v)
		run.LogProb(x)
		if err != nil || err2 != nil {
			panic("infeasible")
		}
	}
	round()
	require.Zero(t, testing.AllocsPerRun(20, round))
}
