package constraint

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type named struct{ Any }

func (named) String() string { return "plates" }

func TestName(t *testing.T) {
	count := Count{Levels: []int32{1}, Min: 2, Max: 3}
	both, err := Intersect(named{}, count)
	require.NoError(t, err)
	assert.Equal(t, "plates ∩ Count{Levels:[1] Min:2 Max:3}", Name(both))
	assert.Equal(t, "constraint.Lexicon", Name(new(Lexicon)))
}
