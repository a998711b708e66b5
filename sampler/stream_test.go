package sampler

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

var _ rand.Source = (*Stream)(nil)

func TestStreamGolden(t *testing.T) {
	exact.Golden(t, "testdata/stream.golden", first(t, Philox4x32))
	exact.Golden(t, "testdata/stream_ars.golden", first(t, ARS4x32))
}

// first writes the first words of some streams and what follows a skip.
func first(t *testing.T, g Generator) string {
	var b strings.Builder
	for _, key := range [][2]uint64{{0, 0}, {1, 0}, {1, 1}, {1 << 63, 1 << 40}} {
		s := NewStream(3, 4)
		require.NoError(t, s.SeedOf(g, key[0], key[1]))
		fmt.Fprintf(&b, "seed %d chain %d\n", key[0], key[1])
		for range 8 {
			fmt.Fprintf(&b, "%016x\n", s.Uint64())
		}
		s.Skip(1_000_000)
		fmt.Fprintf(&b, "after a million words more: %08x %v %d\n", s.Uint32(), s.Float64(), s.IntN(1000))
	}
	return b.String()
}

func TestStreamFillsAreTheWordsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, chain := rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "chain")
		a, b := new(Stream), new(Stream)
		g := Generator(rapid.IntRange(0, 1).Draw(t, "generator"))
		require.NoError(t, a.SeedOf(g, seed, chain))
		require.NoError(t, b.SeedOf(g, seed, chain))
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			n := rapid.IntRange(0, 200).Draw(t, "n")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				got := make([]uint32, n)
				a.Uint32s(got)
				for i := range got {
					require.Equal(t, b.Uint32(), got[i])
				}
			case 1:
				got := make([]float64, n)
				a.Float64s(got)
				for i := range got {
					lo := uint64(b.Uint32())
					want := float64((uint64(b.Uint32())<<32|lo)>>11) / (1 << 53)
					require.Equal(t, want, got[i])
				}
			case 2:
				a.Skip(uint64(n))
				for range n {
					b.Uint32()
				}
			}
			saved, err := a.MarshalBinary()
			require.NoError(t, err)
			a = new(Stream)
			require.NoError(t, a.UnmarshalBinary(saved))
		}
		require.Equal(t, b.Uint64(), a.Uint64())
	})
}

func TestStreamUnmarshalRefusesOtherLengths(t *testing.T) {
	s := NewStream(3, 4)
	want := s.Uint64()
	s = NewStream(3, 4)
	assert.ErrorContains(t, s.UnmarshalBinary(make([]byte, 23)), "23 bytes, want 24, or 25")
	assert.ErrorContains(t, s.UnmarshalBinary(make([]byte, 26)), "26 bytes, want 24, or 25")
	assert.ErrorContains(t, s.UnmarshalBinary(make([]byte, 25)), "generator = 0, want 1")
	assert.ErrorContains(t, s.UnmarshalBinary(append(make([]byte, 24), 2)), "generator = 2, want 1")
	assert.ErrorContains(t, s.SeedOf(2, 7, 7), "sampler: Stream.SeedOf: generator = 2, want 0 (Philox4x32-10) or 1 (ARS4x32-7)")
	assert.Equal(t, want, s.Uint64(), "a refused restore leaves the stream alone")
}

func TestIntNIsUniform(t *testing.T) {
	s := NewStream(5, 0)
	for _, n := range []int{1, 2, 3, 7, 100} {
		counts, p := make([]int, n), make([]float64, n)
		for i := range p {
			p[i] = 1 / float64(n)
		}
		for range 20000 {
			counts[s.IntN(n)]++
		}
		exact.Counts(t, counts, p, exact.Rate)
	}
	all := int64(1) << 32
	if n := int(all); int64(n) == all {
		assert.Equal(t, uint32(s.IntN(n)), func() uint32 { s.seek(s.pos - 1); return s.Uint32() }())
	}
	assert.PanicsWithValue(t, "sampler: IntN: n = 0, want 1 … 2³²", func() { s.IntN(0) })
}

// Lemire's method without its rejection is biased: for n = 3·2³⁰ a third of the
// values is twice as likely as the rest.
func TestIntNRejects(t *testing.T) {
	wide := int64(3) << 30
	n := int(wide)
	if int64(n) != wide {
		t.Skip("an int has 32 bits")
	}
	s, biased := NewStream(6, 0), NewStream(6, 0)
	counts, twin := make([]int, 3), make([]int, 3)
	for range 3000 {
		counts[s.IntN(n)%3]++
		twin[(uint64(biased.Uint32())*uint64(n)>>32)%3]++
	}
	third := []float64{1. / 3, 1. / 3, 1. / 3}
	exact.Counts(t, counts, third, exact.Rate)
	assert.Less(t, exact.PValue(twin, third), exact.Rate)
}

func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	var s Stream
	for g := range Generator(2) {
		for seed := range uint64(20) {
			for chain := range uint64(20) {
				require.NoError(t, s.SeedOf(g, seed, chain))
				seen[s.Uint64()] = true
			}
		}
	}
	assert.Len(t, seen, 800)
}

// What was marshalled says which generator it is of, and an older one, that says
// nothing, is of Philox.
func TestStreamKeepsItsGenerator(t *testing.T) {
	var a, b Stream
	require.NoError(t, a.SeedOf(ARS4x32, 5, 6))
	a.Skip(77)
	saved, err := a.MarshalBinary()
	require.NoError(t, err)
	require.Len(t, saved, 25)
	require.NoError(t, b.UnmarshalBinary(saved))
	assert.Equal(t, ARS4x32, b.generator)
	assert.Equal(t, a.Uint64(), b.Uint64())
	a.Seed(8, 9)
	assert.Equal(t, ARS4x32, a.generator, "Seed leaves the generator")

	require.NoError(t, b.UnmarshalBinary(saved[:24]))
	assert.Equal(t, Philox4x32, b.generator)
	want := NewStream(5, 6)
	want.Skip(77)
	assert.Equal(t, want.Uint64(), b.Uint64())
}

// TestStreamsAreIndependent: bits of words that a counter, a chain or a seed with one
// other bit gives differ as often as not, whichever bit it is. What fails is a twin
// whose seeds are added to its counters.
func TestStreamsAreIndependent(t *testing.T) {
	const words = 64 * 256
	half := []float64{.5, .5}
	differ := func(a, b []uint32) []int {
		n := 0
		for i := range a {
			n += bits.OnesCount32(a[i] ^ b[i])
		}
		return []int{n, 32*len(a) - n}
	}
	x, y := make([]uint32, words), make([]uint32, words)
	var s Stream
	draw := func(dst []uint32, g Generator, seed, chain, at uint64) {
		require.NoError(t, s.SeedOf(g, seed, chain))
		s.Skip(at)
		s.Uint32s(dst)
	}
	const tests = 2 * (64 + 64 + 40)
	for g := range Generator(2) {
		draw(x, g, 1, 2, 0)
		for bit := range 64 {
			draw(y, g, 1^1<<bit, 2, 0)
			exact.Counts(t, differ(x, y), half, exact.Rate/tests)
			draw(y, g, 1, 2^1<<bit, 0)
			exact.Counts(t, differ(x, y), half, exact.Rate/tests)
			if bit >= 24 {
				draw(y, g, 1, 2, 1<<bit)
				exact.Counts(t, differ(x, y), half, exact.Rate/tests)
			}
		}
		// the next block of the same lane: counters that differ by 16
		exact.Counts(t, differ(x[64:], x[:words-64]), half, exact.Rate/tests)
		draw(y, g, 1, 2, 64)
		assert.Less(t, exact.PValue(differ(x[64:], y[:words-64]), half), exact.Rate)
	}
}

func TestStreamAllocatesNothing(t *testing.T) {
	s := NewStream(1, 1)
	u, f := make([]uint32, 100), make([]float64, 30)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		s.Uint32s(u)
		s.Float64s(f)
		s.IntN(10)
	}))
}

func BenchmarkStream(b *testing.B) {
	s := NewStream(1, 1)
	b.Run("Uint32s/n=4096", func(b *testing.B) {
		dst := make([]uint32, 4096)
		for b.Loop() {
			s.Uint32s(dst)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/word")
	})
	b.Run("Float64s/n=4096", func(b *testing.B) {
		dst := make([]float64, 4096)
		for b.Loop() {
			s.Float64s(dst)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/number")
	})
	b.Run("Float64", func(b *testing.B) {
		for b.Loop() {
			s.Float64()
		}
	})
}
