package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// blockSize is the maximum number of tokens in most blocks. Sums are stored per block of a class,
// so that a draw reads the sums of the blocks and then only one block.
const blockSize = simd.MarkBlock

// blocks holds the tokens of all classes, divided into blocks. If one class has most tokens, the
// terms of all tokens are computed in the order of the row, which is much faster than to gather
// weights: see stretch.
type blocks struct {
	token []int32 // tokens, ordered by class
	from  []int32 // block b is token[from[b]:from[b+1]]
	class []int32 // the blocks of class k are class[k]…class[k+1]−1

	wholes []int32   // offsets at which consecutive blocks of full size begin
	ones   []float64 // blockSize ones

	stretches []stretch // nil unless a class has most tokens
}

// stretch holds up to block consecutive tokens. The tokens of the greatest class that are among
// blockSize consecutive ones are a block, and so are the tokens in the stretch of each other class.
type stretch struct {
	first, end int32
	mark       []uint8 // tokens of the greatest class, see simd.ExpMarked
	great      int32   // first block of the greatest class
	parts      []part
}

// part is a block of another class, and the places of its tokens in the stretch.
type part struct {
	block int32
	at    []uint16
}

// cut divides ascending tokens where the quotient by size changes. It calls f with every quotient
// below count, and the tokens that have it.
func cut(tokens []int32, size, count int, f func(i int, tokens []int32)) {
	for i := range count {
		n := 0
		for n < len(tokens) && int(tokens[n])/size == i {
			n++
		}
		f(i, tokens[:n])
		tokens = tokens[n:]
	}
}

func newBlocks(g *Graph) blocks {
	b := blocks{from: []int32{0}, ones: make([]float64, blockSize)}
	for i := range b.ones {
		b.ones[i] = 1
	}
	for at := int32(0); at < block; at += blockSize {
		b.wholes = append(b.wholes, at)
	}
	great, all := 0, g.Tokens()
	for k, tokens := range g.members {
		if len(tokens) > len(g.members[great]) {
			great = k
		}
	}
	if len(g.members) > 0 && len(g.members[great]) > all/2 {
		b.stretches = make([]stretch, (all+block-1)/block)
		for i := range b.stretches {
			first, end := i*block, min((i+1)*block, all)
			b.stretches[i] = stretch{first: int32(first), end: int32(end), mark: make([]uint8, (end-first+7)/8)}
		}
	}
	for k, tokens := range g.members {
		b.class = append(b.class, int32(b.count()))
		switch {
		case b.stretches == nil:
			for ; len(tokens) > blockSize; tokens = tokens[blockSize:] {
				b.add(tokens[:blockSize])
			}
			if len(tokens) > 0 {
				b.add(tokens)
			}
		case k == great:
			cut(tokens, blockSize, (all+blockSize-1)/blockSize, func(i int, tokens []int32) {
				s := &b.stretches[i*blockSize/block]
				if i*blockSize%block == 0 {
					s.great = int32(b.count())
				}
				for _, t := range tokens {
					s.mark[(t-s.first)/8] |= 1 << (t % 8)
				}
				b.add(tokens)
			})
		default:
			cut(tokens, block, len(b.stretches), func(i int, tokens []int32) {
				if len(tokens) == 0 {
					return
				}
				s, at := &b.stretches[i], make([]uint16, len(tokens))
				for j, t := range tokens {
					at[j] = uint16(t - s.first)
				}
				s.parts = append(s.parts, part{int32(b.count()), at})
				b.add(tokens)
			})
		}
	}
	b.class = append(b.class, int32(b.count()))
	return b
}

// add adds a block.
func (b *blocks) add(tokens []int32) {
	b.token = append(b.token, tokens...)
	b.from = append(b.from, int32(len(b.token)))
}

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
// the total of all blocks. The slice terms is scratch. If the total exceeds greatestSum, the sums
// are incomplete.
func (b *blocks) sum(dst []float64, row []float32, shift float64, terms *[block]float64) (total float64) {
	if b.stretches == nil {
		return b.sumGathered(dst, row, shift, terms[:])
	}
	for i := range b.stretches {
		s := &b.stretches[i]
		n := s.end - s.first
		sums := dst[s.great : s.great+(n+blockSize-1)/blockSize]
		simd.ExpMarked(sums, terms[:n], row[s.first:s.end], s.mark, shift)
		for _, x := range sums {
			total += x
		}
		for _, p := range s.parts {
			x := plainAt(terms, p.at)
			dst[p.block] = x
			total += x
		}
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

// sumGathered is sum for classes of which none has most tokens.
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
			for whole < len(b.wholes) && i+whole < n && b.from[i+whole+1]-b.from[i+whole] == blockSize {
				whole++
			}
			sums := dst[i : i+max(whole, 1)]
			if whole > 0 {
				clear(sums)
				simd.Dots(sums, blockSize, terms[from:], b.wholes[:whole], b.ones)
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
