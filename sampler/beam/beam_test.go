package beam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

var (
	ctx   = context.Background()
	fails atomic.Int64 // how often the observer of "flaky" still fails
	last  atomic.Value // []byte, of the pipeline that ran last
)

type size struct{ N int }

func ring() (*model.Ising, error) { return model.NewIsing(model.Lattice{8}, 0.3, 0.1) }

func init() {
	chains := func(observe sampler.Observer) func(size) (shard.Run, error) {
		return func(a size) (shard.Run, error) {
			m, err := ring()
			return shard.Chains{
				Model: m, Method: mcmc.Gibbs{}, Draws: 8, Config: sampler.Config{Chains: a.N, Seed: 3, Warmup: 10, Observe: observe},
				Functions: []func([]int32) float64{energy.Magnetization},
			}, err
		}
	}
	shard.Register("chains", chains(nil))
	shard.Register("flaky", chains(func(chain, draw int, _ []int32, _ *sampler.Info) {
		if chain == 40 && draw == 3 && fails.Add(-1) >= 0 {
			panic(errors.New("injected"))
		}
	}))
	shard.Register("samples", func(a size) (shard.Run, error) {
		m, err := model.NewMarkov(12, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
		if err != nil {
			return nil, err
		}
		d, err := denoise.NewMarkov(m, denoise.Absorbing)
		return Diffusion{
			Denoiser: d, Process: diffusion.Masked{Mask: 2, FirstHitting: true}, Config: diffusion.Config{Seed: 2}, Count: a.N,
			Functions: []func([]int32) float64{func(x []int32) float64 { return float64(x[0]) }}, Names: []string{"first"},
		}, err
	})
	shard.Register("weights", func(a size) (shard.Run, error) {
		m, err := ring()
		return Annealed{Model: m, Method: mcmc.Gibbs{}, Config: anneal.AISConfig{Chains: a.N, Seed: 4, Stages: 20}, Reference: 6}, err
	})
	register.Function1x1(remember)
}

func TestMain(m *testing.M) {
	beam.Init() // as every program that builds pipelines
	os.Exit(m.Run())
}

func remember(b []byte) int {
	last.Store(append([]byte(nil), b...))
	return len(b)
}

func job(target string, n, parts int) Job {
	return Job{Job: shard.Job{Target: target, Args: json.RawMessage(fmt.Sprintf(`{"N":%d}`, n))}, Parts: parts}
}

// on runs a transform on prism, in this process, and returns its bytes.
func on(t *testing.T, transform func(beam.Scope, Job) (beam.PCollection, error), j Job) ([]byte, error) {
	p, s := beam.NewPipelineWithRoot()
	tally, err := transform(s, j)
	require.NoError(t, err)
	beam.ParDo(s, remember, tally)
	last.Store([]byte(nil))
	_, err = beam.Run(ctx, "prism", p)
	return last.Load().([]byte), err
}

// here makes the job in one piece, in this process.
func here(t *testing.T, j Job) []byte {
	run, err := j.Build()
	require.NoError(t, err)
	n, _ := run.Size()
	tally, err := shard.Make(ctx, run, 0, n, "")
	require.NoError(t, err)
	b, err := tally.MarshalBinary()
	require.NoError(t, err)
	return b
}

var transforms = map[string]func(beam.Scope, Job) (beam.PCollection, error){"chains": Chains, "samples": Samples, "weights": AIS}

// Every kind of job has the bits of one piece, in any number of parts.
func TestBits(t *testing.T) {
	for kind, transform := range transforms {
		want := here(t, job(kind, 320, 1))
		for _, parts := range []int{0, 1, 7, 10} {
			got, err := on(t, transform, job(kind, 320, parts))
			require.NoError(t, err)
			assert.Equal(t, want, got, "%s in %d parts", kind, parts)
			_, err = Tally(got)
			require.NoError(t, err)
		}
	}
}

func TestStates(t *testing.T) {
	for kind, transform := range transforms {
		j := job(kind, 100, 3)
		j.States = t.TempDir()
		_, err := on(t, transform, j)
		require.NoError(t, err)
		files, err := filepath.Glob(filepath.Join(j.States, "states-*.npy"))
		require.NoError(t, err)
		require.Len(t, files, 3)
		b, err := os.ReadFile(files[0])
		require.NoError(t, err)
		assert.Contains(t, string(b[:10]), "NUMPY")
	}
}

// What fails is an error of the pipeline, and gives the bits when it is done again.
func TestFailure(t *testing.T) {
	want := here(t, job("chains", 320, 1))
	fails.Store(math.MaxInt32)
	_, err := on(t, Chains, job("flaky", 320, 5))
	require.Error(t, err)
	fails.Store(0)
	got, err := on(t, Chains, job("flaky", 320, 5))
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestBadJobs(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	for want, j := range map[string]Job{
		"Job.Target = \"none\"":                          job("none", 32, 1),
		"makes a run of samples, want chains":            job("samples", 32, 1),
		"Job.Parts = 11, want 0 … 10 (320 elements in b": job("chains", 320, 11),
		"Job.Parts = -1":                                 job("chains", 320, -1),
		"Chains":                                         job("chains", -1, 0),
	} {
		_, err := Chains(s, j)
		require.ErrorContains(t, err, want)
	}
	for _, r := range []shard.Run{
		Diffusion{}, Diffusion{Denoiser: must(job("samples", 3, 1)).Denoiser, Process: diffusion.Masked{Mask: 2}, Count: 3, Names: []string{"a"}},
		Diffusion{Denoiser: must(job("samples", 3, 1)).Denoiser, Process: diffusion.Masked{Mask: 2}, Count: 3, Config: diffusion.Config{First: 1}},
		Annealed{}, Annealed{Model: new(model.Ising), Method: mcmc.Gibbs{}, Config: anneal.AISConfig{Count: 32}},
		Annealed{Model: new(model.Ising), Method: mcmc.Gibbs{}, Reference: math.NaN()},
	} {
		_, _, err := r.Part(0, 1)
		require.Error(t, err)
	}
	_, err := Tally(nil)
	require.Error(t, err)
	m := mergeFn{}
	_, err = m.MergeAccumulators([]byte("x"), []byte("y"))
	require.Error(t, err)
	b := here(t, job("chains", 64, 1))
	_, err = m.MergeAccumulators(b, []byte("y"))
	require.Error(t, err)
	_, err = m.MergeAccumulators(b, b)
	require.ErrorContains(t, err, "chain 0 is in both")
	_, err = (&Job{}).do(ctx, 0)
	require.Error(t, err)
}

func must(j Job) Diffusion {
	run, err := j.Build()
	if err != nil {
		panic(err)
	}
	return run.(Diffusion)
}

// log Z by enumeration, and as the library has it from the weights themselves.
func TestLogZ(t *testing.T) {
	got, err := on(t, AIS, job("weights", 640, 4))
	require.NoError(t, err)
	tally, err := Tally(got)
	require.NoError(t, err)
	logZ, stdErr, ess, err := LogZ(tally, 6)
	require.NoError(t, err)
	m, err := ring()
	require.NoError(t, err)
	res, err := anneal.AIS(ctx, m, mcmc.Gibbs{}, anneal.AISConfig{Chains: 640, Seed: 4, Stages: 20})
	require.NoError(t, err)
	assert.InEpsilon(t, res.Value, logZ, 1e-12)
	assert.InEpsilon(t, res.StdErr, stdErr, 1e-9)
	assert.InEpsilon(t, res.ESS, ess, 1e-9)
	z := 0.0
	for k := range 256 {
		var e [1]float64
		x := make([]int32, 8)
		for i := range x {
			x[i] = int32(k >> i & 1)
		}
		m.Energy(e[:], x)
		z += math.Exp(-e[0])
	}
	assert.InDelta(t, math.Log(z), logZ, 4.9*stdErr) // rate 1e−6
	assert.Less(t, stdErr, 0.1)

	chains, err := Tally(here(t, job("chains", 64, 1)))
	require.NoError(t, err)
	_, _, _, err = LogZ(chains, 6)
	require.ErrorContains(t, err, "not one of Annealed")
}
