package beam

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

// Job is a job of package shard and how it is cut.
type Job struct {
	shard.Job

	// Parts is the number of parts that the runner deals out; 0 takes so many
	// that each is some 100 ms of work, by making the first block once where the
	// pipeline is built.
	Parts int

	// States, unless empty, is a folder that all workers see: each keeps the states
	// of its parts there, as states-FIRST.npy.
	States string
}

// The work of a part, if Parts is 0. Beam takes some milliseconds for each.
const partTime = 100 * time.Millisecond

// plan builds the run, checks that it is of the kind, and returns the number of
// parts.
func (j *Job) plan(ctx context.Context, kind string) error {
	run, err := j.Build()
	if err != nil {
		return err
	}
	if run.Kind() != kind {
		return fmt.Errorf("beam: Job.Target %q makes a run of %s, want %s", j.Target, run.Kind(), kind)
	}
	n, block := run.Size()
	blocks := (n-1)/block + 1
	if j.Parts < 0 || j.Parts > blocks {
		return fmt.Errorf("beam: Job.Parts = %d, want 0 … %d (%d elements in blocks of %d)", j.Parts, blocks, n, block)
	}
	if j.Parts == 0 {
		start := time.Now()
		if _, err := shard.Make(ctx, run, 0, min(block, n), ""); err != nil {
			return err
		}
		each := max(1, int(partTime/max(time.Since(start), time.Microsecond)))
		j.Parts = (blocks-1)/each + 1
	}
	_, err = part(run, 0, j.Parts)
	return err
}

// span is what a part makes.
type span struct{ first, count int }

func part(run shard.Run, i, parts int) (span, error) {
	n, block := run.Size()
	first, count, err := shard.Task{Index: i, Count: parts}.Range(n, block)
	return span{first, count}, err
}

// do makes part i and returns its tally.
func (j *Job) do(ctx context.Context, i int) (*diagnose.Tally, error) {
	run, err := idle.take(j)
	if err != nil {
		return nil, err
	}
	p, err := part(run, i, j.Parts)
	if err != nil {
		return nil, err
	}
	t, err := shard.Make(ctx, run, p.first, p.count, j.States)
	if err != nil {
		return nil, err // the run may be broken
	}
	idle.give(j, run)
	return t, nil
}

// runs keeps what builders made, which may be large and slow to make, for the next
// part in this process. A run is used by one part at a time.
type runs struct {
	mu   sync.Mutex
	free map[string][]shard.Run
}

var idle = runs{free: map[string][]shard.Run{}}

func (r *runs) key(j *Job) string {
	b, _ := json.Marshal(j.Job) // a name and raw JSON
	return string(b)
}

func (r *runs) take(j *Job) (shard.Run, error) {
	key := r.key(j)
	r.mu.Lock()
	if list := r.free[key]; len(list) > 0 {
		r.free[key] = list[:len(list)-1]
		r.mu.Unlock()
		return list[len(list)-1], nil
	}
	r.mu.Unlock()
	return j.Build()
}

func (r *runs) give(j *Job, run shard.Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free[r.key(j)] = append(r.free[r.key(j)], run)
}
