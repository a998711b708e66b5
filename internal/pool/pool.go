// Package pool owns a fixed set of goroutines that share out numbered jobs.
package pool

import (
	"sync"
	"sync/atomic"
)

// Pool shares out numbered jobs between the goroutine that has them and a fixed
// set of helpers. Handing out work allocates nothing. The owner works too and
// waits only for jobs that a helper has begun, so that jobs which are done before
// a helper wakes cost no more than they would alone.
type Pool struct {
	workers int
	wake    chan struct{}
	done    chan struct{}
	gone    sync.WaitGroup

	do   func(worker, job int)
	jobs atomic.Uint64 // end of the jobs at hand << 32 | next one
	left atomic.Int64  // jobs that are not finished

	first atomic.Pointer[ending] // of the first job that did not return
}

// New returns a pool of the given number of workers, its caller among them.
func New(workers int) *Pool { return &Pool{workers: workers} }

// Workers returns the number of workers.
func (c *Pool) Workers() int { return c.workers }

// Start begins the helpers; one worker needs none.
func (c *Pool) Start() {
	if c.workers <= 1 {
		return
	}
	c.wake, c.done = make(chan struct{}, c.workers-1), make(chan struct{}, 1)
	for w := 1; w < c.workers; w++ {
		c.gone.Go(func() { c.help(w) })
	}
}

func (c *Pool) help(worker int) {
	for range c.wake {
		if c.work(worker) {
			c.done <- struct{}{}
		}
	}
}

// work does jobs until none is left to begin, and reports whether it finished
// the last one. Who gets a job may read do: the owner does not set it again
// before that job is finished.
func (c *Pool) work(worker int) (last bool) {
	for {
		s := c.jobs.Load()
		job, end := uint32(s), uint32(s>>32)
		if job >= end {
			return last
		}
		if c.jobs.CompareAndSwap(s, s+1) {
			last = c.one(worker, int(job))
		}
	}
}

// one does a job, unless another has panicked, and reports whether none is left.
func (c *Pool) one(worker, job int) (last bool) {
	ended := true
	defer func() {
		if ended {
			end := &ending{exited: true}
			if v := recover(); v != nil {
				end = panicked(v)
			}
			c.first.CompareAndSwap(nil, end)
			if last = c.left.Add(-1) == 0; last && end.exited && worker > 0 {
				c.done <- struct{}{} // help does not get to it
			}
			return
		}
		last = c.left.Add(-1) == 0
	}()
	if c.first.Load() == nil {
		c.do(worker, job)
	}
	ended = false
	return last
}

// Stop ends the helpers and waits for them: one that wakes late must not meet
// the next run.
func (c *Pool) Stop() {
	if c.wake != nil {
		close(c.wake)
		c.gone.Wait()
		c.wake = nil
	}
}

// Each calls do for the jobs from … to−1 and returns when all are done. The
// results must not depend on the worker.
//
// If a job panics, those that have not begun are left out, and the first panic
// goes on in the caller as a *[Panic]; the pool stays usable.
func (c *Pool) Each(from, to int, do func(worker, job int)) {
	if c.wake == nil || to-from <= 1 {
		defer func() {
			if v := recover(); v != nil {
				panic(panicked(v).panicked)
			}
		}()
		for j := from; j < to; j++ {
			do(0, j)
		}
		return
	}
	c.do = do
	c.left.Store(int64(to - from))
	c.jobs.Store(uint64(to)<<32 | uint64(from))
	for range c.workers - 1 {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	if !c.work(0) {
		<-c.done
	}
	if end := c.first.Swap(nil); end != nil {
		end.resume()
	}
}
