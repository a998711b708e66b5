package dual

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/concave"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Auto is the default [Rule]. It is a stochastic Newton method and needs no settings. Let g be the
// violations, ḡ their batch mean and β the temperature. Auto adds to the multipliers λ the vector δ
// that solves
//
//	max_δ ḡᵀδ − δᵀ(C + diag h)δ/(2sβ)  over the δ that keep λ within its bounds,
//	  with |δ_j| ≤ 2β/sd(g_j) and |δ_j| ≤ 4β/max |g_j − E g_j|.
//
// The last maximum is over all samples so far. C is a weighted mean of the covariances of g in
// earlier batches, with more weight on recent ones. The vector h shrinks C towards its diagonal,
// and decreases as samples accumulate.
//
// The gain s starts at 1 and decreases, more slowly while steps continue in one direction (Kesten
// 1958). A step is shortened if it would change the distribution by more than about one nat.
//
// The rule does not depend on the units of g and accepts dependent constraints. It needs batches of
// at least two states. An update takes O(n²) time and memory for n multipliers.
type Auto struct{}

// Constants of Auto, chosen in a study of problems with 1 to 500 multipliers. TestRareEvents,
// TestDependentBounds, TestAutoRing and TestHardRows check the results of that study.
const (
	autoMemory = 3.0     // batch n has weight 3/(n+3) in C
	autoGain   = 2.0     // gain s = 2/(2+k)
	autoGo     = 0.2     // amount that a step in the recent direction adds to k
	autoTrend  = 4.0     // the recent direction is a mean over the last quarter of the steps
	autoRun    = 32      // smallest number of consecutive steps in one direction that count as a drift
	autoPart   = 8       // a drift must also be at least 1/8 of all steps
	autoReach  = 4.0     // largest step of λ_j, in units of β over the largest deviation of g_j
	autoRidge  = 1e-6    // smallest shrinkage of C towards its diagonal
	autoBox    = 2.0     // largest step of λ_j, in units of β over the standard deviation of g_j
	autoNats   = 1.0     // largest predicted KL divergence caused by a step
	autoWork   = 1 << 17 // multiply–adds of all sweeps of an update
	// multiply–adds per update that computing covariances may take on average
	autoCost    = 1 << 13
	autoRound   = 1e-20 // a variance below this fraction of the mean square counts as rounding
	autoLargest = 2000  // number of multipliers above which C is too large
)

// Bind returns a new updater for n multipliers; it implements [Rule].
func (Auto) Bind(_ context.Context, n int) (Updater, error) {
	if err := cmp.Or(checkCount("Auto", n), check.Entries("dual: Auto", "n × n", n, n)); err != nil {
		return nil, err
	}
	u := &auto{c: make([]float64, n*n), fresh: make([]float64, n*n), d: make([]float64, n)}
	for _, v := range []*[]float64{&u.variance, &u.square, &u.trend, &u.now, &u.widest} {
		*v = make([]float64, n)
	}
	u.q = concave.Quadratic{C: u.c, H: make([]float64, n), Low: make([]float64, n), High: make([]float64, n), Residual: make([]float64, n)}
	return updater{u}, nil
}

type auto struct {
	steps, learnt, next int
	run                 int       // consecutive steps in the recent direction
	k                   float64   // counter k, which slows the gain
	weight              float64   // Σ of the squared weights of the batches in c
	c                   []float64 // running covariance C, n × n
	variance, square    []float64 // means over all batches of the variance and of g²
	widest              []float64 // largest |g − ḡ| of each row so far
	// mean of ḡ over the last part of the run, for multipliers that moved
	trend []float64

	fresh, now, d []float64 // scratch: covariance and variance of the batch, and the step
	q             concave.Quadratic
}

func (u *auto) Update(lambda []float64, b *Batch) error {
	if err := b.spread("Auto"); err != nil {
		return err
	}
	if b.States < 2 {
		return fmt.Errorf("dual: Auto: batch of %d states has no covariance, want ≥ 2", b.States)
	}
	b.Variance(u.now)
	for j, v := range u.now {
		if !check.Finite(v) {
			return fmt.Errorf("dual: Auto: variance of violation %d = %v, want a finite number", j, v)
		}
	}
	u.moments(b)
	if u.steps == 0 {
		u.learn(b) // only the first step uses the covariance of its own batch
	}
	s := autoGain / (u.k + autoGain)
	u.model(lambda, b, float64(s*b.Beta))
	n := len(lambda)
	quad := u.q.Maximize(u.d, sweeps(n))
	if nats := quad / float64(2*float64(b.Beta*b.Beta)); nats > autoNats {
		f := math.Sqrt(autoNats / nats)
		for j := range u.d {
			u.d[j] = float64(f * u.d[j])
		}
	}
	u.slow(b)
	for j, v := range u.d {
		lambda[j] = b.clip(j, lambda[j]+v)
	}
	if u.steps > 0 && u.steps >= u.next {
		u.learn(b)
	}
	u.steps++
	return nil
}

// moments updates the running moments with the variances and mean squares of the batch.
func (u *auto) moments(b *Batch) {
	w := 1 / float64(u.steps+1)
	part := float64(b.States-1) / float64(b.States)
	for j, g := range b.Mean {
		square := float64(part*u.now[j]) + float64(g*g)
		if u.now[j] < float64(autoRound*square) {
			u.now[j] = 0
		}
		u.variance[j] += float64(w * (u.now[j] - u.variance[j]))
		u.square[j] += float64(w * (square - u.square[j]))
	}
	n := len(b.Mean)
	for at := 0; at < len(b.G); at += n {
		for j, g := range b.G[at : at+n] {
			u.widest[j] = max(u.widest[j], math.Abs(g-b.Mean[j]))
		}
	}
}

// model fills in the quadratic model of the dual function around λ. step is the gain times β.
func (u *auto) model(lambda []float64, b *Batch, step float64) {
	n := len(lambda)
	samples := float64(b.States) / u.weight // effective number of samples in C
	alpha := max(autoRidge, float64(n)/(float64(n)+samples))
	u.q.Mean, u.q.Scale = b.Mean, 1/step
	for j, l := range lambda {
		own := u.c[j*n+j]
		// the second term adds one sample at 0
		u.q.H[j] = float64(alpha*own) + u.square[j]/samples
		v := max(own, u.variance[j], u.now[j])
		if v <= float64(autoRound*u.square[j]) { // C has rounding errors too
			v = u.square[j]
		}
		box := 0.0
		if v > 0 {
			box = autoBox * b.Beta / math.Sqrt(v)
		}
		if w := u.widest[j]; w > 0 {
			box = min(box, autoReach*b.Beta/w)
		}
		low, high := b.bounds(j)
		u.q.Low[j], u.q.High[j] = min(max(low-l, -box), 0), max(min(high-l, box), 0)
	}
}

// slow increases the step counter k. A step in the recent direction adds little to k. If an eighth
// of all steps were a drift in one direction, the multipliers are far from the optimum. slow then
// resets k, because a small gain would keep the multipliers far away.
func (u *auto) slow(b *Batch) {
	n := len(b.Mean)
	along := 0.0
	w := autoTrend / (float64(u.steps) + autoTrend)
	for j, g := range b.Mean {
		if u.d[j] == 0 { // for instance at a bound
			g = 0
		}
		if v := u.c[j*n+j] + u.q.H[j]; v > 0 {
			along += float64(g*u.trend[j]) / v
		}
		u.trend[j] += float64(w * (g - u.trend[j]))
	}
	if !(along > 0) {
		u.k++
		u.run = 0
		return
	}
	u.k += autoGo
	u.run++
	if u.run > max(autoRun, u.steps/autoPart) {
		u.k = 0
	}
}

// learn adds the covariance of the batch to C. With many multipliers this costs more than the
// rest of an update, so not every batch is used.
func (u *auto) learn(b *Batch) {
	b.Covariance(u.fresh)
	w := autoMemory / (float64(u.learnt) + autoMemory)
	for i, v := range u.fresh {
		u.c[i] = float64((1-w)*u.c[i]) + float64(w*v)
	}
	u.weight = float64((1-w)*(1-w)*u.weight) + float64(w*w)
	u.learnt++
	n := len(b.Mean)
	u.next = u.steps + min(max(1, n*n/autoCost), 1+u.steps/4)
}

// sweeps returns the number of sweeps over n multipliers in one update.
func sweeps(n int) int {
	least := 4
	if n > 256 {
		least = 2
	}
	return max(least, min(64, autoWork/(n*n)))
}

// fields reads or writes the state that is kept between updates.
func (u *auto) fields(f *wire.Fields) {
	f.Counts("a count of steps", &u.steps, &u.run, &u.learnt, &u.next)
	f.Float64(&u.k)
	f.Float64(&u.weight)
	for _, v := range [][]float64{u.c, u.variance, u.square, u.trend, u.widest} {
		f.Float64s(v)
	}
}
