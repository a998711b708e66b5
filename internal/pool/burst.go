package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gibbsite-go/gibbsite/internal/padded"
)

// Burst runs numbered jobs on the calling goroutine and on helper goroutines. Like a [Pool], a
// Burst allocates nothing while it works. Unlike a Pool, it need not be stopped: a helper goroutine
// ends by itself when there has been no call for 0.1 ms. Starting the helper again may take 0.1 ms,
// because a processor may have to wake.
type Burst struct {
	do    func(worker, job int)
	jobs  int64
	next  atomic.Int64
	first atomic.Pointer[ending]
	left  atomic.Int64 // number of helpers that have not finished the current call
	gone  sync.WaitGroup
	state []atomic.Int32 // per helper: absent, waiting or called
	help  []func()
}

// States of a helper.
const (
	absent  = iota // state of a helper that has no goroutine
	waiting        // state of a helper whose goroutine waits for a call
	called         // state of a helper that a call has claimed
)

const (
	// linger is how long a helper waits for a call before its goroutine ends.
	linger = 100 * time.Microsecond
	// polite is the number of iterations of a busy wait between two looks at the clock, about 5 µs.
	polite = 1 << 10
)

// NewBurst returns a Burst with the given number of workers. The goroutine that calls Each is one
// of them.
func NewBurst(workers int) *Burst {
	b := padded.New(Burst{state: padded.Make[atomic.Int32](max(0, workers-1))})
	for w := range b.state {
		b.help = append(b.help, func() { b.helper(w) })
	}
	return b
}

// helper is the body of the goroutine of helper w, which works for one call after the other.
func (b *Burst) helper(w int) {
	state := &b.state[w]
	exited := true
	defer func() {
		if exited { // runtime.Goexit: only deferred functions run
			state.Store(absent)
			b.done()
		}
	}()
	for {
		b.work(w + 1)
		state.Store(waiting)
		b.done()
		if !await(func() bool { return state.Load() != waiting }) && state.CompareAndSwap(waiting, absent) {
			exited = false
			return
		}
	}
}

func (b *Burst) done() {
	b.left.Add(-1)
	b.gone.Done()
}

// await waits until ready returns true. It returns false if that takes longer than linger.
func await(ready func() bool) bool {
	began := time.Now()
	for turn := 1; !ready(); turn++ {
		if turn%polite == 0 {
			if time.Since(began) > linger {
				return false
			}
			runtime.Gosched()
		}
	}
	return true
}

// Each calls task for the jobs 0, …, jobs−1 and returns when all are done. If a job panics, this
// method panics in the same way as the function [Each].
func (b *Burst) Each(jobs int, task func(worker, job int)) {
	helpers := min(len(b.help), max(jobs-1, 0))
	if helpers == 0 {
		try(func() {
			for j := range jobs {
				task(0, j)
			}
		}).resume()
		return
	}
	b.do, b.jobs = task, int64(jobs)
	b.next.Store(0)
	b.first.Store(nil)
	b.left.Store(int64(helpers))
	b.gone.Add(helpers)
	for w, help := range b.help[:helpers] {
		if !b.state[w].CompareAndSwap(waiting, called) {
			b.state[w].Store(called)
			go help()
		}
	}
	func() {
		defer b.gone.Wait() // even if the caller's own job ends the goroutine
		b.work(0)
		await(func() bool { return b.left.Load() == 0 })
	}()
	b.do = nil
	b.first.Swap(nil).resume()
}

// work runs jobs until no job is left to begin.
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
