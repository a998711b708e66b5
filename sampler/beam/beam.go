package beam

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

func init() {
	register.DoFn4x1[context.Context, *tracker, []byte, func([]byte), error](&partsFn{})
	register.Emitter1[[]byte]()
	register.Combiner1[[]byte](&mergeFn{})
	register.DoFn2x1[context.Context, []byte, error](&writeFn{})
}

// Job says what a pipeline makes. Its run is named by a builder that the program
// registers on every worker (see [shard.Register]) and by arguments in JSON; no model
// is ever sent.
type Job struct {
	Run shard.Job

	// Parts is how finely the run is cut, 1 … its number of blocks; 0 means that
	// number, the finest. A worker makes as many consecutive parts at once as take
	// some 50 ms, and a runner may move those that it has not begun to another
	// worker. Results are the same for any Parts.
	Parts int

	// Each makes every part alone, however short it is.
	Each bool

	// States, if not empty, is a folder that the workers see. They keep the states
	// of what they make there, in files states-FIRST.npy that take their names
	// when they are whole and on disk. States never go through the runner.
	States string
}

// Chains adds the chains of a job to a pipeline and returns a collection of one
// element, the tally of the whole run as [diagnose.Tally.AppendBinary] writes it.
// Errors: a run of another kind, or one that cannot be built here; a Parts out of
// range. In the pipeline, whatever stops a part fails its bundle, which a runner may
// do again, to the same bits; a tally with a part that is missing or there twice is
// an error.
func Chains(s sdk.Scope, job Job) (sdk.PCollection, error) { return transform(s, "chains", job) }

// Samples is [Chains] for a job of samples, such as those of a diffusion.
func Samples(s sdk.Scope, job Job) (sdk.PCollection, error) { return transform(s, "samples", job) }

// AIS is [Chains] for a job of annealed importance sampling; [shard.AIS.LogZ] reads
// its tally.
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

// parts returns the number of parts of the run.
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

// elements returns those of parts from … to−1, which are neighbours.
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
