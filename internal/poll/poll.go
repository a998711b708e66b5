// Package poll checks a context from inside a long loop.
package poll

import (
	"context"
	"runtime"
)

// Err returns ctx.Err(). Under WebAssembly all goroutines share one thread that
// nothing interrupts, so a timer of a deadline fires only when the running goroutine
// yields: there Err yields first. Elsewhere it is ctx.Err() alone, inlined.
func Err(ctx context.Context) error {
	if runtime.GOARCH == "wasm" {
		runtime.Gosched()
	}
	return ctx.Err()
}
