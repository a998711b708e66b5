package simd

import (
	"fmt"
)

// FlipThresholds computes the flip probabilities of the binary discrete
// Langevin proposal (Zhang, Liu and Liu 2022, Algorithm 2) as integers over
// 2³¹. For a site with field h_i = E(x_i=1) − E(x_i=0), x_i ∈ {0,1},
//
//	Δ_i = h_i·(1−2x_i),  l_i = −beta·Δ_i − c_i,
//	t_i = min(max(⌊2³¹·σ(l_i)⌋, 1), 2³¹−2⁷),
//
// in float32, σ the logistic function with an error below 3.5 ulp; t_i = 0 where
// l_i = −Inf (never flips) and −1 where l_i is NaN. The Langevin proposal of step
// size α has beta = ½ and c = 1/(2α). Because what is drawn with is an integer,
// the probability in the Hastings ratio is exactly that of the draw.
//
// c has one entry for all sites or one per site. It panics unless len(t) =
// len(x) = len(h) and len(c) is 1 or len(h).
func FlipThresholds(t []int32, h []float32, x []int32, beta float32, c []float32) {
	checkLen("t", len(t), len(h))
	checkLen("x", len(x), len(h))
	if len(c) != 1 && len(c) != len(h) {
		panic(fmt.Sprintf("simd: len(c) = %d, want 1 or %d", len(c), len(h)))
	}
	flipThresholds(t, h, x, beta, c)
}

// Flip draws y from the thresholds t of x: y_i = 1−x_i where ⌊bits_i/2⌋ < t_i,
// which has probability t_i/2³¹, else y_i = x_i. It returns the number of sites
// moved and
//
//	logq = Σ_i log q_i(y_i),  q_i = t_i/2³¹ if y_i ≠ x_i, else 1 − t_i/2³¹,
//
// which is NaN if some t_i is negative. The error of logq is below
// 1e−15·(len(t) + |logq|). y may be x. It panics unless the slices have one length.
func Flip(y, x, t []int32, bits []uint32) (moved int, logq float64) {
	checkLen("y", len(y), len(t))
	checkLen("x", len(x), len(t))
	checkLen("bits", len(bits), len(t))
	for len(t) > 0 {
		n := min(len(t), flipBlockSites)
		m, q := flipBlock(y[:n], x[:n], t[:n], bits[:n])
		moved += m
		logq += q
		y, x, t, bits = y[n:], x[n:], t[n:], bits[n:]
	}
	return moved, logq
}

// FlipLogProb returns Σ_i log q_i(y_i) as [Flip] defines it, for given y: the
// log-probability that thresholds t take x to y. It is −Inf if a site moves
// whose threshold is 0, and NaN if some t_i is negative. It panics unless the
// slices have one length.
func FlipLogProb(x, y, t []int32) (logq float64) {
	checkLen("x", len(x), len(t))
	checkLen("y", len(y), len(t))
	for len(t) > 0 {
		n := min(len(t), flipBlockSites)
		logq += flipLogProbBlock(x[:n], y[:n], t[:n])
		x, y, t = x[n:], y[n:], t[n:]
	}
	return logq
}
