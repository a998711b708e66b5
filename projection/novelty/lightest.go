package novelty

import "math"

// lightest finds which of many weights may be left out, site by site, so that all
// that are left out weigh less than a bound together. Weights fall into bins by
// powers of two: bin b is for those of 2^−b at most, and counts as if all of it
// weighed that.
type lightest struct {
	left float64 // what may still be left out
	bin  [bins]int
	most int // the last bin with weights
}

// bins covers weights down to 2^−(bins−1); the last bin takes all that are less.
const bins = 1024

// begin sets the bound to 2^−bits.
func (l *lightest) begin(bits int) {
	l.left = math.Ldexp(1, -bits)
	clear(l.bin[:l.most+1]) // of a walk that was not ended
	l.most = 0
}

// weigh takes in a weight of bin b, which may be any number.
func (l *lightest) weigh(b int) {
	b = min(max(b, 0), bins-1)
	l.bin[b]++
	l.most = max(l.most, b)
}

// cut returns the last bin of which weights must be kept at this site, one of sites
// that are to come, and forgets the weights.
func (l *lightest) cut(sites int) (last int) {
	share := l.left / float64(sites)
	last = -1
	for b := l.most; b >= 0; b-- {
		if l.bin[b] == 0 {
			continue
		}
		sum := math.Ldexp(float64(l.bin[b]), -b)
		if sum > share {
			if last = b; b == bins-1 {
				last = math.MaxInt
			}
			break
		}
		share -= sum
		l.left -= sum
	}
	clear(l.bin[:l.most+1])
	l.most = 0
	return last
}

// binOfLog returns the bin of the log of a weight.
func binOfLog(log float64) int { return int(min(max(math.Floor(-log*(1/math.Ln2)), 0), 1<<30)) }

// exponent returns the least e for which x < 2^e; x is positive and normal, or less
// than any normal number.
func exponent(x float64) int { return int(math.Float64bits(x)>>52) - 1022 }
