package diagnose

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/sampler"
)

// first and second are functions of a state that carries fixed-point numbers.
func first(x []int32) float64  { return float64(x[0]) / 1000 }
func second(x []int32) float64 { return float64(x[1]) }

// feed shows draws from…to−1 of a series to a trace, chain by chain.
func feed(t *Trace, draws [][]float64, from, to int) {
	for c := range draws {
		for i := from; i < to; i++ {
			x := []int32{int32(math.Round(1000 * draws[c][i])), int32(i % 3)}
			t.Observe(c, i, x, &sampler.Info{Energy: float64(i), Accept: 0.25 * float64(c), Moved: c, Invalid: i % 2})
		}
	}
}

func TestTraceAgreesWithFunctions(t *testing.T) {
	x := posteriorSeries(t)["odd"]
	tr := NewTrace(first, second).Name("a", "b")
	feed(tr, x, 0, 151)
	assert.Equal(t, 3, tr.Chains())
	assert.Equal(t, 151, tr.Len())
	got, err := tr.Values("a")
	require.NoError(t, err)
	assert.Equal(t, x, got)

	s := tr.Summary()
	require.Len(t, s.Rows, 2)
	row := s.Rows[0]
	assert.Equal(t, "a", row.Name)
	mean, sd := meanSD(x)
	for _, c := range []struct {
		want float64
		got  Estimate
	}{{mean, row.Mean}, {sd, row.SD},
		{quantile(sorted(x), .05), row.Q5}, {quantile(sorted(x), .5), row.Q50}, {quantile(sorted(x), .95), row.Q95}} {
		assert.Equal(t, Estimate{Value: c.want}, c.got)
	}
	for name, e := range map[string]Estimate{"RHat": row.RHat, "ESSBulk": row.ESSBulk, "ESSTail": row.ESSTail,
		"ESSMean": row.ESSMean, "MCSEMean": row.MCSE} {
		want, err := diagnostics[name](x)
		require.NoError(t, err)
		assert.Equal(t, Estimate{Value: want}, e, name)
	}
	assert.Equal(t, 0.25, s.Accept.Value)
	assert.Equal(t, 1.0, s.Moves.Value)
	assert.Equal(t, 3*75, s.Invalid)
	assert.Equal(t, 151, s.Draws)
}

func TestTraceUsesTheDrawsThatAllChainsHave(t *testing.T) {
	x := posteriorSeries(t)["ar"]
	full, ragged := NewTrace(first), NewTrace(first)
	feed(full, x, 0, 100)
	feed(ragged, x, 0, 100)
	feed(ragged, x[:2], 100, 101)
	assert.Equal(t, 100, ragged.Len())
	assert.Equal(t, full.Summary().Rows, ragged.Summary().Rows)
}

func TestTraceReset(t *testing.T) {
	x := posteriorSeries(t)["ar"]
	for _, tr := range []*Trace{NewTrace(first, second), NewTrace(first, second).KeepStates(), NewStreamingTrace(first, second)} {
		feed(tr, x, 0, 70)
		want := tr.Summary()
		tr.Reset()
		assert.Zero(t, tr.Len())
		assert.Zero(t, tr.Summary().Invalid)
		feed(tr, x, 0, 70)
		assert.Equal(t, want, tr.Summary())
	}
}

func TestObserveWithoutInfo(t *testing.T) {
	for _, tr := range []*Trace{NewTrace(), NewStreamingTrace()} {
		tr.Observe(0, 0, []int32{1}, nil)
		s := tr.Summary()
		assert.ErrorIs(t, s.Accept.Err, ErrTooFew)
		assert.Equal(t, Estimate{}, s.Moves)
		assert.Equal(t, "1 chains × 1 draws, acceptance –, 0 moves per step\n", s.String())
	}
}

// Blocks of chains report at the same time; the race detector watches.
func TestObserveConcurrently(t *testing.T) {
	const chains, block, draws = 8, 2, 300
	for _, make := range []func(...func([]int32) float64) *Trace{NewTrace, NewStreamingTrace} {
		serial, parallel := make(first), make(first)
		show := func(tr *Trace, from, to int) {
			for i := range draws {
				for c := from; c < to; c++ {
					tr.Observe(c, i, []int32{int32((i*i + 7*c) % 100)}, &sampler.Info{Accept: 1, Moved: c})
				}
			}
		}
		show(serial, 0, chains)
		var wg sync.WaitGroup
		for c := 0; c < chains; c += block {
			wg.Go(func() { show(parallel, c, c+block) })
		}
		wg.Wait()
		assert.Equal(t, serial.Summary(), parallel.Summary())
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	x, info := []int32{1, 2}, &sampler.Info{Accept: 0.5}
	kept := NewTrace(first, second).KeepStates()
	kept.Observe(0, 0, x, info) // shows the number of sites
	for name, tr := range map[string]*Trace{
		"full": NewTrace(first, second), "states": kept, "streaming": NewStreamingTrace(first, second),
	} {
		tr.Reserve(1001)
		assert.Zero(t, testing.AllocsPerRun(1000, func() { tr.Observe(0, 0, x, info) }), name)
	}
}

func TestTracePanics(t *testing.T) {
	assert.PanicsWithValue(t, "diagnose: NewTrace: function 1 is nil", func() { NewTrace(first, nil) })
	tr := NewTrace(first).KeepStates()
	assert.PanicsWithValue(t, "diagnose: Name: 2 names, want 1", func() { tr.Name("a", "b") })
	assert.PanicsWithValue(t, "diagnose: chain = -1, want 0 ≤ chain < 268435456", func() { tr.Observe(-1, 0, nil, nil) })
	assert.PanicsWithValue(t, "diagnose: chain = 268435456, want 0 ≤ chain < 268435456", func() { tr.Observe(1<<28, 0, nil, nil) })
	tr.Observe(0, 0, []int32{1, 2}, nil)
	assert.PanicsWithValue(t, "diagnose: len(x) = 1, want 2", func() { tr.Observe(0, 1, []int32{1}, nil) })
	assert.Panics(t, func() { NewStreamingTrace(first).KeepStates() })
	late := NewTrace(first)
	late.Observe(0, 0, []int32{1}, nil)
	assert.Panics(t, func() { late.KeepStates() })
	_, err := NewStreamingTrace(first).Values("f1")
	assert.ErrorIs(t, err, ErrStreaming)
}

func BenchmarkObserve(b *testing.B) {
	x, info := []int32{1, 2}, &sampler.Info{Accept: 0.5}
	b.Run("mode=full", func(b *testing.B) {
		tr := NewTrace(first)
		tr.Reserve(1 << 16)
		for b.Loop() {
			if tr.Len() == 1<<16 {
				tr.Reset()
			}
			tr.Observe(0, 0, x, info)
		}
	})
	b.Run("mode=streaming", func(b *testing.B) {
		tr := NewStreamingTrace(first)
		for b.Loop() {
			tr.Observe(0, 0, x, info)
		}
	})
}

func BenchmarkSummary(b *testing.B) {
	const chains, draws = 64, 5000
	for _, mode := range []string{"full", "streaming"} {
		b.Run("mode="+mode, func(b *testing.B) {
			tr := NewTrace(first)
			if mode == "streaming" {
				tr = NewStreamingTrace(first)
			}
			tr.Reserve(draws)
			state := uint64(1)
			for c := range chains {
				var v int32
				for i := range draws {
					state = state*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator
					v = v/2 + int32(state>>44)
					tr.Observe(c, i, []int32{v}, nil)
				}
			}
			for b.Loop() {
				tr.Summary()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(chains*draws), "ns/draw")
		})
	}
}
