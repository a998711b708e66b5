package langevin

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// wide has so many coordinates that a chain moves alone, and no energy where its
// first is above the limit.
func wide(limit float32) energy.RealFunc {
	return energy.RealFunc{Dim: sweep.PollWork/sweep.SiteWork + 1, E: func(x []float32) float64 {
		if x[0] > limit {
			return math.NaN()
		}
		return 0.5 * float64(x[0]*x[0])
	}, Grad: func(g, x []float32) { clear(g); g[0] = x[0] }}
}

// three returns a kernel of three chains at x.
func three(t *testing.T, m energy.RealFunc, unadjusted bool, x []float32) *kernel {
	k := newKernel(&system{target: m, sites: m.Dim, step: 0.5, unadjusted: unadjusted}, 3)
	require.NoError(t, k.Reset(sampler.Control{}, x))
	return k
}

// A step that stops at every question, and goes on in a kernel restored from
// there, is the step that never stopped.
func TestLangevinStepsStop(t *testing.T) {
	const n = 3
	for name, unadjusted := range map[string]bool{"adjusted": false, "unadjusted": true} {
		t.Run(name, func(t *testing.T) {
			m := wide(0.4)
			x, y := make([]float32, n*m.Dim), make([]float32, n*m.Dim)
			whole, parts := three(t, m, unadjusted, x), three(t, m, unadjusted, y)
			streams := func() []sampler.Stream {
				r := make([]sampler.Stream, n)
				for i := range r {
					r[i].Seed(9, uint64(i))
				}
				return r
			}
			r, s := streams(), streams()
			want, got := make([]sampler.Info, n), make([]sampler.Info, n)
			whole.Step(sampler.Control{}, want, x, r)

			asked := 0
			for stops := 0; parts.Step(sampler.Control{Stop: func() bool { asked++; return asked%2 == 1 }}, got, y, s) == 0; stops++ {
				require.Less(t, stops, 20)
				b := exact.Must(parts.AppendBinary(nil))
				parts = three(t, m, unadjusted, make([]float32, n*m.Dim))
				require.NoError(t, parts.UnmarshalBinary(b))
			}
			require.Greater(t, asked, n, "chains ask twice, the last once")
			require.Equal(t, x, y)
			require.Equal(t, r, s)
			for c := range want {
				require.Equal(t, want[c].Moved, got[c].Moved)
				require.Equal(t, want[c].Invalid, got[c].Invalid)
				require.Equal(t, want[c].Err, got[c].Err)
			}
			failed := slices.ContainsFunc(want, func(i sampler.Info) bool { return i.Err != nil })
			require.Equal(t, unadjusted, failed, "the test is of chains that fail, too")
		})
	}
}

func TestLangevinResetStops(t *testing.T) {
	m := wide(9)
	x := make([]float32, 3*m.Dim)
	k := three(t, m, false, x)
	x[m.Dim] = 0.5
	stops := 0
	for {
		err := k.Reset(sampler.Control{Stop: func() bool { return true }}, x)
		if err == nil {
			break
		}
		require.Equal(t, sampler.ErrStopped, err)
		stops++
	}
	require.Equal(t, len(k.e)-1, stops)
	once := three(t, m, false, x)
	require.Equal(t, once.e, k.e)
	require.Equal(t, once.s, k.s)

	x[0] = 10
	err := k.Reset(sampler.Control{}, x)
	var start *sampler.StartError
	require.ErrorAs(t, err, &start)
}

func TestLangevinProgressIsChecked(t *testing.T) {
	at := sweep.NewCursor(3)
	fields := func(f *wire.Fields) { position(f, &at) }
	require.ErrorContains(t, wire.ReadFields(wire.AppendInts(nil, 3), fields), "chain of a step = 3, want 0 … 2")
	require.ErrorContains(t, wire.ReadFields(wire.AppendFloat64s(wire.AppendInts(nil, 1, 1, 7, 0), []float64{0, 1}), fields), "invalid proposals = 7, want 0 … 1")
	for _, short := range [][]byte{nil, wire.AppendInts(nil, 1), wire.AppendInts(nil, 1, 1, 0, 0), append(wire.AppendInts(nil, 0), 1)} {
		require.Error(t, wire.ReadFields(short, fields))
	}
}

func TestConfigParts(t *testing.T) {
	cfg := Config{Chains: 300, StepSize: 0.1}
	require.Equal(t, sampler.Config{Chains: 300}.Block(), cfg.Block())
	part, err := cfg.Part(1, 3)
	require.NoError(t, err)
	require.Zero(t, part.First%cfg.Block())
	require.Positive(t, part.Count)
	require.Equal(t, cfg.StepSize, part.StepSize)
	_, err = cfg.Part(3, 3)
	require.Error(t, err)
}

func TestLangevinAllocates(t *testing.T) {
	if exact.Race || testing.CoverMode() != "" {
		t.Skip("instrumentation allocates")
	}
	m, err := continuous.NewDiagonal([]float64{1, 1}, []float64{0, 0, 0, 1, 1, 1}, []float64{1, 2})
	require.NoError(t, err)
	l, err := New(context.Background(), m, Config{Chains: 8})
	require.NoError(t, err)
	require.NoError(t, l.Reset())
	k, streams := l.Kernels()[0], make([]sampler.Stream, 2)
	require.Zero(t, testing.AllocsPerRun(100, func() { k.Step(sampler.Control{}, l.Info()[:2], l.States()[:6], streams) }))
}
