package pool

import (
	"sync"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/internal/apart"
)

// Burst shares out numbered jobs between its caller and goroutines that end with
// the call. Like a [Pool] it allocates nothing while it works; unlike one it needs
// no Stop, for owners that nobody closes. A call costs some microseconds a worker.
type Burst struct {
	do    func(worker, job int)
	jobs  int64
	next  atomic.Int64
	first atomic.Pointer[ending]
	gone  sync.WaitGroup
	help  []func()
}

// NewBurst returns a Burst of the given number of workers, its caller among them.
func NewBurst(workers int) *Burst {
	b := apart.New(Burst{})
	for w := 1; w < workers; w++ {
		b.help = append(b.help, func() {
			defer b.gone.Done()
			b.work(w)
		})
	}
	return b
}

// Each calls do for the jobs 0 … jobs−1 and returns when all are done. Panics are
// those of the function [Each].
func (b *Burst) Each(jobs int, do func(worker, job int)) {
	b.do, b.jobs = do, int64(jobs)
	b.next.Store(0)
	b.first.Store(nil)
	for _, help := range b.help[:min(len(b.help), max(jobs-1, 0))] {
		b.gone.Add(1)
		go help()
	}
	func() {
		defer b.gone.Wait() // also if the caller's own job ends the goroutine
		b.work(0)
	}()
	b.do = nil
	b.first.Swap(nil).resume()
}

// work does jobs until none is left to begin.
func (b *Burst) work(worker int) {
	how, returned := (*ending)(nil), false
	defer func() {
		if !returned { // runtime.Goexit: only deferred functions run
			how = &ending{exited: true}
		}
		if how != nil {
			b.first.CompareAndSwap(nil, how)
			b.next.Store(b.jobs)
		}
	}()
	how = try(func() {
		for {
			j := b.next.Add(1) - 1
			if j >= b.jobs || b.first.Load() != nil {
				return
			}
			b.do(worker, int(j))
		}
	})
	returned = true
}
