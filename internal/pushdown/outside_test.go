package pushdown

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/stretchr/testify/require"
)

// TestSpansAgreeWithNumbers compares float64 by the vector with numbers on many
// tiles, sums and marginals, for weights whose sums need the scale of rows.
func TestSpansAgreeWithNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 17))
	const sites = 70
	fast, alive, vector, wrong := 0, 0, 0, 0
	var p, q []float64
	most := 60
	if testing.Short() {
		most = 8
	}
	looked := 0
	for i := range 60 {
		m, v := randomMachine(r, 3), randomTokens(r, 3, 6)
		g := lifted(t, m, v)
		w := randomWeights(r, sites*6, []float64{0.5, 2, 40}[r.IntN(3)])
		run := NewRunner(g, sites, 6)
		run.tile, run.least = []int{tileSites, 8, 3}[i%3], []int{aheadLeast, 1}[i%2]
		got, err := run.Filter(w)
		if err != nil {
			_, err = run.filterNumbers(w)
			var dead *algebra.DeadError
			require.ErrorAs(t, err, &dead)
			continue
		}
		alive++
		if !run.exact {
			fast++
			looked += lookedAhead(run.spans)
		}
		x, y := make([]int32, sites), make([]int32, sites)
		run.Draw(x, rand.NewPCG(1, 1))
		require.True(t, accepts(m, v, x))
		p, q = resize(p, len(w)), resize(q, len(w))
		spans := !run.exact && vector < most && run.marginalsOfSpans(p)
		want, err := run.filterNumbers(w)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-10)
		if spans {
			vector++
			run.marginalsOfNumbers(q)
			require.Less(t, apart(p, q), 1e-9) // of logarithms, down to e^-1000 and below
			double(run.spans)                  // the twin takes what leaves at odd sites twice
			if !run.marginalsOfSpans(p) || apart(p, q) > 1e-6 {
				wrong++
			}
		}
		run.Draw(y, rand.NewPCG(1, 1))
		require.True(t, accepts(m, v, y))
	}
	require.Greater(t, fast, alive/2)
	require.Greater(t, looked, fast)
	require.Greater(t, vector, min(most, fast/2)-1)
	require.Greater(t, wrong, vector/4)
}

// lookedAhead counts the sums of several ends that the last tile and the whole
// sequence have begun.
func lookedAhead(s *spans) (n int) {
	for _, p := range append([]*panel{s.tops}, s.panels...) {
		if p != nil {
			for i := range p.ahead {
				if a := &p.ahead[i]; a.upto > a.begin {
					n++
				}
			}
		}
	}
	return n
}

func double(s *spans) {
	for lv := range s.levels {
		exits := len(s.g.levels[lv].exits)
		for i, x := range s.levels[lv].leave {
			for r := range x {
				x[r] *= float64(1 + i/exits%2)
			}
		}
	}
}

// apart is how far logarithms of probabilities differ, +Inf where one is −Inf
// alone.
func apart(p, q []float64) float64 {
	most := 0.0
	for i := range p {
		if p[i] != q[i] {
			most = max(most, math.Abs(p[i]-q[i])/max(1, math.Abs(q[i])*1e-3))
		}
	}
	return most
}
