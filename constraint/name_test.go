package constraint

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type named struct{ Any }

func (named) String() string { return "plates" }

func TestName(t *testing.T) {
	count := Count{Levels: []int32{1}, Min: 2, Max: 3}
	both, err := Intersect(named{}, count)
	require.NoError(t, err)
	assert.Equal(t, "plates ∩ Count{Levels:[1] Min:2 Max:3}", automata.Name(both))
	assert.Equal(t, count.String(), automata.Name(&count))
	assert.Equal(t, "Avoids", automata.Name(exact.Must(Avoids([]int32{1}))))
	assert.Equal(t, "ContainsAny", automata.Name(exact.Must(ContainsAny([]int32{1}))))
	assert.Equal(t, "constraint.Lexicon", automata.Name(new(Lexicon)))
}
