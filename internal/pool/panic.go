package pool

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Panic is what a panic in a job becomes in the goroutine that has the jobs,
// whichever goroutine it happened in. If Value is an error, Panic wraps it.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked, at that point
}

func (p *Panic) Error() string {
	return fmt.Sprintf("%v\n\nin a job:\n%s", p.Value, p.Stack)
}

// Unwrap returns Value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// repanic makes a panic one of a job: a function defers it that is to panic with a *[Panic],
// if at all.
func repanic() {
	if v := recover(); v != nil {
		Throw(v)
	}
}

// Throw panics as a job does that panicked with v, which its caller has recovered.
func Throw(v any) { panic(panicked(v).panicked) }

// ending says how jobs that did not return ended.
type ending struct {
	panicked *Panic
	exited   bool // runtime.Goexit, as by testing.T.FailNow
}

// try calls do and says how it ended; nil if it returned. If do ends the
// goroutine, try does not return.
func try(do func()) (end *ending) {
	defer func() {
		if v := recover(); v != nil {
			end = panicked(v)
		}
	}()
	do()
	return nil
}

// panicked is the ending by a panic with the value v. It must be called by the
// function that recovered it, while the stack still shows where.
func panicked(v any) *ending {
	p, ok := v.(*Panic) // of jobs within jobs
	if !ok {
		p = &Panic{v, debug.Stack()}
	}
	return &ending{panicked: p}
}

// resume ends the goroutine as a job ended.
func (e *ending) resume() {
	if e == nil {
		return
	}
	if e.panicked != nil {
		panic(e.panicked)
	}
	runtime.Goexit()
}
