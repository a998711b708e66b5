package laws

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
)

// Rate is the false-positive rate of a test that compares random draws with a distribution.
const Rate = 1e-6

// Allocations returns the number of memory allocations in a call of f. It first calls f, so that
// pools of buffers are filled. It then makes five measurements of twenty calls each and takes the
// minimum. The other measurements may be too large, because a garbage collection empties the pools
// or other goroutines allocate. Under the race detector, whose pools drop items, it calls f once
// and returns 0.
func Allocations(f func()) float64 {
	f()
	if Race {
		return 0
	}
	const calls, attempts = 20, 5
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	least := uint64(1 << 62)
	for attempt := 0; attempt < attempts && least > 0; attempt++ {
		f()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range calls {
			f()
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	return float64(least / calls)
}

// Polled is a context for tests. It ends at the n-th call of its method Err, counted from 1. The
// channel that Done returns is closed at that call.
type Polled struct {
	context.Context
	left  atomic.Int64
	ended chan struct{}
}

// NewPolled returns a context derived from ctx that ends at the n-th call of its method Err.
func NewPolled(ctx context.Context, n int) *Polled {
	p := &Polled{Context: ctx, ended: make(chan struct{})}
	p.left.Store(int64(n))
	return p
}

// Err counts the call and returns context.Canceled from the n-th call on. It implements
// context.Context.
func (p *Polled) Err() error {
	switch left := p.left.Add(-1); {
	case left > 0:
		return p.Context.Err()
	case left == 0:
		close(p.ended)
	}
	return context.Canceled
}

// Done returns a channel that is closed when the context ends. It implements context.Context.
func (p *Polled) Done() <-chan struct{} { return p.ended }

// Panic calls f and returns its panic value, or nil if f does not panic.
func Panic(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// Text returns the message of v, which is a panic value or an error.
func Text(v any) string {
	if err, ok := v.(error); ok {
		return err.Error()
	}
	return fmt.Sprint(v)
}
