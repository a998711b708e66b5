package beam

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

var ctx = context.Background()

// spins is a job of chains of spins on a ring; Fail is how the first attempt at
// chain 700 ends.
type spins struct {
	Kind string
	Fail string
}

var attempts atomic.Int64

var errInjected = errors.New("injected")

func init() {
	shard.Register("spins", func(a spins) (shard.Run, error) {
		m, err := model.NewIsing(model.Lattice{8}, 0.4, 0.1)
		if err != nil {
			return nil, err
		}
		switch a.Kind {
		case "ais":
			return shard.AIS{Model: m, Method: mcmc.Gibbs{}, Config: anneal.AISConfig{Chains: 3200, Seed: 2, Stages: 5}}, nil
		case "samples":
			chain, err := model.NewMarkov(6, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
			if err != nil {
				return nil, err
			}
			d, err := denoise.NewMarkov(chain, denoise.Absorbing)
			return shard.Samples[int32]{
				Samples: 1000, Block: 10,
				New: func(ctx context.Context, first, count int) (shard.Sampler[int32], error) {
					return diffusion.New(ctx, d, diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{Seed: 3, First: first, Count: count})
				},
				Functions: []func([]int32) float64{func(x []int32) float64 { return float64(x[0]) }},
			}, err
		}
		c := shard.Chains{
			Model: m, Method: mcmc.Gibbs{}, Config: sampler.Config{Chains: 3200, Seed: 12, Warmup: 5}, Draws: 12,
			Functions: []func([]int32) float64{energy.Magnetization}, Names: []string{"m"},
		}
		if a.Fail != "" {
			c.Config.Observe = func(chain, draw int, _ []int32, _ *sampler.Info) {
				if chain == 700 && draw == 3 && attempts.Add(1) == 1 {
					panic(errInjected)
				}
			}
		}
		return c, nil
	})
}

func job(kind, fail string) Job {
	return Job{Run: shard.Job{Target: "spins", Args: fmt.Appendf(nil, `{"Kind": %q, "Fail": %q}`, kind, fail)}}
}

// whole is the run in one piece, in this goroutine.
func whole(t testing.TB, j Job) []byte {
	run, err := j.Run.Build()
	require.NoError(t, err)
	n, _ := run.Size()
	tally, err := shard.Make(ctx, run, 0, n, "")
	require.NoError(t, err)
	return bytesOf(t, tally)
}

func bytesOf(t testing.TB, tally *diagnose.Tally) []byte {
	b, err := tally.MarshalBinary()
	require.NoError(t, err)
	return b
}

// execute runs the job on Prism, in this process.
func execute(t testing.TB, j Job, transform func(sdk.Scope, Job) (sdk.PCollection, error)) (*diagnose.Tally, error) {
	p, s := sdk.NewPipelineWithRoot()
	tally, err := transform(s, j)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "run.tally")
	require.NoError(t, Write(s, path, tally))
	if _, err := prism.Execute(ctx, p); err != nil {
		return nil, err
	}
	return Read(ctx, path)
}

func TestMain(m *testing.M) {
	sdk.Init()
	os.Exit(m.Run())
}

// Whatever the parts, the tally is that of the run in one piece.
func TestPrism(t *testing.T) {
	for kind, transform := range map[string]func(sdk.Scope, Job) (sdk.PCollection, error){"chains": Chains, "samples": Samples, "ais": AIS} {
		j := job(kind, "")
		want := whole(t, j)
		for _, parts := range []int{1, 7, 0} {
			j.Parts, j.Each = parts, parts == 7
			tally, err := execute(t, j, transform)
			require.NoError(t, err, kind)
			assert.Equal(t, want, bytesOf(t, tally), "%s in %d parts", kind, parts)
		}
	}
}

// A part that fails or panics fails the pipeline; done again it has the same bits.
func TestFailures(t *testing.T) {
	want := whole(t, job("chains", ""))
	j := job("chains", "panic")
	attempts.Store(0)
	_, err := execute(t, j, Chains)
	require.ErrorContains(t, err, "injected")
	tally, err := execute(t, j, Chains)
	require.NoError(t, err)
	assert.Equal(t, want, bytesOf(t, tally))
}

func TestStates(t *testing.T) {
	j := job("samples", "")
	j.Parts, j.Each, j.States = 4, true, t.TempDir()
	_, err := execute(t, j, Samples)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(j.States, "*"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	b, err := os.ReadFile(filepath.Join(j.States, "states-000000000500.npy"))
	require.NoError(t, err)
	assert.Contains(t, string(b[:128]), "(250, 6)")

	j.States = filepath.Join(j.States, "none")
	_, err = execute(t, j, Samples)
	require.ErrorContains(t, err, "no such file")
}

// A runner takes parts away while a worker makes others: nothing is lost or made
// twice.
func TestSplit(t *testing.T) {
	f := &partsFn{Job: job("chains", "")}
	f.Job.Parts = 20
	require.NoError(t, f.Setup())
	all, err := f.CreateInitialRestriction(nil)
	require.NoError(t, err)
	assert.Equal(t, 20.0, f.RestrictionSize(nil, all))
	split := f.SplitRestriction(nil, all)
	assert.Len(t, split, 20)
	first := f.CreateTracker(all)
	var tallies [][]byte
	var rest any
	require.NoError(t, f.ProcessElement(ctx, first, nil, func(b []byte) {
		tallies = append(tallies, b)
		if rest == nil {
			_, rest, err = first.TrySplit(0.5)
			require.NoError(t, err)
		}
	}))
	require.NotNil(t, rest)
	assert.Positive(t, rest.(offsetrange.Restriction).Size())
	_, err = (&mergeFn{}).ExtractOutput(merge(t, tallies...))
	require.ErrorContains(t, err, "missing of 3200 chains")
	require.NoError(t, f.ProcessElement(ctx, f.CreateTracker(rest.(offsetrange.Restriction)), nil, func(b []byte) { tallies = append(tallies, b) }))
	out, err := (&mergeFn{}).ExtractOutput(merge(t, tallies...))
	require.NoError(t, err)
	assert.Equal(t, whole(t, f.Job), out)

	// Duplicates and damage are refused.
	m := &mergeFn{}
	_, err = m.MergeAccumulators(out, tallies[0])
	require.ErrorContains(t, err, "is in both")
	_, err = m.MergeAccumulators(out[1:], tallies[0])
	require.Error(t, err)
	_, err = m.ExtractOutput(nil)
	require.Error(t, err)

	stopped, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, f.ProcessElement(stopped, f.CreateTracker(all), nil, func([]byte) {}), context.Canceled)
}

func merge(t testing.TB, tallies ...[]byte) (all []byte) {
	for _, b := range tallies {
		var err error
		all, err = (&mergeFn{}).MergeAccumulators(all, b)
		require.NoError(t, err)
	}
	return all
}

// Elements grow until they take long enough.
func TestMore(t *testing.T) {
	assert.Equal(t, 8, more(4, 4, elementTime/2))
	assert.Equal(t, 4, more(4, 4, elementTime))
	assert.Equal(t, 4, more(4, 3, 0)) // the end of a range
}

func TestBadJobs(t *testing.T) {
	_, s := sdk.NewPipelineWithRoot()
	for want, c := range map[string]struct {
		job  Job
		make func(sdk.Scope, Job) (sdk.PCollection, error)
	}{
		"beam: chains: shard: Job.Target":                 {Job{}, Chains},
		"unknown field":                                   {Job{Run: shard.Job{Target: "spins", Args: []byte(`{"X": 1}`)}}, Chains},
		"beam: ais: Job.Run is a run of chains, want ais": {job("chains", ""), AIS},
		"Job.Run is a run of ais, want samples":           {job("ais", ""), Samples},
		"Job.Parts = -1, want 0 … 100 (3200 elements":     {Job{Run: job("chains", "").Run, Parts: -1}, Chains},
		"Job.Parts = 101":                                 {Job{Run: job("chains", "").Run, Parts: 101}, Chains},
	} {
		_, err := c.make(s, c.job)
		require.ErrorContains(t, err, want)
	}
	_, err := Chains(sdk.Scope{}, job("chains", ""))
	require.ErrorContains(t, err, "not that of a pipeline")
	tally, err := Chains(s, job("chains", ""))
	require.NoError(t, err)
	require.ErrorContains(t, Write(s, "", tally), "path is empty")
	require.ErrorContains(t, Write(s, "x", sdk.PCollection{}), "want the scope and a collection")
	_, err = Read(ctx, filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "beam: Read")
	_, err = Read(ctx, "none://x")
	require.ErrorContains(t, err, "scheme")
	require.ErrorContains(t, (&writeFn{Path: "none://x"}).ProcessElement(ctx, nil), "scheme")
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, (&writeFn{Path: path}).ProcessElement(ctx, []byte("x")))
	_, err = Read(ctx, path)
	require.ErrorContains(t, err, "not a saved tally")
	require.Error(t, (&writeFn{Path: filepath.Join(path, "x")}).ProcessElement(ctx, nil))
}
