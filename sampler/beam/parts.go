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

// tracker hands parts to a worker, while a runner may take some away.
type tracker = sdf.LockRTracker

// Elements that take less than elementTime are made several at once: below some 50 ms, the runner's
// overhead per element becomes noticeable.
const elementTime = 50 * time.Millisecond

// initialSplits is the number of ranges of parts with which a runner begins; it may split them
// further.
const initialSplits = 32

// partsFn is a splittable function over the range of the parts of a job.
type partsFn struct {
	Job Job

	run shard.Run
}

// Setup builds the run, once for each worker.
func (f *partsFn) Setup() error {
	run, err := f.Job.Run.Build()
	if err != nil {
		return fmt.Errorf("beam: %w", err)
	}
	f.run = run
	_, err = f.Job.parts(run)
	return err
}

// CreateInitialRestriction returns all parts.
func (f *partsFn) CreateInitialRestriction([]byte) (offsetrange.Restriction, error) {
	run, err := f.Job.Run.Build()
	if err != nil {
		return offsetrange.Restriction{}, fmt.Errorf("beam: %w", err)
	}
	parts, err := f.Job.parts(run)
	return offsetrange.Restriction{End: int64(parts)}, err
}

// SplitRestriction returns the initial ranges.
func (*partsFn) SplitRestriction(_ []byte, r offsetrange.Restriction) []offsetrange.Restriction {
	return r.EvenSplits(min(initialSplits, r.End-r.Start))
}

// RestrictionSize returns the number of parts.
func (*partsFn) RestrictionSize(_ []byte, r offsetrange.Restriction) float64 { return r.Size() }

// CreateTracker implements a splittable function.
func (*partsFn) CreateTracker(r offsetrange.Restriction) *tracker {
	return sdf.NewLockRTracker(offsetrange.NewTracker(r))
}

// ProcessElement makes the parts of its range and emits their tallies.
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
		if !f.Job.Each && f.Job.States == "" { // files are of parts, whoever makes them
			together = more(together, end-at, time.Since(began))
		}
		at = end
	}
	return t.GetError()
}

// more returns how many parts to make at once next, given how long the last ones took.
func more(together, made int, took time.Duration) int {
	if took >= elementTime || made < together {
		return together
	}
	return 2 * together
}

// make makes parts from … to−1.
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
