// Package checkpointtest interrupts programs in tests.
package checkpointtest

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
)

// Interrupted runs a program with -checkpoint again and again, each time cancelled
// after a few more looks at the context, until it ends by itself, and returns how
// often it was cancelled. Programs save at every opportunity meanwhile.
func Interrupted(t testing.TB, run func(ctx context.Context, resume bool) error) (times int) {
	t.Helper()
	every := checkpoint.Every
	checkpoint.Every = 0
	defer func() { checkpoint.Every = every }()
	for looks := int64(8); ; looks += looks / 2 {
		ctx := &impatient{Context: context.Background()}
		ctx.left.Store(looks)
		err := run(ctx, times > 0)
		if err == nil {
			return times
		}
		if ctx.left.Load() > 0 {
			t.Fatal(err) // not of the interruption
		}
		times++
	}
}

// impatient is a context that ends after a number of looks.
type impatient struct {
	context.Context
	left atomic.Int64
}

func (c *impatient) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}
