package poll_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/stretchr/testify/assert"
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

func TestMeter(t *testing.T) {
	var none *poll.Meter
	var zero poll.Meter
	for _, m := range []*poll.Meter{none, &zero} {
		assert.False(t, m.Done(10*poll.Every))
		assert.NoError(t, m.Poll())
		assert.NoError(t, m.Err())
	}
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &poll.Meter{}
	m.Watch(ctx)
	assert.False(t, m.Done(poll.Every))
	cancel(why)
	assert.False(t, m.Done(poll.Every-1), "it does not poll at every step")
	assert.True(t, m.Done(1))
	assert.True(t, m.Done(0), "it stays ended")
	assert.ErrorIs(t, m.Err(), why)
	m.Watch(t.Context())
	assert.NoError(t, m.Poll())
	assert.Equal(t, t.Context(), m.Context())
	m.Watch(ctx)
	m.Unwatch()
	assert.NoError(t, m.Poll())
	assert.Nil(t, m.Context())
}
