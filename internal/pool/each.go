package pool

import (
	"sync"
	"sync/atomic"
)

// Each calls do for the jobs 0 … jobs−1 from at most so many goroutines, the
// caller's among them, and returns when all are done. It is for work that is
// begun rarely; a [Pool] hands out work often without allocating.
func Each(workers, jobs int, do func(job int)) {
	if workers = min(workers, jobs); workers <= 1 {
		for j := range jobs {
			do(j)
		}
		return
	}
	var next atomic.Int64
	work := func() {
		for {
			j := int(next.Add(1)) - 1
			if j >= jobs {
				return
			}
			do(j)
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
