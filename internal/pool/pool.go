// Package pool runs numbered jobs on a fixed set of goroutines.
package pool

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Pool runs numbered jobs on the calling goroutine and a fixed set of helper goroutines. A call
// allocates nothing. The caller works too, and waits only for jobs that a helper has begun. If all
// jobs finish before a helper wakes, the call takes no longer than without helpers.
type Pool struct {
	workers int
	wake    chan struct{}
	done    chan struct{}
	gone    sync.WaitGroup

	do   func(worker, job int)
	jobs atomic.Uint64 // end of the current jobs << 32 | next job
	left atomic.Int64  // number of jobs that are not finished

	// ending of the first job that did not return; nil if there is none
	first atomic.Pointer[ending]
}

// New returns a pool with the given number of workers. The goroutine that calls Each is one of
// them. Call Start before Each.
func New(workers int) *Pool { return &Pool{workers: workers} }

// Workers returns the number of workers.
func (c *Pool) Workers() int { return c.workers }

// Start starts the helpers. A pool of one worker has no helpers.
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

// work runs jobs until no job is left to begin, and reports whether it finished the last job. A
// worker that has claimed a job may read do, because the owner does not set do again before that
// job is finished.
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

// one runs a job, unless an earlier one did not return. It reports whether no job is left.
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
				c.done <- struct{}{} // help does not reach its own send
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

// Stop ends the helpers and waits for them, so that a helper that wakes late does not interfere
// with the next run.
func (c *Pool) Stop() {
	if c.wake != nil {
		close(c.wake)
		c.gone.Wait()
		c.wake = nil
	}
}

// Each calls task for the jobs lo, …, hi−1 and returns when all are done. The results must not
// depend on which worker runs a job.
//
// If a job panics, jobs that have not begun are skipped, and Each panics with the first panic as
// a *[Panic]. The pool stays usable.
func (c *Pool) Each(lo, hi int, task func(worker, job int)) {
	if c.wake == nil || hi-lo <= 1 {
		defer func() {
			if v := recover(); v != nil {
				panic(panicked(v).panicked)
			}
		}()
		for j := lo; j < hi; j++ {
			task(0, j)
		}
		return
	}
	c.do = task
	c.left.Store(int64(hi - lo))
	c.jobs.Store(uint64(hi)<<32 | uint64(lo))
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

// Each calls task for the jobs 0, …, jobs−1 and returns when all are done. It uses at most the
// given number of workers (goroutines), including the caller. It is meant for rare calls. For
// frequent calls use a [Pool], which does not allocate.
//
// If a job panics, no further jobs begin. When the running jobs are done, Each panics with the
// first panic as a *[Panic], for any number of workers.
func Each(workers, jobs int, task func(job int)) {
	if workers = min(workers, jobs); workers <= 1 {
		defer repanic()
		for j := range jobs {
			task(j)
		}
		return
	}
	var next atomic.Int64
	var first atomic.Pointer[ending]
	work := func() {
		var how *ending
		returned := false
		defer func() {
			if !returned { // runtime.Goexit: only deferred functions run
				how = &ending{exited: true}
			}
			if how != nil {
				first.CompareAndSwap(nil, how)
				next.Store(int64(jobs))
			}
		}()
		how = try(func() {
			for {
				j := int(next.Add(1)) - 1
				if j >= jobs || first.Load() != nil {
					return
				}
				task(j)
			}
		})
		returned = true
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	func() {
		defer wg.Wait() // even if the caller's own job ends the goroutine
		work()
	}()
	first.Load().resume()
}

// Panic is the value that Each panics with if a job panics, in any goroutine. If Value is an error,
// Panic wraps it.
type Panic struct {
	Value any
	Stack []byte // stack of the goroutine at the point where it panicked
}

func (p *Panic) Error() string {
	return fmt.Sprintf("%v\n\nin a job:\n%s", p.Value, p.Stack)
}

// Unwrap returns Value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// repanic turns a panic into a panic with a *[Panic]. It must be deferred directly.
func repanic() {
	if v := recover(); v != nil {
		Throw(v)
	}
}

// Throw panics with a *[Panic] that holds v. The caller has recovered v from an earlier panic.
func Throw(v any) { panic(panicked(v).panicked) }

// ending describes how a job ended that did not return.
type ending struct {
	panicked *Panic
	exited   bool // the job called runtime.Goexit, for instance in testing.T.FailNow
}

// try calls do and returns how it ended, or nil if it returned. If do calls runtime.Goexit, try
// does not return.
func try(do func()) (end *ending) {
	defer func() {
		if v := recover(); v != nil {
			end = panicked(v)
		}
	}()
	do()
	return nil
}

// panicked returns the ending for a panic with the value v. The function that recovered v must
// call it directly, while the stack still shows the origin.
func panicked(v any) *ending {
	p, ok := v.(*Panic) // from jobs within jobs
	if !ok {
		p = &Panic{v, debug.Stack()}
	}
	return &ending{panicked: p}
}

// resume ends the goroutine in the same way as the job ended. It does nothing if e is nil.
func (e *ending) resume() {
	if e == nil {
		return
	}
	if e.panicked != nil {
		panic(e.panicked)
	}
	runtime.Goexit()
}
