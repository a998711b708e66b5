package tune_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// accept is an acceptance probability that falls with the step size and is
// tune.Target at 1.
func accept(alpha float64) float64 { return 1 / (1 + alpha*(1-tune.Target)/tune.Target) }

// From any start in [1e-3, 1e3] the step size comes home, and the end of warm-up
// averages over its second half.
func TestEveryStartComesHome(t *testing.T) {
	for _, start := range []float64{1e-3, 0.1, 1, 10, 1e3} {
		u, err := tune.New("test", start, 0)
		require.NoError(t, err)
		assert.Equal(t, tune.Target, u.Goal())
		alpha := start
		const n = 400
		for k := range n {
			alpha = u.Adapt(accept(alpha), k, n)
		}
		assert.InDelta(t, 0, math.Log(alpha), 0.05, "from %v", start)
	}
}

// Where most proposals change nothing the step size comes to where the others
// are accepted as often as the target; the mean over all, which never falls to it,
// would take α to its bound. Runs with fewer of them are those of Adapt.
func TestProposalsThatChangeNothingHaveNoSay(t *testing.T) {
	for _, start := range []float64{1e-2, 1, 1e3} {
		u, err := tune.New("test", start, 0)
		require.NoError(t, err)
		all, _ := tune.New("test", start, 0)
		alpha, mean := start, start
		const n = 1000
		for k := range n {
			p := tune.Proposals{Accept: 0.95 + 0.05*accept(alpha), Changing: 0.05, Among: accept(alpha)}
			if k%2 == 1 {
				p = tune.Proposals{Accept: 1}
			}
			alpha, mean = u.AdaptTo(p, k, n), all.Adapt(0.95+0.05*accept(mean), k, n)
		}
		assert.InDelta(t, 0, math.Log(alpha), 0.3, "from %v", start)
		assert.Greater(t, mean, 1e3)
		assert.Zero(t, u.Bound())
	}
	u, _ := tune.New("test", 0.2, 0)
	all, _ := tune.New("test", 0.2, 0)
	for k := range 300 {
		a := float64(k%7) / 7
		require.Equal(t, all.Adapt(a, k, 300), u.AdaptTo(tune.Proposals{Accept: a, Changing: 0.5, Among: 0.1}, k, 300))
	}
}

// At its bounds a tuner reports it: at the upper one only if nothing changes, for on a
// flat target the longest step is right.
func TestBoundsAreReported(t *testing.T) {
	for _, c := range []struct {
		p    tune.Proposals
		want int
	}{
		{tune.Proposals{Accept: 0, Changing: 1, Among: 0}, -1},
		{tune.Proposals{Accept: 1, Changing: 0.99, Among: 1}, 0},
		{tune.Proposals{Accept: 1, Changing: 0.01, Among: 1}, 1},
		{tune.Proposals{Accept: 0.574, Changing: 1, Among: 0.574}, 0},
	} {
		u, _ := tune.New("test", 1, 0)
		for k := range 2000 {
			u.AdaptTo(c.p, k, 1<<30)
		}
		assert.Equal(t, c.want, u.Bound(), "%v", c.p)
	}
}

// A rate that does not answer drives the step size to its bounds and no further.
func TestBounds(t *testing.T) {
	for rate, want := range map[float64]float64{0: 1e-4, 1: 1e4} {
		u, err := tune.New("test", 1, 0.5)
		require.NoError(t, err)
		alpha := 0.0
		for k := range 2000 {
			alpha = u.Adapt(rate, k, 1<<30)
		}
		assert.InEpsilon(t, want, alpha, 1e-9)
	}
}

func TestTargetsOutOfRangeAreRefused(t *testing.T) {
	for _, target := range []float64{-0.1, 1, 2, math.NaN()} {
		_, err := tune.New("mcmc: DMALA", 1, target)
		require.ErrorContains(t, err, "mcmc: DMALA: Target = ")
	}
}

func TestStateResumes(t *testing.T) {
	run := func(u *tune.Tuner, from, to int) (alpha float64) {
		for k := from; k < to; k++ {
			alpha = u.AdaptTo(tune.Proposals{Accept: float64(k%7) / 7, Changing: float64(k%70) / 700, Among: float64(k%5) / 5}, k, 100)
		}
		return alpha
	}
	whole, _ := tune.New("test", 0.3, 0.4)
	half, _ := tune.New("test", 0.3, 0.4)
	want := run(whole, 0, 100)
	run(half, 0, 60)
	b, err := wire.AppendFields(nil, half.Fields)
	require.NoError(t, err)
	next, _ := tune.New("test", 7, 0.4)
	require.NoError(t, wire.ReadFields(b, next.Fields))
	assert.Equal(t, want, run(next, 60, 100))
	require.Error(t, wire.ReadFields(b[:4], next.Fields))

	next.Set(2)
	assert.InDelta(t, 2*math.Exp(0.6-0.4), next.Adapt(0.6, 0, 1<<30), 1e-9, "the gain of the first step is 1")
}

func TestMeanOfProposals(t *testing.T) {
	info := []struct {
		accept float64
		moved  int
	}{{1, 0}, {1, 3}, {0.5, 0}, {0, 0}}
	at := func(i int) (float64, int) { return info[i].accept, info[i].moved }
	assert.Equal(t, tune.Proposals{Accept: 2.5 / 4, Changing: 0.75, Among: 0.5}, tune.Mean(4, at))
	assert.Equal(t, tune.Proposals{Accept: 1}, tune.Mean(1, at), "nothing changes")
}

func TestWarningNamesTheBound(t *testing.T) {
	var none *tune.Tuner
	assert.Empty(t, none.Warning(1))
	for _, c := range []struct {
		p    tune.Proposals
		want string
	}{
		{tune.Proposals{Changing: 1}, "down to its bound, 0.0002"},
		{tune.Proposals{Accept: 1}, "up to its bound, 2e+04"},
		{tune.Proposals{Accept: 0.574, Changing: 1, Among: 0.574}, ""},
	} {
		u, err := tune.New("test", 1, 0)
		require.NoError(t, err)
		for k := range 5000 {
			u.AdaptTo(c.p, k, 1<<30)
		}
		if alpha := map[bool]float64{true: 2e-4, false: 2e4}[c.p.Accept == 0]; c.want == "" {
			assert.Empty(t, u.Warning(alpha))
		} else {
			assert.Contains(t, u.Warning(alpha), c.want)
		}
	}
}
