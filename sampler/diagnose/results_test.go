package diagnose

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

func ring(t *testing.T) *model.Ising {
	m, err := model.NewIsing(model.Lattice{9}, 0.3, 0.1)
	require.NoError(t, err)
	return m
}

// A trace has the chains of the run, however many they are, and those of a part
// of one that does not begin at 0; nothing is lost and nothing dies.
func TestTraceTakesItsSizeFromTheChains(t *testing.T) {
	for _, chains := range []int{1, 4, 64, 300} {
		for _, tr := range []*Trace{NewTrace(energy.Magnetization), NewStreamingTrace(energy.Magnetization)} {
			ch, err := sampler.NewChains(context.Background(), ring(t), mcmc.Gibbs{}, sampler.Config{Chains: chains, Warmup: -1, Observe: tr.Observe})
			require.NoError(t, err)
			require.NoError(t, ch.Run(context.Background(), 20))
			assert.Equal(t, chains, tr.Chains())
			assert.Equal(t, 20, tr.Len())
		}
	}
	tr := NewTrace(first)
	for c := 70000; c < 70004; c++ {
		tr.Observe(c, 0, []int32{int32(c)}, nil)
	}
	x, err := tr.Values("f1")
	require.NoError(t, err)
	assert.Equal(t, [][]float64{{70}, {70.001}, {70.002}, {70.003}}, x)
	b, err := tr.AppendBinary(nil)
	require.NoError(t, err)
	back := NewTrace(first)
	require.NoError(t, back.UnmarshalBinary(b))
	assert.Equal(t, 70002, back.records()[2].chain)
}

// Chains that appear at the same time all get a record of their own.
func TestChainsAppearConcurrently(t *testing.T) {
	const chains = 3000
	tr := NewTrace(first)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for c := g; c < chains; c += 8 {
				tr.Observe(c, 0, []int32{int32(c)}, nil)
			}
		})
	}
	wg.Wait()
	x, err := tr.Values("f1")
	require.NoError(t, err)
	require.Len(t, x, chains)
	for c := range x {
		require.Equal(t, []float64{float64(c) / 1000}, x[c])
	}
}

func TestColumnsByName(t *testing.T) {
	energies := make([][]float64, 3)
	tr, err := Record(context.Background(), ring(t), mcmc.Metropolis{}, sampler.Config{Chains: 3, Seed: 1, Warmup: -1,
		Observe: func(c, _ int, x []int32, _ *sampler.Info) {
			e := []float64{0}
			ring(t).Energy(e, x)
			energies[c] = append(energies[c], e[0])
		}}, 50, energy.Magnetization)
	require.NoError(t, err)
	tr.Name("mag").Reserve(10)
	for _, name := range []string{"mag", "energy", "accept", "moves"} {
		x, err := tr.Values(name)
		require.NoError(t, err)
		row, err := tr.Row(name)
		require.NoError(t, err)
		mean, _ := meanSD(x)
		assert.Equal(t, name, row.Name)
		assert.Equal(t, mean, row.Mean.Value)
	}
	for c, x := range must(tr.Values("energy")) {
		assert.InDeltaSlice(t, energies[c], x, 1e-9)
	}
	assert.Equal(t, tr.Summary().Rows[0], must(tr.Row("mag")))
	_, err = tr.Values("Mag")
	assert.EqualError(t, err, `diagnose: Values: name = "Mag", want one of mag, energy, accept, moves`)
	_, err = tr.Row("Mag")
	assert.ErrorContains(t, err, "diagnose: Row: name")
	own := NewTrace(first).Name("energy") // a function of that name comes first
	own.Observe(0, 0, []int32{5000}, &sampler.Info{Energy: 1})
	assert.Equal(t, [][]float64{{5}}, must(own.Values("energy")))
	_, err = NewStreamingTrace(first).Row("energy")
	assert.ErrorIs(t, err, ErrStreaming)
	_, err = Record(context.Background(), ring(t), mcmc.DMALA{StepSize: -1}, sampler.Config{}, 1)
	assert.ErrorContains(t, err, "StepSize = -1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Record(ctx, ring(t), mcmc.Gibbs{}, sampler.Config{}, 1)
	assert.ErrorIs(t, err, context.Canceled)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The best state is that of the lowest energy among all draws, and marginals are
// the frequencies of all draws, in both modes, also through a saved trace.
func TestBestAndMarginals(t *testing.T) {
	m := exact.Must(model.NewPotts(model.Lattice{4}, 3, 0.4, []float64{0.2, 0, 0}))
	for _, make := range []func(...func([]int32) float64) *Trace{NewTrace, NewStreamingTrace} {
		tr := make(first).KeepBest().KeepMarginals(3)
		_, _, err := tr.Best()
		assert.ErrorIs(t, err, ErrTooFew)
		_, err = tr.Marginals()
		assert.ErrorIs(t, err, ErrTooFew)
		low, counts, draws := math.Inf(1), [12]float64{}, 0.0
		var best []int32
		ch, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: 8, Seed: 5, Warmup: -1, Workers: 1,
			Observe: sampler.Observer(tr.Observe).And(func(_, _ int, x []int32, info *sampler.Info) {
				if info.Energy < low-1e-9 {
					low, best = info.Energy, slices.Clone(x)
				}
				draws++
				for i, l := range x {
					counts[3*i+int(l)]++
				}
			})})
		require.NoError(t, err)
		require.NoError(t, ch.Run(context.Background(), 400))
		b := must(tr.AppendBinary(nil))
		back := make(first).KeepBest().KeepMarginals(3)
		require.NoError(t, back.UnmarshalBinary(b))
		for _, tr := range []*Trace{tr, back} {
			x, e, err := tr.Best()
			require.NoError(t, err)
			assert.InDelta(t, low, e, 1e-9)
			got := []float64{0}
			m.Energy(got, x)
			assert.InDelta(t, e, got[0], 1e-9)
			assert.Len(t, best, len(x))
			mg, err := tr.Marginals()
			require.NoError(t, err)
			assert.Equal(t, int(draws), mg.Draws)
			for i, n := range counts {
				p, _ := mg.At(i/3, i%3)
				assert.InDelta(t, n/draws, p, 1e-12)
			}
			// Against the enumerated marginal, 12 of them at 1e-6: 5.6 standard errors
			// of a normal, 25 of Student's t with 7 degrees of freedom.
			pi, _ := exact.Law(m)
			for l := range 3 {
				p, se := mg.At(1, l)
				want := exact.Expect(pi, 4, 3, func(x []int32) float64 { return float64(energyDelta(x[1], int32(l))) })
				assert.InDelta(t, want, p, 25*se)
				assert.Less(t, se, 0.02)
			}
		}
		tr.Reset()
		_, _, err = tr.Best()
		assert.ErrorIs(t, err, ErrTooFew)
		require.NoError(t, ch.Run(context.Background(), 10))
		assert.Equal(t, 80, must(tr.Marginals()).Draws)
		assert.Panics(t, func() { tr.KeepBest() })
		assert.PanicsWithValue(t, "diagnose: x[1] = 3, want 0 … 2: KeepMarginals was given 3 levels", func() { tr.Observe(0, 0, []int32{0, 3, 0, 0}, nil) })
		assert.PanicsWithValue(t, "diagnose: len(x) = 1, want 4", func() { tr.Observe(0, 0, []int32{0}, nil) })
		assert.PanicsWithValue(t, "diagnose: Marginals: site = 4, level = 0, want < 4 and < 3", func() { must(tr.Marginals()).At(4, 0) })
	}
	bare := NewTrace(first)
	_, _, err := bare.Best()
	assert.EqualError(t, err, "diagnose: Best: not kept, want KeepBest before the first draw")
	_, err = bare.Marginals()
	assert.EqualError(t, err, "diagnose: Marginals: not kept, want KeepMarginals before the first draw")
	assert.Panics(t, func() { bare.KeepMarginals(0) })
	one := NewTrace().KeepMarginals(2)
	one.Observe(0, 0, []int32{1}, nil)
	_, se := must(one.Marginals()).At(0, 1)
	assert.True(t, math.IsNaN(se))
	one.Observe(1, 0, []int32{1, 1}, nil)
	_, err = one.Marginals()
	assert.ErrorContains(t, err, "chain 1 has 2 sites, want 1 as the first")
}

func energyDelta(a, b int32) int {
	if a == b {
		return 1
	}
	return 0
}

func TestHistogram(t *testing.T) {
	tr := NewTrace(first)
	for i := range 1000 {
		tr.Observe(i%2, i/2, []int32{int32(i)}, nil)
	}
	h, err := tr.Histogram("f1", 4)
	require.NoError(t, err)
	assert.Equal(t, []int{250, 250, 250, 250}, h.Counts)
	assert.Equal(t, 0.0, h.Edges[0])
	assert.Equal(t, 0.999, h.Edges[4])
	constant := NewTrace(first)
	constant.Observe(0, 0, []int32{2000}, nil)
	h = must(constant.Histogram("f1", 2))
	assert.Equal(t, []float64{1.5, 2, 2.5}, h.Edges)
	assert.Equal(t, []int{0, 1}, h.Counts)
	_, err = NewTrace(first).Histogram("f1", 2)
	assert.ErrorIs(t, err, ErrTooFew)
	_, err = tr.Histogram("f2", 2)
	assert.ErrorContains(t, err, `name = "f2"`)
	_, err = tr.Histogram("energy", 2) // unknown
	var bad *NotFinite
	assert.ErrorAs(t, err, &bad)
	assert.Panics(t, func() { tr.Histogram("f1", 0) })
	wide := NewTrace(func(x []int32) float64 { return math.Copysign(math.MaxFloat64, float64(x[0])) })
	wide.Observe(0, 0, []int32{-1}, nil)
	wide.Observe(0, 1, []int32{1}, nil)
	assert.Equal(t, []int{1, 0, 1}, must(wide.Histogram("f1", 3)).Counts)
}

// τ of an autoregression x_t = ρ x_{t−1} + ε is (1+ρ)/(1−ρ).
func TestAutocorrelationTime(t *testing.T) {
	r := sampler.NewStream(3, 0)
	x := newDraws(8, 20000)
	for c := range x {
		v := 0.0
		for i := range x[c] {
			u := 0.0
			for range 12 {
				u += r.Float64()
			}
			v = 0.5*v + u - 6
			x[c][i] = v
		}
	}
	tau, err := AutocorrelationTime(x)
	require.NoError(t, err)
	assert.InDelta(t, 3, tau, 0.3) // its standard error is near 0.05
	ess, err := ESSMean(x)
	require.NoError(t, err)
	assert.InDelta(t, 160000/ess, tau, 1e-9)
	_, err = AutocorrelationTime(x[:0])
	assert.ErrorIs(t, err, ErrTooFew)
}

// The summary as JSON says what the table says, with a reason for every warning
// and for every figure that is missing.
func TestSummaryJSON(t *testing.T) {
	tr := NewTrace(first, second).Name("a", "b")
	feed(tr, posteriorSeries(t)["allstuck"], 0, 4)
	s := tr.Summary()
	s.Seconds = 2
	b, err := json.Marshal(s)
	require.NoError(t, err)
	var got struct {
		Chains, Draws int
		Seconds       float64
		Rows          []map[string]any
		Warnings      []struct {
			Row, Figure, Text, Advice string
			Value                     any
			Limit                     float64
		}
	}
	require.NoError(t, json.Unmarshal(b, &got))
	assert.Equal(t, tr.Chains(), got.Chains)
	assert.Equal(t, 4, got.Draws)
	assert.Equal(t, "a", got.Rows[0]["name"])
	assert.Equal(t, s.Rows[0].Mean.Value, got.Rows[0]["mean"])
	assert.Equal(t, map[string]any{"undefined": s.Rows[0].ESSBulk.Err.Error()}, got.Rows[0]["ess_bulk"])
	assert.Equal(t, map[string]any{"infinite": true}, got.Rows[0]["rhat"])
	require.Len(t, got.Warnings, len(s.Warnings()))
	for i, w := range got.Warnings {
		assert.Equal(t, s.Warnings()[i], w.Text)
		assert.NotEmpty(t, w.Advice)
	}
	assert.Equal(t, "rhat", got.Warnings[0].Figure)
	assert.Equal(t, map[string]any{"infinite": true}, got.Warnings[0].Value)
	assert.Equal(t, rHatLimit, got.Warnings[0].Limit)
	assert.Equal(t, s.Warnings()[0], s.Reasons()[0].String())
	b, err = json.Marshal(NewTrace().Summary())
	require.NoError(t, err)
	assert.Contains(t, string(b), `"rows":[],"warnings":[]`)
	bad := NewTrace(func([]int32) float64 { return math.NaN() })
	bad.Observe(0, 0, nil, nil)
	assert.Equal(t, adviceFinite, bad.Summary().Reasons()[0].Advice)
}

// InferenceData has every number, to the bit, in ArviZ's layout.
func TestInferenceData(t *testing.T) {
	tr := NewTrace(first, second).Name("a", `b "quoted"`+"\n").KeepStates()
	feed(tr, posteriorSeries(t)["odd"], 0, 40)
	var b bytes.Buffer
	require.NoError(t, tr.WriteInferenceData(&b))
	type array = [][]float64
	var got struct {
		A, B array
		X    [][][]int32
	}
	var loose struct {
		Posterior map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &loose))
	require.Len(t, loose.Posterior, 3)
	require.NoError(t, json.Unmarshal(loose.Posterior["a"], &got.A))
	require.NoError(t, json.Unmarshal(loose.Posterior[`b "quoted"`+"\n"], &got.B))
	require.NoError(t, json.Unmarshal(loose.Posterior["x"], &got.X))
	assert.Equal(t, must(tr.Values("a")), got.A)
	assert.Equal(t, got.B[1][7], float64(got.X[1][7][1]))
	var stats struct {
		Stats map[string]array `json:"sample_stats"`
		Attrs map[string]string
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &stats))
	assert.Equal(t, must(tr.Values("accept")), stats.Stats["acceptance_rate"])
	assert.Equal(t, must(tr.Values("moves")), stats.Stats["n_moves"])
	assert.Equal(t, -must(tr.Values("energy"))[2][9], stats.Stats["lp"][2][9])
	assert.Equal(t, "gibbsite", stats.Attrs["inference_library"])

	odd := NewTrace(func(x []int32) float64 { return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0.1}[x[0]] })
	for i := range int32(4) {
		odd.Observe(0, 0, []int32{i}, nil)
	}
	b.Reset()
	require.NoError(t, odd.WriteInferenceData(&b))
	assert.Equal(t, `{"posterior": {"f1": [[NaN, Infinity, -Infinity, 0.1]]}, "sample_stats": {"n_moves": [[0, 0, 0, 0]]}, "attrs": {"inference_library": "gibbsite"}}`+"\n", b.String())
	for name, bad := range map[string]*Trace{
		`name "x"`: NewTrace(first).Name("x").KeepStates(), `name "chain"`: NewTrace(first).Name("chain"),
		`name "a"`: NewTrace(first, first).Name("a", "a"), "streaming": NewStreamingTrace(first),
	} {
		assert.ErrorContains(t, bad.WriteInferenceData(&b), name)
	}
	path := filepath.Join(t.TempDir(), "draws.json")
	require.NoError(t, tr.SaveInferenceData(path))
	assert.FileExists(t, path)
	long := NewTrace(first)
	feed(long, [][]float64{make([]float64, 40000)}, 0, 40000)
	assert.ErrorIs(t, long.WriteInferenceData(failing{}), errDisk)
	assert.True(t, strings.HasPrefix(errDisk.Error(), "disk"))
}

var errDisk = errors.New("disk full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errDisk }
