package shard

import (
	"context"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Run is a run of independent elements (chains, samples) that parts can be made of.
// [Chains] is one. A Run must be safe for use by several goroutines.
type Run interface {
	// Kind says what the elements are: "chains", for instance.
	Kind() string

	// Size returns the number of elements of the whole run and the number of
	// consecutive ones that go together: parts begin at multiples of block, and
	// all but the last have a multiple of it.
	Size() (n, block int)

	// Part returns an empty tally of the elements first … first+count−1 and the
	// function that makes them, tells the tally and, unless states is nil, writes
	// their states to it. They must be a function of the run and their numbers.
	Part(ctx context.Context, first, count int) (t *diagnose.Tally, do func(ctx context.Context, states io.Writer) error, err error)
}

// Task is one of Count tasks that share a run; Index counts from 0.
type Task struct{ Index, Count int }

// Range returns the elements of the task's part: of n in blocks, nearly as many
// blocks as every other task, the first tasks one more. Errors: an Index out of
// range, more tasks than blocks.
func (t Task) Range(n, block int) (first, count int, err error) {
	if n < 1 || block < 1 {
		return 0, 0, fmt.Errorf("shard: Range: n = %d and block = %d, want ≥ 1", n, block)
	}
	blocks := (n-1)/block + 1
	if t.Count < 1 || t.Count > blocks {
		return 0, 0, fmt.Errorf("shard: Task.Count = %d, want 1 … %d (%d elements in blocks of %d)", t.Count, blocks, n, block)
	}
	if t.Index < 0 || t.Index >= t.Count {
		return 0, 0, fmt.Errorf("shard: Task.Index = %d, want 0 … %d", t.Index, t.Count-1)
	}
	at := func(k int) int {
		if k == t.Count {
			return n
		}
		return (k*(blocks/t.Count) + min(k, blocks%t.Count)) * block
	}
	first = at(t.Index)
	return first, at(t.Index+1) - first, nil
}
