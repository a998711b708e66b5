package pool

import (
	"sync"
	"sync/atomic"
)

// Each calls do for the jobs 0 … jobs−1 from at most so many goroutines, the
// caller's among them, and returns when all are done. It is for work that is
// begun rarely; a [Pool] hands out work often without allocating.
//
// If a job panics, no further jobs begin, and when those under way are done the
// first panic goes on in the caller as a *[Panic], whatever the number of workers.
func Each(workers, jobs int, do func(job int)) {
	if workers = min(workers, jobs); workers <= 1 {
		defer repanic()
		for j := range jobs {
			do(j)
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
				do(j)
			}
		})
		returned = true
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	func() {
		defer wg.Wait() // also if the caller's own job ends the goroutine
		work()
	}()
	first.Load().resume()
}
