package pushdown

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// blockSize is the maximum number of tokens in a block. Sums are stored per block of a class, so that
// a draw reads the sums of the blocks and then only one block.
const blockSize = simd.MarkBlock

// blocks holds the tokens of all classes, divided into blocks of at most blockSize tokens. If one class
// has most tokens, only the set of its tokens is stored. Its blocks are the parts of this set among
// blockSize consecutive tokens. The terms of all tokens are then computed in the order of the row, which
// is much faster than gathering weights: see stretch.
type blocks struct {
	token []int32 // tokens of the classes that are stored as lists, ordered by class
	from  []int32 // block b is token[from[b]:from[b+1]], unless it is a part of the set
	class []int32 // the blocks of class k are class[k]…class[k+1]−1

	great     int     // the class that is stored as a set, −1 if there is none
	mark      []uint8 // set of its tokens, see simd.ExpMarked
	sampled   []int32 // some tokens of all classes
	stretches []stretch
	parts     []part
	at        []uint16 // places in their stretch of the tokens that are in no part
	to        []int32  // blocks of these tokens
}

// stretch holds up to block consecutive tokens. Its parts, and its tokens that are in no part, follow
// those of the previous stretch.
type stretch struct {
	first, end int32
	parts, at  int32 // ends of its own
}

// part means that the tokens token[from:to], which are in one stretch, are in a block.
type part struct{ block, from, to int32 }

// partSize is the least size of a part. The terms of fewer tokens are added to the sum of their block
// one by one, which is faster.
const partSize = 16

var (
	// offsets at which consecutive blocks of full size begin
	wholes = func() (at [block / blockSize]int32) {
		for i := range at {
			at[i] = int32(i) * blockSize
		}
		return at
	}()
	ones = slices.Repeat([]float64{1}, blockSize)
)

// newBlocks returns the blocks of classes with the given numbers of tokens. If a class has more than half
// of all tokens, then great is its index and set the set of its tokens, otherwise great is −1. The slice
// token holds the tokens of the other classes in order.
func newBlocks(all int, sizes []int32, great int, set []uint64, token []int32) blocks {
	b := blocks{token: token, great: great, from: make([]int32, 1, len(sizes)+all/blockSize+2), class: make([]int32, 0, len(sizes)+1)}
	for k, size := range sizes {
		b.class = append(b.class, int32(b.count()))
		if k == great {
			b.mark = make([]uint8, (all+blockSize-1)/blockSize*(blockSize/8))
			for i, s := range set {
				binary.LittleEndian.PutUint64(b.mark[8*i:], s)
			}
			size = 0
			for range len(b.mark) / (blockSize / 8) {
				b.from = append(b.from, b.from[b.count()])
			}
		}
		for ; size > 0; size -= blockSize {
			b.from = append(b.from, b.from[b.count()]+min(size, blockSize))
		}
	}
	b.class = append(b.class, int32(b.count()))
	if great >= 0 {
		b.stretch(all)
	}
	b.choose()
	return b
}

// stretch finds the stretches of all tokens.
func (b *blocks) stretch(all int) {
	b.stretches = make([]stretch, (all+block-1)/block)
	for i := range b.stretches {
		b.stretches[i] = stretch{first: int32(i * block), end: int32(min((i+1)*block, all))}
	}
	b.runs(func(s *stretch, p part) {
		if p.to-p.from >= partSize {
			s.parts++
		} else {
			s.at += p.to - p.from
		}
	})
	parts, at := int32(0), int32(0)
	for i := range b.stretches { // the ends are those of what has been added
		s := &b.stretches[i]
		s.parts, parts = parts, parts+s.parts
		s.at, at = at, at+s.at
	}
	b.parts, b.at, b.to = make([]part, parts), make([]uint16, at), make([]int32, at)
	b.runs(func(s *stretch, p part) {
		if p.to-p.from >= partSize {
			b.parts[s.parts] = p
			s.parts++
			return
		}
		for _, t := range b.token[p.from:p.to] {
			b.at[s.at], b.to[s.at] = uint16(t-s.first), p.block
			s.at++
		}
	})
}

// runs calls f for the tokens that each block stored as a list has in each stretch.
func (b *blocks) runs(f func(s *stretch, p part)) {
	for i := range int32(b.count()) {
		for from, end := b.from[i], b.from[i+1]; from < end; {
			s, to := &b.stretches[b.token[from]/block], from+1
			for to < end && b.token[to] < s.end {
				to++
			}
			f(s, part{i, from, to})
			from = to
		}
	}
}

// choose chooses the tokens of the sample, in equal steps.
func (b *blocks) choose() {
	n, next := 0, 0
	for i := range int32(b.count()) {
		n += b.size(i)
	}
	step := n/16 + 1
	b.sampled = make([]int32, 0, 16)
	var scratch tokenBuffer
	for i := range int32(b.count()) {
		n := b.size(i)
		for next < n {
			b.sampled = append(b.sampled, b.tokens(i, &scratch)[next])
			next += step
		}
		next -= n
	}
}

func (b *blocks) count() int { return len(b.from) - 1 }

// classes returns the number of classes.
func (b *blocks) classes() int { return len(b.class) - 1 }

// marks returns the set of the tokens of block i, and the first token that can be in it, if the block is
// stored as a set.
func (b *blocks) marks(i int32) (set []uint8, first int32) {
	const size = blockSize / 8
	if b.great >= 0 {
		if i -= b.class[b.great]; uint(i) < uint(len(b.mark)/size) {
			return b.mark[i*size : (i+1)*size], i * blockSize
		}
	}
	return nil, 0
}

// size returns the number of tokens of block i.
func (b *blocks) size(i int32) int {
	n := int(b.from[i+1] - b.from[i])
	for set, _ := b.marks(i); len(set) > 0; set = set[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(set))
	}
	return n
}

// tokens returns the tokens of block i in ascending order. They are valid as long as scratch is not
// changed.
func (b *blocks) tokens(i int32, scratch *tokenBuffer) []int32 {
	set, first := b.marks(i)
	if set == nil {
		return b.token[b.from[i]:b.from[i+1]]
	}
	n := 0
	for _, own := range set {
		x, y := &places[own], (*[8]int32)(scratch[n:n+8])
		y[0], y[1], y[2], y[3] = first+int32(x[0]), first+int32(x[1]), first+int32(x[2]), first+int32(x[3])
		y[4], y[5], y[6], y[7] = first+int32(x[4]), first+int32(x[5]), first+int32(x[6]), first+int32(x[7])
		n += bits.OnesCount8(own)
		first += 8
	}
	return scratch[:n]
}

// tokenBuffer is scratch for the tokens of a block.
type tokenBuffer [blockSize]int32

// places lists the bits of each byte that are set.
var places = func() (places [256][8]uint8) {
	for x := range places {
		for n, own := 0, uint8(x); own != 0; n, own = n+1, own&(own-1) {
			places[x][n] = uint8(bits.TrailingZeros8(own))
		}
	}
	return places
}()

// greatestSum bounds the sum of the weights of a site. It is high enough that the greatest
// weight need only be known roughly.
const greatestSum = 0x1p200

// sample returns the greatest weight in a sample of a row.
func (b *blocks) sample(row []float32) float64 {
	m := float32(math.Inf(-1))
	for _, t := range b.sampled {
		m = max(m, row[t])
	}
	return float64(m)
}

// sum stores in dst, for every block, Σ e^(row[t]−shift) over the tokens t of the block. It returns
// the total of all blocks. The slice terms is scratch. If the total exceeds greatestSum, the sums and
// the total may be incomplete.
func (b *blocks) sum(dst []float64, row []float32, shift float64, terms *[block]float64) (total float64) {
	if b.great < 0 {
		return b.sumGathered(dst, row, shift, terms[:])
	}
	clear(dst)
	parts, from := int32(0), int32(0)
	for i := range b.stretches {
		s := &b.stretches[i]
		n, great := s.end-s.first, b.class[b.great]+s.first/blockSize
		simd.ExpMarked(dst[great:great+(n+blockSize-1)/blockSize], terms[:n], row[s.first:s.end], b.mark[s.first/8:(s.end+7)/8], shift)
		for _, p := range b.parts[parts:s.parts] {
			dst[p.block] += plainAt(terms, b.token[p.from:p.to])
		}
		at := b.at[from:s.at]
		to := b.to[from:s.at][:len(at)]
		for j, at := range at {
			dst[to[j]] += terms[at%block]
		}
		parts, from = s.parts, s.at
	}
	for _, x := range dst {
		total += x
	}
	return total
}

// plainAt is plain for the terms of the given tokens of a stretch.
func plainAt(x *[block]float64, at []int32) float64 {
	var a, b, c, d float64
	for len(at) >= 4 {
		a, b, c, d = a+x[uint32(at[0])%block], b+x[uint32(at[1])%block], c+x[uint32(at[2])%block], d+x[uint32(at[3])%block]
		at = at[4:]
	}
	for _, i := range at {
		a += x[uint32(i)%block]
	}
	return (a + c) + (b + d)
}

// sumGathered is sum for classes that are all stored as lists. It stops once the total exceeds
// greatestSum.
func (b *blocks) sumGathered(dst []float64, row []float32, shift float64, terms []float64) (total float64) {
	for i := 0; i < len(dst) && total <= greatestSum; {
		// As many blocks as fit at once.
		n := i + 1
		first := b.from[i]
		for n < len(dst) && int(b.from[n+1]-first) <= len(terms) {
			n++
		}
		simd.ExpGather(terms[:b.from[n]-first], row, b.token[first:b.from[n]], shift)
		for i < n {
			from, whole := b.from[i]-first, 0
			for whole < len(wholes) && i+whole < n && b.from[i+whole+1]-b.from[i+whole] == blockSize {
				whole++
			}
			sums := dst[i : i+max(whole, 1)]
			if whole > 0 {
				clear(sums)
				simd.Dots(sums, blockSize, terms[from:], wholes[:whole], ones)
			} else {
				sums[0] = plain(terms[from : b.from[i+1]-first])
			}
			for _, s := range sums {
				total += s
			}
			i += len(sums)
		}
	}
	return total
}

// plain returns the sum of x, added in four lanes.
func plain(x []float64) float64 {
	var a, b, c, d float64
	for len(x) >= 4 {
		a, b, c, d = a+x[0], b+x[1], c+x[2], d+x[3]
		x = x[4:]
	}
	for _, y := range x {
		a += y
	}
	return (a + c) + (b + d)
}

// block is the number of exponentials computed at a time, few enough for all of them to stay in
// the cache until they are summed.
const block = 2048
