package sampler

import (
	"encoding/binary"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Stream is a counter-based stream of random 32-bit words. A seed and a chain number identify it,
// and its position is the number of words drawn so far. Different streams are independent for every
// practical purpose. The words of a stream are the same on every machine. The zero value is the
// stream of seed 0 and chain 0. A Stream implements rand.Source and is not safe for concurrent use.
//
// The generator is Philox4x32-10 unless [Stream.SeedOf] selects ARS4x32-7 (both by Salmon, Moraes,
// Dror and Shaw 2011). It computes a block of four words from a key and a counter. The key is the
// seed; for ARS it is the pair (seed, 0x243F6A8885A308D3). The counter is a pair (n, chain) of
// 64-bit numbers. Word j of the stream is word w of the block with the counter (n, chain), where
//
//	w = ⌊(j mod 64)/16⌋,  n = 16⌊j/64⌋ + j mod 16.
//
// A 64-bit number consists of two words, the lower half first. The period is 2⁶⁶ words.
type Stream struct {
	seed, chain uint64
	pos         uint64 // number of words drawn
	// words of the group that contains pos; not valid if pos is at the start of a group
	buf       [groupLen]uint32
	generator Generator
}

const (
	groupLen = 64      // words per group: 16 lanes of 4 words
	unit53   = 0x1p-53 // spacing of the results of Float64
)

// streamSize returns the size of a marshalled stream in bytes. Philox4x32 streams are marshalled
// without the byte that names the generator.
func streamSize(g Generator) int {
	if g == Philox4x32 {
		return 3 * 8
	}
	return 3*8 + 1
}

// NewStream returns the stream of the given seed and chain, positioned at its start.
func NewStream(seed, chain uint64) *Stream { return &Stream{seed: seed, chain: chain} }

// Seed moves s to the start of the stream of the given seed and chain. The generator stays the
// same.
func (s *Stream) Seed(seed, chain uint64) { s.seed, s.chain, s.pos = seed, chain, 0 }

// SeedOf moves s to the start of the stream of the given generator, seed and chain. If the
// generator is unknown, it returns an error and changes nothing.
func (s *Stream) SeedOf(g Generator, seed, chain uint64) error {
	if err := g.Check(); err != nil {
		return fmt.Errorf("sampler: Stream.SeedOf: %w", err)
	}
	s.generator = g
	s.Seed(seed, chain)
	return nil
}

// words fills dst with words of the stream, beginning with the given group.
func (s *Stream) words(dst []uint32, group uint64) {
	if s.generator == ARS4x32 {
		simd.ARS(dst, s.seed, s.chain, group)
		return
	}
	simd.Philox(dst, s.seed, s.chain, group)
}

// Uint32 returns the next word of the stream.
func (s *Stream) Uint32() uint32 {
	i := s.pos % groupLen
	if i == 0 {
		s.words(s.buf[:], s.pos/groupLen)
	}
	s.pos++
	return s.buf[i]
}

// Uint64 returns the next two words of the stream as one number; the first word is its low half.
func (s *Stream) Uint64() uint64 {
	if i := s.pos % groupLen; i > 0 && i < groupLen-1 { // both words are in buf
		s.pos += 2
		return uint64(s.buf[i+1])<<32 | uint64(s.buf[i])
	}
	lo := s.Uint32()
	return uint64(s.Uint32())<<32 | uint64(lo)
}

// Float64 returns a uniform multiple of 2⁻⁵³ in [0,1). It uses two words of the stream.
func (s *Stream) Float64() float64 { return float64(float64(s.Uint64()>>11) * unit53) }

// IntN returns an integer in [0,n) whose distribution is exactly uniform, by the rejection method
// of Lemire (2019). It panics unless 1 ≤ n ≤ 2³².
func (s *Stream) IntN(n int) int {
	if n <= 0 || uint64(n) > 1<<32 {
		panic(fmt.Sprintf("sampler: IntN: n = %d, want 1 … 2³²", n))
	}
	m := uint64(n)
	if m == 1<<32 {
		return int(s.Uint32())
	}
	prod := uint64(s.Uint32()) * m
	if low := uint32(prod); uint64(low) < m {
		for bound := uint32(-uint32(m)) % uint32(m); low < bound; low = uint32(prod) {
			prod = uint64(s.Uint32()) * m
		}
	}
	return int(prod >> 32)
}

// Uint32s fills dst with the next len(dst) words.
func (s *Stream) Uint32s(dst []uint32) {
	if i := s.pos % groupLen; i != 0 {
		n := copy(dst, s.buf[i:])
		s.pos += uint64(n)
		dst = dst[n:]
	}
	if n := len(dst) &^ (groupLen - 1); n > 0 {
		s.words(dst[:n], s.pos/groupLen)
		s.pos += uint64(n)
		dst = dst[n:]
	}
	if len(dst) > 0 {
		s.words(s.buf[:], s.pos/groupLen)
		s.pos += uint64(copy(dst, s.buf[:]))
	}
}

// Float64s fills dst with the results of len(dst) calls of Float64.
func (s *Stream) Float64s(dst []float64) {
	var words [groupLen]uint32
	for len(dst) > 0 {
		n := min(len(dst), groupLen/2)
		s.Uint32s(words[:2*n])
		simd.Unit64(dst[:n], words[:2*n])
		dst = dst[n:]
	}
}

// Skip advances the stream by n words in constant time.
func (s *Stream) Skip(n uint64) { s.seek(s.pos + n) }

// Reserve skips n groups of 64 words, so that a kernel can compute these words itself, in any
// order. If the current group is partly used, Reserve first skips the rest of it. It returns the
// generator, seed and chain of the stream, and the index of the first skipped group.
func (s *Stream) Reserve(n uint64) (g Generator, seed, chain, group uint64) {
	group = s.pos/groupLen + (s.pos%groupLen+groupLen-1)/groupLen
	s.pos = (group + n) * groupLen
	return s.generator, s.seed, s.chain, group
}

func (s *Stream) seek(pos uint64) {
	s.pos = pos
	if pos%groupLen != 0 {
		s.words(s.buf[:], pos/groupLen)
	}
}

// AppendBinary appends the seed, the chain and the position of the stream to b, in 24 bytes. If the
// generator is not Philox4x32, an extra byte names it.
func (s *Stream) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, s.seed)
	b = binary.LittleEndian.AppendUint64(b, s.chain)
	b = binary.LittleEndian.AppendUint64(b, s.pos)
	if s.generator != Philox4x32 {
		b = append(b, byte(s.generator))
	}
	return b, nil
}

// MarshalBinary returns the seed, the chain and the position of the stream in the format of
// AppendBinary.
func (s *Stream) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary restores the stream from the output of AppendBinary.
func (s *Stream) UnmarshalBinary(b []byte) error {
	g := Philox4x32
	if short := streamSize(g); len(b) == short+1 {
		g, b = Generator(b[short]), b[:short]
		if g == Philox4x32 || g.Check() != nil {
			return fmt.Errorf("sampler: Stream.UnmarshalBinary: generator = %d, want %d", g, ARS4x32)
		}
	} else if len(b) != short {
		return fmt.Errorf("sampler: Stream.UnmarshalBinary: %d bytes, want %d, or %d", len(b), short, short+1)
	}
	s.generator = g
	s.seed = binary.LittleEndian.Uint64(b)
	s.chain = binary.LittleEndian.Uint64(b[8:])
	s.seek(binary.LittleEndian.Uint64(b[16:]))
	return nil
}
