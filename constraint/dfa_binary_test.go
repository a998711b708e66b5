package constraint

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDFARoundTrip(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		levels, states := 1+r.IntN(5), 1+r.IntN(6)
		next, accepting := make([]int32, states*levels), make([]bool, states)
		for i := range next {
			next[i] = int32(r.IntN(states+1)) - 1
		}
		for s := range accepting {
			accepting[s] = r.IntN(2) == 0
		}
		d, err := NewDFA(t.Context(), levels, next, accepting)
		if err != nil {
			require.ErrorIs(t, err, ErrInfeasible)
			continue
		}
		d = d.Named("a name")
		b, err := d.MarshalBinary()
		require.NoError(t, err)
		j, err := json.Marshal(d)
		require.NoError(t, err)
		var fromBinary, fromJSON DFA
		require.NoError(t, fromBinary.UnmarshalBinary(b))
		require.NoError(t, json.Unmarshal(j, &fromJSON))
		assert.Equal(t, *d, fromBinary)
		assert.Equal(t, *d, fromJSON)
		assert.Error(t, fromJSON.UnmarshalJSON(j), "into one that is there already")
		for i := range b { // every byte counts
			c := append([]byte{}, b...)
			c[i] ^= 0x21
			assert.Error(t, new(DFA).UnmarshalBinary(c), "byte %d", i)
			assert.Error(t, new(DFA).UnmarshalBinary(b[:i]), "%d bytes", i)
		}
	}
	// A table that is not minimal is made so.
	var d DFA
	require.NoError(t, json.Unmarshal([]byte(`{"class":[0,1],"classes":2,"next":[1,1,0,0],"accepting":[true,true]}`), &d))
	want, err := Compile(ctx, Any{}, 2, Limits{})
	require.NoError(t, err)
	assert.Equal(t, *want, d)
	for _, bad := range []string{
		`{"class":[0,2],"classes":2,"next":[0,0],"accepting":[true]}`,
		`{"class":[0,0],"classes":2,"next":[0,0],"accepting":[true]}`,
		`{"class":[0,1],"classes":2,"next":[0,1],"accepting":[true]}`,
		`{"class":[0,1],"classes":2,"next":[0,-2],"accepting":[true]}`,
		`{"class":[0,1],"classes":-2,"next":[0,0],"accepting":[true]}`,
		`{"class":[],"classes":0,"next":[],"accepting":[true]}`,
		`{"class":[0],"classes":1,"next":[0],"accepting":[false]}`,
		`{"class":[0],"classes":1,"next":[],"accepting":[]}`,
		`[]`, `{}`,
	} {
		assert.Error(t, new(DFA).UnmarshalJSON([]byte(bad)), bad)
	}
}

// Literals out of range are refused wherever languages are combined.
func TestLiteralsAreValidated(t *testing.T) {
	ctx := context.Background()
	bad := Count{Levels: []int32{0}, Max: -7}
	for name, door := range map[string]func(a Automaton) error{
		"Compile":   func(a Automaton) error { _, err := Compile(ctx, a, 2, Limits{}); return err },
		"Intersect": func(a Automaton) error { _, err := Intersect(Any{}, a); return err },
		"Union":     func(a Automaton) error { _, err := Union(Any{}, a); return err },
		"Union 0":   func(a Automaton) error { _, err := Union(a); return err },
		"Concat":    func(a Automaton) error { _, err := Concat(ctx, 2, Limits{}, a, Any{}); return err },
		"Concat 2":  func(a Automaton) error { _, err := Concat(ctx, 2, Limits{}, Any{}, a); return err },
	} {
		for _, a := range []Automaton{bad, &bad, struct{ Count }{bad}} {
			var arg *ArgumentError
			if err := door(a); assert.ErrorAs(t, err, &arg, name) {
				assert.Equal(t, "Max", arg.Arg)
				assert.Equal(t, -7, arg.Value)
			}
		}
	}
}

// A sum that wanders is refused at once, not after 2¹⁸ states.
func TestSignedSumsHaveNoTable(t *testing.T) {
	ctx := context.Background()
	s, err := NewSum([]int{-1, 1}, 0, 0)
	require.NoError(t, err)
	var arg *ArgumentError
	_, err = Compile(ctx, s, 2, Limits{})
	require.ErrorAs(t, err, &arg)
	assert.ErrorContains(t, err, "NewSiteSum")
	_, err = Concat(ctx, 2, Limits{}, s, Any{})
	require.ErrorAs(t, err, &arg)
	_, err = Concat(ctx, 2, Limits{}, Any{}, s)
	require.ErrorAs(t, err, &arg)
	for _, w := range [][]int{{0, 1}, {-1, 0}} {
		s, err := NewSum(w, -2, 2)
		require.NoError(t, err)
		_, err = Compile(ctx, s, 2, Limits{})
		require.NoError(t, err)
	}
	site, err := NewSiteSum([][]int{{-1, 1}, {-1, 1}}, 0, 0)
	require.NoError(t, err)
	_, err = Concat(ctx, 2, Limits{}, site, site)
	require.NoError(t, err)
}
