package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// blockSize is the maximum number of tokens in a block. Sums are stored per block of a class,
// so that a draw reads the sums of the blocks and then only one block.
const blockSize = 256

// blocks holds the tokens of all classes, divided into blocks.
type blocks struct {
	token []int32 // tokens, ordered by class
	from  []int32 // block b is token[from[b]:from[b+1]]
	class []int32 // the blocks of class k are class[k]…class[k+1]−1

	wholes []int32   // offsets at which consecutive blocks of full size begin
	ones   []float64 // blockSize ones
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
func (b *blocks) sum(dst []float64, row []float32, shift float64, terms []float64) (total float64) {
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
