// Package poll checks a context from inside a long loop.
package poll

import (
	"context"
	"runtime"
)

// Err returns ctx.Err(). Under WebAssembly it yields first, because all goroutines share one thread
// without preemption. The timer of a deadline fires only when the running goroutine yields.
func Err(ctx context.Context) error {
	if runtime.GOARCH == "wasm" {
		runtime.Gosched()
	}
	return ctx.Err()
}

// Every is the number of elementary operations, such as additions, after which a [Meter] polls its
// context again. These operations take about 50 µs. A poll takes less than a thousandth of that
// time, and the delay is too short for a user to notice.
const Every = 1 << 16

// Meter counts the work of a long loop, and polls a context each time enough work has been done.
// The zero Meter and a nil Meter have no context, so Done always returns false.
type Meter struct {
	ctx  context.Context
	work int
	err  error
}

// Watch makes m poll ctx from now on.
func (m *Meter) Watch(ctx context.Context) { *m = Meter{ctx: ctx} }

// Unwatch makes m stop polling the context and forget the result of the last poll.
func (m *Meter) Unwatch() { *m = Meter{} }

// Context returns the context that m polls, or nil if there is none.
func (m *Meter) Context() context.Context { return m.ctx }

// Done adds work to the count of elementary operations, and reports whether the context has ended.
// It polls the context once per [Every] operations.
func (m *Meter) Done(work int) bool {
	if m == nil {
		return false
	}
	m.work += work
	return m.work >= Every && m.due()
}

// due polls the context. After the context has ended, every call of Done calls it.
//
//go:noinline
func (m *Meter) due() bool {
	if m.Poll() != nil {
		m.work = Every
		return true
	}
	m.work = 0
	return false
}

// Poll polls the context now and returns the cause of its end, or nil if it has not ended.
func (m *Meter) Poll() error {
	if m != nil && m.ctx != nil && m.err == nil && Err(m.ctx) != nil {
		m.err, m.work = context.Cause(m.ctx), Every // so that Done notices the end
	}
	return m.Err()
}

// Err returns the result of the last poll. Once it has returned an error, it always returns an
// error.
func (m *Meter) Err() error {
	if m == nil {
		return nil
	}
	return m.err
}
