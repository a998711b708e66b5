package sampler

import "sync"

// crew is a fixed set of goroutines that share out numbered jobs. Handing out
// work allocates nothing.
type crew struct {
	workers int
	jobs    chan int
	wg      sync.WaitGroup
	do      func(worker, job int)
}

// start begins the goroutines; one worker needs none.
func (c *crew) start() {
	if c.workers <= 1 {
		return
	}
	c.jobs = make(chan int)
	for w := range c.workers {
		go c.work(w, c.jobs)
	}
}

func (c *crew) work(worker int, jobs <-chan int) {
	for job := range jobs {
		c.do(worker, job)
		c.wg.Done()
	}
}

// stop ends the goroutines.
func (c *crew) stop() {
	if c.jobs != nil {
		close(c.jobs)
		c.jobs = nil
	}
}

// each calls do for the jobs from … to−1 and returns when all are done. The
// results must not depend on the worker.
func (c *crew) each(from, to int, do func(worker, job int)) {
	if c.jobs == nil || to-from == 1 {
		for j := from; j < to; j++ {
			do(0, j)
		}
		return
	}
	c.do = do
	c.wg.Add(to - from)
	for j := from; j < to; j++ {
		c.jobs <- j
	}
	c.wg.Wait()
}
