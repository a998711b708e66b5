package poll_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// A busy loop that polls ends when its deadline passes. Without the yield it never
// does under js/wasm, where the test would run into its timeout.
func TestBusyLoopEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for poll.Err(ctx) == nil {
	}
	assert.ErrorIs(t, poll.Err(ctx), context.DeadlineExceeded)
}

func TestErr(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	assert.NoError(t, poll.Err(ctx))
	cancel()
	assert.ErrorIs(t, poll.Err(ctx), context.Canceled)
}
