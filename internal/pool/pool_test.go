package pool_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

func TestEveryJobIsDoneOnce(t *testing.T) {
	for _, workers := range []int{1, 2, 7} {
		p := pool.New(workers)
		assert.Equal(t, workers, p.Workers())
		p.Start()
		for round := range 50 {
			done := make([]atomic.Int32, 40)
			p.Each(round%5, 40, func(worker, job int) {
				assert.Less(t, worker, workers)
				done[job].Add(1)
			})
			for job := range done {
				want := int32(1)
				if job < round%5 {
					want = 0
				}
				assert.Equal(t, want, done[job].Load(), "job %d", job)
			}
		}
		p.Stop()
		p.Stop() // twice is once
		ran := 0
		p.Each(0, 3, func(worker, _ int) { ran++ }) // without helpers
		assert.Equal(t, 3, ran)

		done := make([]atomic.Int32, 33)
		pool.Each(workers, len(done), func(job int) { done[job].Add(1) })
		for job := range done {
			assert.EqualValues(t, 1, done[job].Load())
		}
	}
}

func TestHandingOutAllocatesNothing(t *testing.T) {
	if exact.Race || testing.CoverMode() != "" {
		t.Skip("instrumentation allocates")
	}
	p := pool.New(2)
	p.Start()
	defer p.Stop()
	var sum atomic.Int64
	do := func(_, job int) { sum.Add(int64(job)) }
	assert.Zero(t, testing.AllocsPerRun(50, func() { p.Each(0, 8, do) }))
}
