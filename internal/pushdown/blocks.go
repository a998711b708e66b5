package pushdown

import (
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// blockSize is the maximum number of tokens in a block. Sums are stored per block of a class, so that
// a draw reads the sums of the blocks and then only one block.
const blockSize = simd.MarkBlock

// blocks holds the tokens of all classes, divided into blocks. If one class has most tokens, the
// terms of all tokens are computed in the order of the row, which is much faster than to gather
// weights: see stretch.
type blocks struct {
	token []int32 // tokens, ordered by class
	from  []int32 // block b is token[from[b]:from[b+1]]
	class []int32 // the blocks of class k are class[k]…class[k+1]−1

	stretches []stretch // nil unless a class has most tokens
}

// stretch holds up to block consecutive tokens. A block holds the tokens of the greatest class among
// blockSize consecutive tokens. Each other class has blocks of blockSize tokens, of which the last may
// have fewer.
type stretch struct {
	first, end int32
	mark       []uint8 // tokens of the greatest class, see simd.ExpMarked
	great      int32   // first block of the greatest class

	parts []part   // of the other blocks that have many tokens in the stretch
	at    []uint16 // places of all other tokens in the stretch
	to    []int32  // blocks of these tokens
}

// part is a block, and the places of its tokens in a stretch.
type part struct {
	block int32
	at    []uint16
}

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

// newBlocks returns the blocks of a graph. The slice token holds the tokens of all classes in order. If
// a class has most tokens, then most is the set of them.
func newBlocks(g *Graph, token []int32, most []uint64) blocks {
	b := blocks{token: token, from: []int32{0}}
	great, all := 0, g.Tokens()
	for k, tokens := range g.members {
		if len(tokens) > len(g.members[great]) {
			great = k
		}
	}
	b.from = slices.Grow(b.from, len(g.members)+all/blockSize+1)
	if len(g.members) > 0 && len(g.members[great]) > all/2 {
		b.stretches = make([]stretch, (all+block-1)/block)
		for i := range b.stretches {
			first, end := i*block, min((i+1)*block, all)
			others := end - first
			for _, set := range most[first/64 : (end+63)/64] {
				others -= bits.OnesCount64(set)
			}
			b.stretches[i] = stretch{first: int32(first), end: int32(end), mark: make([]uint8, (end-first+7)/8),
				at: make([]uint16, 0, others), to: make([]int32, 0, others)}
		}
	}
	for k, tokens := range g.members {
		b.class = append(b.class, int32(b.count()))
		if b.stretches != nil && k == great {
			b.addGreatest(most)
			continue
		}
		for tokens := range slices.Chunk(tokens, blockSize) {
			i := int32(b.count())
			b.add(len(tokens))
			for b.stretches != nil && len(tokens) > 0 {
				tokens = b.stretches[tokens[0]/block].add(i, tokens)
			}
		}
	}
	b.class = append(b.class, int32(b.count()))
	return b
}

// add adds those of the ascending tokens of block i that are in the stretch, and returns the others.
func (s *stretch) add(i int32, tokens []int32) (others []int32) {
	n := 0
	for n < len(tokens) && tokens[n] < s.end {
		n++
	}
	if n >= partSize {
		at := make([]uint16, n)
		for k, t := range tokens[:n] {
			at[k] = uint16(t - s.first)
		}
		s.parts = append(s.parts, part{i, at})
		return tokens[n:]
	}
	for _, t := range tokens[:n] {
		s.at, s.to = append(s.at, uint16(t-s.first)), append(s.to, i)
	}
	return tokens[n:]
}

// addGreatest adds the blocks of the greatest class, which is the given set of tokens.
func (b *blocks) addGreatest(set []uint64) {
	for i := range b.stretches {
		s := &b.stretches[i]
		s.great = int32(b.count())
		n, set := 0, set[s.first/64:]
		for at := range s.mark {
			m := uint8(set[at/8] >> (at % 8 * 8))
			s.mark[at] = m
			n += bits.OnesCount8(m)
			if (at+1)%(blockSize/8) == 0 || at+1 == len(s.mark) {
				b.add(n)
				n = 0
			}
		}
	}
}

// add adds a block of the next n tokens.
func (b *blocks) add(n int) { b.from = append(b.from, b.from[b.count()]+int32(n)) }

func (b *blocks) count() int { return len(b.from) - 1 }

// greatestSum bounds the sum of the weights of a site. It is high enough that the greatest
// weight need only be known roughly.
const greatestSum = 0x1p200

// sample returns the greatest weight in a sample of a row.
func (b *blocks) sample(row []float32) float64 {
	m, step := float32(math.Inf(-1)), len(b.token)/16+1
	for i := 0; i < len(b.token); i += step {
		m = max(m, row[b.token[i]])
	}
	return float64(m)
}

// sum stores in dst, for every block, Σ e^(row[t]−shift) over the tokens t of the block. It returns
// the total of all blocks. The slice terms is scratch. If the total exceeds greatestSum, the sums and
// the total may be incomplete.
func (b *blocks) sum(dst []float64, row []float32, shift float64, terms *[block]float64) (total float64) {
	if b.stretches == nil {
		return b.sumGathered(dst, row, shift, terms[:])
	}
	clear(dst)
	for i := range b.stretches {
		s := &b.stretches[i]
		n := s.end - s.first
		simd.ExpMarked(dst[s.great:s.great+(n+blockSize-1)/blockSize], terms[:n], row[s.first:s.end], s.mark, shift)
		for _, p := range s.parts {
			dst[p.block] += plainAt(terms, p.at)
		}
		to := s.to[:len(s.at)]
		for j, at := range s.at {
			dst[to[j]] += terms[at%block]
		}
	}
	for _, x := range dst {
		total += x
	}
	return total
}

// plainAt is plain for the entries at the given places.
func plainAt(x *[block]float64, at []uint16) float64 {
	var a, b, c, d float64
	for len(at) >= 4 {
		a, b, c, d = a+x[at[0]%block], b+x[at[1]%block], c+x[at[2]%block], d+x[at[3]%block]
		at = at[4:]
	}
	for _, i := range at {
		a += x[i%block]
	}
	return (a + c) + (b + d)
}

// sumGathered is sum for classes of which none has most tokens. It stops once the total exceeds
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

// top returns the greatest weight of the tokens, or NaN if a weight is NaN.
func (b *blocks) top(row []float32) float64 {
	m := float32(math.Inf(-1))
	for _, t := range b.token {
		if w := row[t]; w > m {
			m = w
		} else if w != w {
			return math.NaN()
		}
	}
	return float64(m)
}

// alive reports whether a class has a token whose log-weight exceeds −Inf.
func (b *blocks) alive(class int, row []float32) bool {
	for _, t := range b.token[b.from[b.class[class]]:b.from[b.class[class+1]]] {
		if row[t] > float32(math.Inf(-1)) {
			return true
		}
	}
	return false
}

// block is the number of exponentials computed at a time, few enough for all of them to stay in
// the cache until they are summed.
const block = 2048
