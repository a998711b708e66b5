package dual

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// chains accumulates sums of every row for each chain separately. Its memory is constant, because
// it holds at most four blocks of draws and doubles the block length when they are full. It
// measures how far the chains disagree, which the mean over all chains cannot show.
type chains struct {
	count, n    int // number of chains; number of rows
	draws, size int // draws per chain so far; draws per block
	sums        []float64
	squares     []float64 // blocks × n: sums of squares over chains and draws
	open        []float64 // block in progress: chains × n sums, then n squares
}

const mostBlocks = 4

func newChains(count, n int) chains {
	return chains{count: count, n: n, size: 1, sums: make([]float64, 0, mostBlocks*count*n), squares: make([]float64, 0, mostBlocks*n), open: make([]float64, (count+1)*n)}
}

// add adds one draw of every chain, with violations g. If mean is not nil, add first subtracts the
// means.
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

// halved adds adjacent pairs of rows of n numbers and returns half as many rows.
func halved(v []float64, n int) []float64 {
	for k := 0; k < len(v)/2; k += n {
		for j := range n {
			v[k+j] = v[2*k+j] + v[2*k+n+j]
		}
	}
	return v[:len(v)/2]
}

// agreement measures how well the chains agree on one row.
type agreement struct {
	// standard error of the overall mean, estimated from the means of the chains; 0 for one
	// chain
	se       float64
	rhat     float64 // √(variance of all draws / variance within chains); NaN if undefined
	limit    float64 // largest rhat at which the chains count as agreeing
	variance float64 // variance of one draw
}

// agreement compares the chains on row j and ignores the first skip blocks (Gelman and Rubin
// 1992). A single chain is divided into its blocks, which are compared instead.
func (c *chains) agreement(j, skip int) agreement {
	a := agreement{rhat: math.NaN(), limit: mostRHat}
	blocks := len(c.squares) / c.n
	if blocks < mostBlocks {
		skip = 0
	}
	kept := blocks - skip
	parts, length := c.count, kept*c.size
	split := 1 // parts that a single chain is divided into
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
	default: // no chain moves, but the chains differ
		a.rhat = math.Inf(1)
	}
	// By chance alone, the means of independent draws make R-hat exceed 1.
	a.limit = math.Sqrt(float64(mostRHat*mostRHat) + float64(4/size*math.Sqrt(2/float64(parts-1))))
	return a
}

// mostRHat is the largest R-hat of converged chains (Vehtari et al. 2021). For short runs,
// agreement adds the excess that chance explains.
const mostRHat = 1.01

// noise is the variance, relative to the mean square, that rounding errors of the sums can cause.
const noise = 1e-20

// fields reads or writes the accumulated sums for a checkpoint.
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
