package beam

import (
	"context"
	"fmt"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

func init() {
	register.DoFn4x1[context.Context, *sdf.LockRTracker, []byte, func([]byte), error](&partsFn{})
	register.Emitter1[[]byte]()
	register.Combiner1[[]byte](&mergeFn{})
}

// Chains runs a job whose target makes shard.Chains. The result is a collection of
// one element: the tally of all chains, as its MarshalBinary writes it (see [Tally]).
// It ends with an error if the job cannot be built here.
func Chains(s beam.Scope, job Job) (beam.PCollection, error) {
	return run(s.Scope("gibbsite.Chains"), job, "chains")
}

// Samples is [Chains] for a job whose target makes [Diffusion].
func Samples(s beam.Scope, job Job) (beam.PCollection, error) {
	return run(s.Scope("gibbsite.Samples"), job, "samples")
}

// AIS is [Chains] for a job whose target makes [Annealed].
func AIS(s beam.Scope, job Job) (beam.PCollection, error) {
	return run(s.Scope("gibbsite.AIS"), job, "weights")
}

func run(s beam.Scope, job Job, kind string) (beam.PCollection, error) {
	if err := job.plan(context.Background(), kind); err != nil {
		return beam.PCollection{}, err
	}
	parts, err := beam.TryParDo(s, &partsFn{Job: job}, beam.Impulse(s))
	if err != nil {
		return beam.PCollection{}, fmt.Errorf("beam: %w", err)
	}
	merged, err := beam.TryCombine(s, &mergeFn{}, parts[0])
	if err != nil {
		return beam.PCollection{}, fmt.Errorf("beam: %w", err)
	}
	return merged, nil
}

// Tally reads an element of what [Chains] and its like return, and checks that no
// element of the run is missing.
func Tally(b []byte) (*diagnose.Tally, error) {
	t := &diagnose.Tally{}
	if err := t.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	return t, t.Missing()
}

// partsFn makes the parts of a job, a splittable function of their range: a runner
// splits it for its workers, and again where one is slow.
type partsFn struct{ Job Job }

// initial is the number of pieces that the range is split into at first. A runner
// may run each on another worker, and splits further as it likes.
const initial = 256

// CreateInitialRestriction returns the range of all parts.
func (f *partsFn) CreateInitialRestriction([]byte) offsetrange.Restriction {
	return offsetrange.Restriction{Start: 0, End: int64(f.Job.Parts)}
}

// SplitRestriction splits a range in equal pieces.
func (f *partsFn) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return r.EvenSplits(min(initial, r.End-r.Start))
}

// RestrictionSize returns the number of parts in a range.
func (f *partsFn) RestrictionSize(_ []byte, r offsetrange.Restriction) float64 { return r.Size() }

// CreateTracker returns what the runner splits.
func (f *partsFn) CreateTracker(r offsetrange.Restriction) *sdf.LockRTracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

// ProcessElement makes the parts of a range.
func (f *partsFn) ProcessElement(ctx context.Context, t *sdf.LockRTracker, _ []byte, emit func([]byte)) error {
	r, ok := t.GetRestriction().(offsetrange.Restriction)
	if !ok {
		return fmt.Errorf("beam: restriction %T, want an offset range", t.GetRestriction())
	}
	for i := r.Start; t.TryClaim(i); i++ {
		tally, err := f.Job.do(ctx, int(i))
		if err != nil {
			return err
		}
		b, err := tally.MarshalBinary()
		if err != nil {
			return err
		}
		emit(b)
	}
	return nil
}

// mergeFn merges tallies; the order does not matter.
type mergeFn struct{}

// MergeAccumulators returns the tally of both.
func (f *mergeFn) MergeAccumulators(a, b []byte) ([]byte, error) {
	switch {
	case len(a) == 0:
		return b, nil
	case len(b) == 0:
		return a, nil
	}
	var x, y diagnose.Tally
	if err := x.UnmarshalBinary(a); err != nil {
		return nil, err
	}
	if err := y.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	if err := x.Merge(&y); err != nil {
		return nil, err
	}
	return x.MarshalBinary()
}
