package poll_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

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
