package beam

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/rtrackers/offsetrange"

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// tracker assigns parts to a worker. A runner may move parts that have not begun to another
// worker.
type tracker = sdf.LockRTracker

// elementTime is the minimum work that is emitted as one tally. If parts take less, several are
// made together, because below some 50 ms the runner's overhead per element becomes noticeable.
const elementTime = 50 * time.Millisecond

// initialSplits is the number of ranges of parts with which a runner begins. It may split them
// further.
const initialSplits = 32

// partsFn is a splittable function that makes the parts of a job.
type partsFn struct {
	Job Job

	run shard.Run
}

// Setup builds the run, once per worker.
func (f *partsFn) Setup() error {
	run, err := f.Job.Run.Build()
	if err != nil {
		return fmt.Errorf("beam: %w", err)
	}
	f.run = run
	_, err = f.Job.parts(run)
	return err
}

// CreateInitialRestriction returns the range of all parts of the run.
func (f *partsFn) CreateInitialRestriction([]byte) (offsetrange.Restriction, error) {
	run, err := f.Job.Run.Build()
	if err != nil {
		return offsetrange.Restriction{}, fmt.Errorf("beam: %w", err)
	}
	parts, err := f.Job.parts(run)
	return offsetrange.Restriction{End: int64(parts)}, err
}

// SplitRestriction splits the range r into the ranges with which a runner begins.
func (*partsFn) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return r.EvenSplits(min(initialSplits, r.End-r.Start))
}

// RestrictionSize returns the number of parts in the range r.
func (*partsFn) RestrictionSize(_ []byte, r offsetrange.Restriction) float64 { return r.Size() }

// CreateTracker returns a tracker of the range r that is safe for concurrent use.
func (*partsFn) CreateTracker(r offsetrange.Restriction) *tracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

// ProcessElement computes each part of the run whose number is in the tracker's range, and emits
// the tallies of these parts.
func (f *partsFn) ProcessElement(ctx context.Context, t *tracker, _ []byte, emit func([]byte)) error {
	together, mine := 1, true
	for at := int(t.GetRestriction().(offsetrange.Restriction).Start); mine; {
		end := at
		for end < at+together && mine {
			if mine = t.TryClaim(int64(end)); mine {
				end++
			}
		}
		if end == at {
			break
		}
		began := time.Now()
		b, err := f.make(ctx, at, end)
		if err != nil {
			return err
		}
		emit(b)
		// there is one file of states per part, whichever worker makes it
		if !f.Job.Each && f.Job.States == "" {
			together = more(together, end-at, time.Since(began))
		}
		at = end
	}
	return t.GetError()
}

// more returns the number of parts to make together next, given how long the previous ones took.
func more(together, made int, took time.Duration) int {
	if took >= elementTime || made < together {
		return together
	}
	return 2 * together
}

// make makes a range of consecutive parts and returns their marshalled tally.
func (f *partsFn) make(ctx context.Context, from, to int) ([]byte, error) {
	first, count, err := f.Job.elements(f.run, from, to)
	if err != nil {
		return nil, err
	}
	var t *diagnose.Tally
	if t, err = shard.Make(ctx, f.run, first, count, f.Job.States); err != nil {
		return nil, err
	}
	return t.MarshalBinary()
}
