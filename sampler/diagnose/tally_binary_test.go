package diagnose

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func TestTallyRefusesDamage(t *testing.T) {
	src := rand.New(rand.NewPCG(3, 3))
	a := tallyOf(t, TallyConfig{Chains: 3, Draws: 8, Run: "r"}, autoregressive(src, 3, 8, 0, 0))
	whole := bytesOf(t, a)
	var b Tally
	require.NoError(t, b.UnmarshalBinary(whole))
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1 << src.IntN(8)
		require.Error(t, b.UnmarshalBinary(bad), i)
		require.Error(t, b.UnmarshalBinary(whole[:i]), i)
	}
	assert.Equal(t, whole, bytesOf(t, &b))
	text, err := json.Marshal(a)
	require.NoError(t, err)
	require.ErrorContains(t, b.UnmarshalJSON(bytes.Replace(text, []byte(`"draws":8`), []byte(`"draws":9`), 1)), "not those of the counts")
	require.Error(t, b.UnmarshalJSON([]byte(`{"data":"AA=="}`)))
	require.Error(t, b.UnmarshalJSON([]byte(`[]`)))
	require.NoError(t, json.Unmarshal(text, &b))
	assert.Equal(t, whole, bytesOf(t, &b))
}

// The summary of a tally as JSON has what only it has, and says what does not merge;
// reasons are about the ESS that it has.
func TestTallySummaryJSON(t *testing.T) {
	a := tallyOf(t, TallyConfig{Chains: 3, Draws: 8}, autoregressive(rand.New(rand.NewPCG(3, 3)), 3, 8, 0, 0))
	s, err := a.Summary()
	require.NoError(t, err)
	b, err := json.Marshal(s)
	require.NoError(t, err)
	var got struct {
		Merged   bool
		Rows     []map[string]any
		Warnings []struct{ Figure string }
	}
	require.NoError(t, json.Unmarshal(b, &got))
	assert.True(t, got.Merged)
	row := got.Rows[0]
	assert.Equal(t, s.Rows[0].MCSEChains.Value, row["mcse_chains"])
	assert.Equal(t, s.Rows[0].RHatNested.Value, row["rhat_nested"])
	assert.Equal(t, s.Rows[0].Time.Value, row["time"])
	assert.Equal(t, map[string]any{"undefined": ErrRanks.Error()}, row["ess_bulk"])
	var figures []string
	for _, w := range got.Warnings {
		figures = append(figures, w.Figure)
	}
	assert.Contains(t, figures, "ess_mean")
	assert.NotContains(t, figures, "ess_bulk")
}

func FuzzTally(f *testing.F) {
	src := rand.New(rand.NewPCG(3, 3))
	f.Add(tallyOf(f, TallyConfig{Chains: 6, First: 2, Count: 2, Draws: 8, Nested: 2}, autoregressive(src, 2, 8, 0, 0)).body())
	f.Add(weighted(f, 3, 1, 4, -700).body())
	f.Add(tallyOf(f, TallyConfig{Chains: 1, Draws: 1}, [][]float64{{math.NaN()}}).body())
	f.Fuzz(func(t *testing.T, body []byte) {
		var a Tally
		if a.UnmarshalBinary(wire.Append(nil, tallyMagic, body)) != nil {
			return
		}
		_, _ = a.Summary() // whatever the sums say
		b := bytesOf(t, &a)
		var c Tally
		require.NoError(t, c.UnmarshalBinary(b))
		require.Equal(t, b, bytesOf(t, &c))
	})
}

// A tally of 2²⁰ chains, merged from its doubles, has as many bytes as one of a
// few, but for the digits that the sums grow by.
func TestTallyIsSmall(t *testing.T) {
	src := rand.New(rand.NewPCG(3, 3))
	var a *Tally
	few := 0
	for first := 0; first < 1<<20; {
		count := max(32, first)
		b := tallyOf(t, TallyConfig{Chains: 1 << 20, First: first, Count: 32, Draws: 96}, autoregressive(src, 32, 96, 0.5, 0))
		if first > 0 { // the sums of all before, as if of other chains
			b.rows, b.done, b.record = slices.Clone(a.rows), spans{{first, first + count}}, nil
			require.NoError(t, a.Merge(b))
		} else {
			a, few = b, len(bytesOf(t, b))
		}
		first += count
	}
	require.NoError(t, a.Missing())
	assert.Less(t, len(bytesOf(t, a)), few+4*80)
	assert.Less(t, few, 5000)
}

// A draw allocates nothing but the memory of a chain's draws.
func TestTallyObserveAllocatesNothing(t *testing.T) {
	a, err := NewTally(TallyConfig{Chains: 1, Draws: 1000}, func(x []int32) float64 { return float64(x[0]) })
	require.NoError(t, err)
	x, info := []int32{1}, &sampler.Info{Accept: 1}
	a.Observe(0, 0, x, info)
	assert.Zero(t, testing.AllocsPerRun(100, func() { a.Observe(0, 0, x, info) }))
}

// 30 000 parts of one function: ≤ 33 µs each for a second.
func BenchmarkTallyMerge(b *testing.B) {
	src := rand.New(rand.NewPCG(3, 3))
	const chains = 32
	list := make([][]byte, 256)
	for i := range list {
		list[i] = bytesOf(b, tallyOf(b, TallyConfig{Chains: chains * 30_000, First: chains * i, Count: chains, Draws: 96}, autoregressive(src, chains, 96, 0.5, 0)))
	}
	b.ReportMetric(float64(len(list[0])), "bytes")
	var all Tally
	var part Tally // its memory serves all
	for i := 0; b.Loop(); i++ {
		if i%len(list) == 0 {
			all = Tally{}
		}
		if err := errors.Join(part.UnmarshalBinary(list[i%len(list)]), all.Merge(&part)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCondense(b *testing.B) {
	x := autoregressive(rand.New(rand.NewPCG(3, 3)), 1, 1000, 0.5, 0)[0]
	for b.Loop() {
		condense(0, x)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(x)), "ns/draw")
}
