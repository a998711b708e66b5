package constraint

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIntersect(t *testing.T) {
	a := Count{Levels: []int32{1}, Min: 1, Max: 3}
	b := Count{Levels: []int32{0, 2}, Min: 2, Max: Unbounded}
	inner, err := Intersect(a, b)
	require.NoError(t, err)
	p, err := Intersect(inner, Any{}, Count{Levels: []int32{2}, Max: 0})
	require.NoError(t, err)
	require.Len(t, p.Parts(), 4, "products are flattened")
	requireLanguage(t, p, 3, 7, func(x []int32) bool {
		return Accepts(a, x) && Accepts(b, x) && occurrences(x, 2) == 0
	})
	all, err := Intersect()
	require.NoError(t, err)
	requireLanguage(t, all, 2, 4, func([]int32) bool { return true })
}

func TestSplit(t *testing.T) {
	m1, err := NewMask(3, [][]int32{{0, 1}, nil, {1, 2}})
	require.NoError(t, err)
	m2, err := NewMask(3, [][]int32{{1, 2}, {0}, nil, {2}})
	require.NoError(t, err)
	c := Count{Levels: []int32{1}, Min: 1, Max: Unbounded}
	e := Count{Levels: []int32{2}, Max: 2}
	for _, parts := range [][]Automaton{{c}, {m1}, {m1, c}, {c, m2, m1}, {m1, c, m2, e}, {m1, m2}, {Any{}, c, e}, {}} {
		p, err := Intersect(parts...)
		require.NoError(t, err)
		outer, err := Intersect(p, Any{})
		require.NoError(t, err)
		for _, a := range []Automaton{p, outer} {
			rest, mask := Split(a)
			masked := func(x []int32) bool {
				for i, token := range x {
					if mask != nil && !mask.Allows(i, token) {
						return false
					}
				}
				return true
			}
			requireLanguage(t, a, 3, 6, func(x []int32) bool { return Accepts(rest, x) && masked(x) })
			_, again := Split(rest)
			require.Nil(t, again, "the rest has no mask")
		}
	}
	rest, mask := Split(m1)
	require.Equal(t, Any{}, rest)
	require.Same(t, m1, mask)
	rest, mask = Split(struct{ *Mask }{m1})
	require.Equal(t, Any{}, rest)
	require.Same(t, m1, mask, "seen through a type that embeds it")
	p, err := Intersect(&Any{}, m1, &c)
	require.NoError(t, err)
	rest, mask = Split(p)
	require.Equal(t, &c, rest)
	require.Same(t, m1, mask)
	rest, mask = Split(c)
	require.Equal(t, c, rest)
	require.Nil(t, mask)
}

func TestIntersectTooLarge(t *testing.T) {
	big := Count{Levels: []int32{0}, Min: 1 << 30, Max: Unbounded}
	var parts []Automaton
	for range bits.UintSize / 30 {
		parts = append(parts, big)
	}
	_, err := Intersect(append(parts, big)...)
	var limit *LimitError
	require.ErrorAs(t, err, &limit)
	require.ErrorContains(t, err, "Intersect: bits of a state")
}
