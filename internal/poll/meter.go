package poll

import "context"

// Every is how many elementary operations a [Meter] lets pass between two polls, some
// 50 µs of sums: a poll is below a thousandth of that, and a context that has ended is
// noticed long before anyone would.
const Every = 1 << 16

// Meter polls a context while work is counted. The zero value and nil have no context:
// they never end.
type Meter struct {
	ctx  context.Context
	work int
	err  error
}

// Watch makes m poll ctx from now on.
func (m *Meter) Watch(ctx context.Context) { *m = Meter{ctx: ctx} }

// Unwatch makes m poll nothing any more.
func (m *Meter) Unwatch() { *m = Meter{} }

// Context returns what m polls, nil if there is nothing.
func (m *Meter) Context() context.Context { return m.ctx }

// Done counts work and reports whether the context has ended; it polls every [Every]
// operations.
func (m *Meter) Done(work int) bool {
	if m == nil {
		return false
	}
	m.work += work
	return m.work >= Every && m.due()
}

// due polls; once the context has ended every Done comes here.
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

// Poll polls now and returns the cause of the end of the context, nil before it.
func (m *Meter) Poll() error {
	if m != nil && m.ctx != nil && m.err == nil && Err(m.ctx) != nil {
		m.err, m.work = context.Cause(m.ctx), Every // so that Done sees it
	}
	return m.Err()
}

// Err returns what the last poll found: once a context has ended it is never nil.
func (m *Meter) Err() error {
	if m == nil {
		return nil
	}
	return m.err
}
