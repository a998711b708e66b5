package algebra

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumbering numbers random values, many of which occur again or share their hash, and compares the
// numbers with those of a map.
func TestNumbering(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var n Numbering[poor]
	want := map[poor]int32{}
	for range 3000 {
		x := poor(r.IntN(1000))
		if _, ok := want[x]; !ok {
			want[x] = int32(len(want))
		}
		require.Equal(t, want[x], n.Find(x))
		require.Equal(t, x, n.Values[want[x]])
	}
	require.Len(t, n.Values, len(want))
}

// poor is a number whose hash it shares with 7 others.
type poor int

func (x poor) Hash() uint64 { return uint64(x/8) * 0x9E3779B97F4A7C15 }
