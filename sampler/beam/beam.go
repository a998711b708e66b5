// Package beam executes runs of package shard on any runner of Apache Beam: in this process, on a
// Prism server, on Flink, Spark or Dataflow.
//
// A run is defined by a function that returns a shard.Run, called its builder. Every worker
// registers the builder under a name, and the pipeline refers to it by that name:
//
//	func init() {
//		shard.Register("spins", func(a args) (shard.Run, error) { … })
//	}
//
//	sdk.Init() // of github.com/apache/beam/sdks/v2/go/pkg/beam
//	p, s := sdk.NewPipelineWithRoot()
//	tally, err := beam.Chains(s, beam.Job{Run: shard.Job{Target: "spins", Args: []byte(`{"Side": 10}`)}})
//	err = beam.Write(s, "gs://bucket/spins.tally", tally)
//	err = beamx.Run(ctx, p)
//	t, err := beam.Read(ctx, "gs://bucket/spins.tally")
//
// Only tallies (diagnose.Tally) pass through the runner, some 5 KB per recorded function for each
// 50 ms of work. The final tally has the same bits as that of an undivided run, even if the runner
// moves parts to other workers or computes a part again.
//
// Package beam is a separate module, so that the library does not depend on Beam.
package beam

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

func init() {
	register.DoFn4x1[context.Context, *tracker, []byte, func([]byte), error](&partsFn{})
	register.Emitter1[[]byte]()
	register.Combiner1[[]byte](&mergeFn{})
	register.DoFn2x1[context.Context, []byte, error](&writeFn{})
}

// Job describes a run and how a pipeline computes it. The field Run holds the name of a builder and
// its arguments in JSON. The program registers the builder on every worker (see [shard.Register]).
// Models are never sent.
type Job struct {
	Run shard.Job

	// Parts is the number of parts into which the run is divided; 0 means one part per block of the
	// run, which is the largest number allowed (see [shard.Run]). A worker makes consecutive parts
	// together, some 50 ms of work at a time. A runner may move parts that have not begun to
	// another worker. Results do not depend on Parts.
	Parts int

	// Each makes every worker run one part at a time. Otherwise a worker runs several short parts
	// together.
	Each bool

	// States, if not empty, is a folder to which all workers can write. A worker writes the states
	// of each part to a file states-FIRST.npy, where FIRST is the index of the part's first
	// element. A file gets its name only when it is complete and on disk. States never pass through
	// the runner.
	States string
}

// Chains adds a job of Markov chains ([shard.Chains]) to a pipeline. The result is a collection
// with one element. This element is the tally of all draws, in the format of
// [diagnose.Tally.AppendBinary]. Chains returns an error if the run is not a [shard.Chains] or
// cannot be built in this process, or if Parts is out of range.
//
// If a part returns an error, its bundle in the pipeline fails; the runner may then run the bundle
// again. The pipeline fails if a part is missing from the final tally or would be counted twice.
func Chains(s sdk.Scope, job Job) (sdk.PCollection, error) { return transform(s, "chains", job) }

// Samples adds a job of independent samples ([shard.Samples]), such as those of a diffusion, to a
// pipeline. Otherwise it is the same as [Chains].
func Samples(s sdk.Scope, job Job) (sdk.PCollection, error) { return transform(s, "samples", job) }

// AIS adds a job of annealed importance sampling ([shard.AIS]), which estimates log Z, to a
// pipeline. Otherwise it is the same as [Chains]. [shard.AIS.LogZ] reads the estimate from the
// tally.
func AIS(s sdk.Scope, job Job) (sdk.PCollection, error) { return transform(s, "ais", job) }

func transform(s sdk.Scope, kind string, job Job) (sdk.PCollection, error) {
	fail := func(err error) (sdk.PCollection, error) {
		return sdk.PCollection{}, fmt.Errorf("beam: %s: %w", kind, err)
	}
	if !s.IsValid() {
		return fail(errors.New("the scope is not that of a pipeline"))
	}
	run, err := job.Run.Build()
	if err != nil {
		return fail(err)
	}
	if run.Kind() != kind {
		return fail(fmt.Errorf("Job.Run is a run of %s, want %s", run.Kind(), kind))
	}
	if _, err := job.parts(run); err != nil {
		return fail(err)
	}
	n, block := run.Size()
	if _, _, err := run.Part(context.Background(), 0, min(n, block)); err != nil {
		return fail(err)
	}
	s = s.Scope("gibbsite " + kind)
	tallies, err := sdk.TryParDo(s, &partsFn{Job: job}, sdk.Impulse(s))
	if err != nil {
		return fail(err)
	}
	all, err := sdk.TryCombine(s, &mergeFn{}, tallies[0])
	if err != nil {
		return fail(err)
	}
	return all, nil
}

// parts returns the number of parts into which the job divides the run.
func (j Job) parts(run shard.Run) (int, error) {
	n, block := run.Size()
	if n < 1 || block < 1 {
		return 0, fmt.Errorf("Job.Run has %d elements in blocks of %d, want ≥ 1", n, block)
	}
	blocks := (n-1)/block + 1
	if j.Parts < 0 || j.Parts > blocks {
		return 0, fmt.Errorf("Job.Parts = %d, want 0 … %d (%d elements in blocks of %d)", j.Parts, blocks, n, block)
	}
	if j.Parts == 0 {
		return blocks, nil
	}
	return j.Parts, nil
}

// elements returns the range of elements that a range of consecutive parts covers.
func (j Job) elements(run shard.Run, from, to int) (first, count int, err error) {
	parts, err := j.parts(run)
	if err != nil {
		return 0, 0, err
	}
	n, block := run.Size()
	first, _, err = shard.Task{Index: from, Count: parts}.Range(n, block)
	if err != nil {
		return 0, 0, err
	}
	last, count, err := shard.Task{Index: to - 1, Count: parts}.Range(n, block)
	return first, last + count - first, err
}

// mergeFn merges tallies. An empty accumulator represents no tally.
type mergeFn struct{}

func (*mergeFn) MergeAccumulators(a, b []byte) ([]byte, error) {
	if len(a) == 0 || len(b) == 0 {
		return append(a, b...), nil
	}
	var x, y diagnose.Tally
	if err := errors.Join(x.UnmarshalBinary(a), y.UnmarshalBinary(b)); err != nil {
		return nil, err
	}
	if err := x.Merge(&y); err != nil {
		return nil, err
	}
	return x.MarshalBinary()
}

// ExtractOutput returns the merged tally a. It returns an error if the tally does not cover the
// whole run.
func (*mergeFn) ExtractOutput(a []byte) ([]byte, error) {
	var t diagnose.Tally
	if err := t.UnmarshalBinary(a); err != nil {
		return nil, err
	}
	return a, t.Missing()
}
