package dual

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// chains keeps sums of every row for each chain separately, in memory that does not grow:
// over up to four blocks of draws that double in length. It measures how far the chains
// disagree, which a series of their common mean cannot show.
type chains struct {
	count, n    int // chains, rows
	draws, size int // made; per block
	sums        []float64
	squares     []float64 // blocks × n: sums of squares over chains and draws
	open        []float64 // the block in progress: chains × n sums, n squares
}

const mostBlocks = 4

func newChains(count, n int) chains {
	return chains{count: count, n: n, size: 1, sums: make([]float64, 0, mostBlocks*count*n), squares: make([]float64, 0, mostBlocks*n), open: make([]float64, (count+1)*n)}
}

// add adds a draw of every chain, violations g without the means given (nil: none).
func (c *chains) add(g, mean []float64) {
	squares := c.open[c.count*c.n:]
	for s := range c.count {
		to := c.open[s*c.n : (s+1)*c.n]
		for j, v := range g[s*c.n : (s+1)*c.n] {
			if mean != nil {
				v -= mean[j]
			}
			to[j] += v
			squares[j] += float64(v * v)
		}
	}
	c.draws++
	if c.draws%c.size != 0 {
		return
	}
	if len(c.squares) == mostBlocks*c.n {
		c.sums = halved(c.sums, c.count*c.n)
		c.squares = halved(c.squares, c.n)
		c.size *= 2
	}
	if c.draws%c.size != 0 {
		return
	}
	c.sums = append(c.sums, c.open[:c.count*c.n]...)
	c.squares = append(c.squares, squares...)
	clear(c.open)
}

// halved adds up pairs of rows of n numbers.
func halved(v []float64, n int) []float64 {
	for k := 0; k < len(v)/2; k += n {
		for j := range n {
			v[k+j] = v[2*k+j] + v[2*k+n+j]
		}
	}
	return v[:len(v)/2]
}

// agreement describes how well chains agree in a row.
type agreement struct {
	se       float64 // of the mean of all, from the means of chains; 0 for one chain
	rhat     float64 // √(variance of all draws over that within chains); NaN if not defined
	limit    float64 // the largest rhat of chains that agree
	variance float64 // of a draw
}

// agreement compares the chains in row j, without the first of so many blocks (Gelman and
// Rubin 1992; one chain is compared in halves).
func (c *chains) agreement(j, skip int) agreement {
	a := agreement{rhat: math.NaN(), limit: mostRHat}
	blocks := len(c.squares) / c.n
	if blocks < mostBlocks {
		skip = 0
	}
	kept := blocks - skip
	parts, length := c.count, kept*c.size
	split := 1 // parts of a chain
	if c.count == 1 {
		split = kept
		parts, length = kept, c.size
	}
	if kept < 1 || length < 2 || parts < 2 {
		return a
	}
	mean, means := 0.0, make([]float64, parts)
	squares := 0.0
	for b := skip; b < blocks; b++ {
		squares += c.squares[b*c.n+j]
		for s := range c.count {
			at := s
			if split > 1 {
				at = b - skip
			}
			means[at] += c.sums[(b*c.count+s)*c.n+j] / float64(length)
		}
	}
	for _, v := range means {
		mean += v / float64(parts)
	}
	total := squares / float64(parts*length)
	between := 0.0
	for _, v := range means {
		d := v - mean
		between += float64(d * d)
		squares -= float64(float64(length) * v * v)
	}
	between /= float64(parts - 1)
	size := float64(length)
	within := max(squares, 0) / float64(parts) / (size - 1)
	a.variance = float64(within*(size-1)/size) + between
	if c.count > 1 {
		a.se = math.Sqrt(between / float64(parts))
	}
	switch {
	case between <= float64(noise*total):
		a.rhat = 1
	case within > 0:
		a.rhat = math.Sqrt(a.variance / within)
	default: // chains that do not move
		a.rhat = math.Inf(1)
	}
	// The means of independent draws make it exceed 1 by chance.
	a.limit = math.Sqrt(float64(mostRHat*mostRHat) + float64(4/size*math.Sqrt(2/float64(parts-1))))
	return a
}

// mostRHat is the largest R-hat of chains that have converged (Vehtari et al. 2021), to
// which agreement adds what chance explains in short runs.
const mostRHat = 1.01

// noise is the variance, relative to the mean square, that the rounding of sums can
// explain.
const noise = 1e-20

// fields goes through the sums.
func (c *chains) fields(f *wire.Fields) {
	blocks := len(c.squares) / c.n
	f.Counts("draws of chains", &c.draws)
	f.Int("draws of a block", &c.size, 1, math.MaxInt)
	f.Int("blocks", &blocks, 0, mostBlocks)
	c.sums, c.squares = c.sums[:blocks*c.count*c.n], c.squares[:blocks*c.n]
	for _, v := range [][]float64{c.sums, c.squares, c.open} {
		f.Float64s(v)
	}
}
