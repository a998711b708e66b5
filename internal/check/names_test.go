package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

type suit int

func (s suit) String() string { return [...]string{"clubs", "hearts", "spades"}[s] }

func TestNames(t *testing.T) {
	for s := suit(0); s < 3; s++ {
		name, err := check.MarshalName("suit", s, 2)
		require.NoError(t, err)
		back := suit(-1)
		require.NoError(t, check.UnmarshalName("suit", &back, 2, name))
		assert.Equal(t, s, back)
	}
	back := suit(1)
	assert.EqualError(t, check.UnmarshalName("suit", &back, 2, []byte("Clubs")), `suit = "Clubs", want "clubs" or "hearts" or "spades"`)
	assert.Equal(t, suit(1), back)
	for _, s := range []suit{-1, 3} {
		_, err := check.MarshalName("suit", s, 2)
		assert.ErrorContains(t, err, "want 0 … 2")
	}
}
