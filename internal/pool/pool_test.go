package pool_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/pool"
)

var errUser = errors.New("the user's own")

func userCode(job int) {
	if job == 3 {
		panic(errUser)
	}
}

func caught(t *testing.T, f func()) *pool.Panic {
	t.Helper()
	var p *pool.Panic
	func() {
		defer func() {
			err, _ := recover().(error)
			require.ErrorAs(t, err, &p)
		}()
		f()
	}()
	return p
}

// A panic reaches the caller with its value and its stack, whatever the number
// of workers.
func TestPanicsReachTheCaller(t *testing.T) {
	for workers := 1; workers <= 5; workers++ {
		p := caught(t, func() { pool.Each(workers, 100, userCode) })
		assert.ErrorIs(t, p, errUser)
		assert.Contains(t, p.Error(), "userCode", "the stack, %d workers", workers)
		assert.Equal(t, 1, countOf(p.Error(), "in a job:"))

		c := pool.New(workers)
		c.Start()
		for range 20 {
			p = caught(t, func() { c.Each(0, 100, func(_, job int) { userCode(job) }) })
			assert.ErrorIs(t, p, errUser)
			assert.Contains(t, p.Error(), "userCode", "the stack, %d workers", workers)
			var sum atomic.Int64
			c.Each(0, 100, func(_, job int) { sum.Add(int64(job)) })
			assert.EqualValues(t, 4950, sum.Load(), "the pool stays usable")
		}
		c.Stop()

		b := pool.NewBurst(workers)
		for range 20 {
			p = caught(t, func() { b.Each(100, func(_, job int) { userCode(job) }) })
			assert.ErrorIs(t, p, errUser)
			assert.Contains(t, p.Error(), "userCode", "the stack, %d workers", workers)
			var sum atomic.Int64
			b.Each(100, func(_, job int) { sum.Add(int64(job)) })
			assert.EqualValues(t, 4950, sum.Load(), "the burst stays usable")
		}

		p = caught(t, func() { pool.Each(2, 4, func(int) { pool.Each(2, 4, userCode) }) })
		assert.Equal(t, errUser, p.Value, "jobs within jobs")
	}
}

func countOf(s, sub string) (n int) {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			n++
		}
	}
	return n
}

// A job that ends its goroutine, as testing.T.FailNow does, ends the caller's.
func TestGoexitReachesTheCaller(t *testing.T) {
	for workers := 1; workers <= 3; workers++ {
		for _, each := range []func(do func(int)){
			func(do func(int)) { pool.Each(workers, 50, do) },
			func(do func(int)) {
				c := pool.New(workers)
				c.Start()
				defer c.Stop()
				c.Each(0, 50, func(_, job int) { do(job) })
			},
			func(do func(int)) { pool.NewBurst(workers).Each(50, func(_, job int) { do(job) }) },
		} {
			went := make(chan bool, 1)
			go func() {
				on := false
				defer func() { went <- on }()
				each(func(job int) {
					if job == 49 {
						runtime.Goexit()
					}
				})
				on = true
			}()
			assert.False(t, <-went, fmt.Sprint(workers, " workers"))
		}
	}
}

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

		b := pool.NewBurst(workers)
		for _, jobs := range []int{0, 1, 40} {
			done := make([]atomic.Int32, jobs)
			b.Each(jobs, func(worker, job int) {
				assert.Less(t, worker, workers)
				done[job].Add(1)
			})
			for job := range done {
				assert.EqualValues(t, 1, done[job].Load(), "job %d", job)
			}
		}

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
	b := pool.NewBurst(2)
	assert.Zero(t, testing.AllocsPerRun(50, func() { b.Each(8, do) }))
}

// Calls that follow at once, while helpers still wait, and after they have gone do every
// job once; then no goroutine is left.
func TestBurstHelpersComeAndGo(t *testing.T) {
	before := runtime.NumGoroutine()
	b := pool.NewBurst(4)
	for round := range 400 {
		if round%20 == 0 {
			time.Sleep(time.Duration(round) * time.Microsecond)
		}
		jobs := round % 7
		var done [7]atomic.Int32
		b.Each(jobs, func(_, job int) { done[job].Add(1) })
		for job := range done {
			want := int32(0)
			if job < jobs {
				want = 1
			}
			assert.Equal(t, want, done[job].Load())
		}
	}
	for wait := 0; runtime.NumGoroutine() > before && wait < 10_000; wait++ {
		time.Sleep(time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}
