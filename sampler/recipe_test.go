package sampler

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is digested must tell values apart, and equal values must agree.
func TestSettings(t *testing.T) {
	seen := map[uint64]any{}
	f := func() {}
	for _, m := range []any{
		probe{}, probe{1}, probe{int8(1)}, probe{uint(1)}, probe{1.0}, probe{float32(1)}, probe{true}, probe{"1"}, probe{"true;"},
		probe{[]int{1, 2}}, probe{[]int{12}}, probe{[2]int{1, 2}}, probe{[][]int{{1}, {2}}}, probe{[][]int{{1, 2}, {}}}, probe{[]any{1, nil}},
		probe{&f}, probe{(*int)(nil)}, probe{new(int)}, probe{f}, probe{map[int]int{1: 2}}, probe{make(chan int)},
		probe{probe{1}}, &probe{2}, other{}, other{1}, named{1}, nil,
	} {
		d := settings(m)
		assert.Equal(t, d, settings(m))
		assert.NotContains(t, seen, d, "%v and %v", m, seen[d])
		seen[d] = m
	}
	assert.Equal(t, settings(probe{1}), settings(&probe{1}), "a pointer is what it points to")
	assert.Equal(t, settings(probe{new(int)}), settings(probe{new(int)}), "addresses do not count")
	assert.Equal(t, settings(holder{named{1}}), settings(holder{&named{1}}), "so is one in a field")
	assert.NotEqual(t, settings(holder{&named{1}}), settings(holder{&named{2}}))
	assert.NotPanics(t, func() { settings(holder{(*named)(nil)}) })
}

// holder is a recipe that holds another.
type holder struct{ of Named }

// probe is a recipe that is set to anything; other is another type like it, and
// named one with a name.
type (
	probe struct{ setting any }
	other struct{ setting any }
	named struct{ setting any }
)

func (named) Name() string { return "named" }

func TestNamesOfRecipes(t *testing.T) {
	assert.Equal(t, "named", nameOf(named{}))
	assert.Equal(t, "named", nameOf(&named{}))
	assert.Equal(t, "sampler.probe", nameOf(probe{}))
	assert.Equal(t, "sampler.probe", nameOf(&probe{}))
}
