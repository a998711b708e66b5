package trellis

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGolden fixes the bits of normalisers, draws and marginals, which must be
// the same on every GOARCH. The value changes only together with the order or
// the kind of the sums.
func TestGolden(t *testing.T) {
	const want = 0x2089b2544957d787
	r := rand.New(rand.NewPCG(99, 1))
	h := fnv.New64a()
	put := func(x uint64) { _ = binary.Write(h, binary.LittleEndian, x) }
	for n := 0; n < 200; {
		p := newInstance(r)
		for i, w := range p.v { // exact inputs
			if !math.IsInf(float64(w), -1) {
				p.v[i] = float32(r.IntN(1<<14)-1<<13) / float32(int(1)<<(n%12))
			}
		}
		if all, _ := p.brute(); len(all) == 0 {
			continue
		}
		n++
		run := compile(t, p)
		logZ, err := run.Filter(p.v)
		require.NoError(t, err)
		put(math.Float64bits(logZ))
		x := make([]int32, p.config.Sites)
		for range 3 {
			run.Draw(x, r)
			for _, v := range x {
				put(uint64(v))
			}
		}
		m := make([]float64, len(p.v))
		run.Marginals(m)
		for _, v := range m {
			put(math.Float64bits(v))
		}
	}
	require.Equal(t, uint64(want), h.Sum64())
}
