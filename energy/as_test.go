package energy_test

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"

	"github.com/stretchr/testify/assert"
)

// passing is a wrapper that hands on what is asked for, by a method of its value.
type passing struct{ energy.Model }

func (p passing) As(target any) bool { return energy.AsInto(p.Model, target) }

// Nil models and denoisers can do nothing, whatever interface they come in, and
// wrappers may ask them.
func TestNilSupportsNothing(t *testing.T) {
	for _, m := range []any{nil, energy.Model(nil), (*passing)(nil), passing{}, &passing{}, passing{(*passing)(nil)}} {
		_, ok := energy.As[energy.Masking](m)
		assert.False(t, ok, "%T", m)
		var into energy.Masking
		assert.False(t, energy.AsInto(m, &into), "%T", m)
		assert.Nil(t, into)
	}
	_, ok := energy.As[energy.Model](passing{exact.NewQuadratic(3, 1)})
	assert.True(t, ok)
	assert.PanicsWithValue(t, "energy: AsInto: target = <nil>, want a pointer to a variable", func() { energy.AsInto(passing{}, nil) })
	assert.PanicsWithValue(t, "energy: AsInto: target = int, want a pointer to a variable", func() { energy.AsInto(passing{}, 1) })
	assert.PanicsWithValue(t, "energy: AsInto: target = *energy.Model, want a pointer to a variable",
		func() { energy.AsInto(passing{}, (*energy.Model)(nil)) })
}
