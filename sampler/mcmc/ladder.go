package mcmc

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Ladder holds the inverse temperatures and swap statistics of [Tempering], for the chains of one
// block (see [sampler.Config.Block]). A rung is one of the inverse temperatures.
type Ladder struct {
	Betas []float64 // inverse temperatures of the rungs, descending from 1

	// Swap[j] is the mean acceptance probability of swaps between rungs j and j+1, or 0 if no swap
	// was proposed.
	Swap []float64

	// Barrier is Σ_j (1 − Swap[j]), an estimate of the communication barrier. It measures how hard
	// it is for a state to travel between the ends of the ladder. If all entries of Swap are equal
	// and the n = len(Betas) replicas mix well, the replicas of a chain together complete a round
	// trip every
	//
	//	2 + 2·Barrier/(1 − Barrier/(n−1))
	//
	// rounds of swaps (Syed et al. 2022). A step makes one round. A step of cluster.Houdayer over
	// Tempering makes as many rounds as exchanges.
	Barrier float64

	// RoundTrips is the number of times that a replica moved from the coldest rung (β = 1) to the
	// hottest and back. It counts all chains of the block.
	RoundTrips int

	Steps int // number of steps after warm-up to which Swap, Barrier and RoundTrips refer
}

// The phases of a replica's round trip.
const (
	undirected int32 = iota // has not been at the cold end
	towardHot               // has been at the cold end, and since then not at the hot end
	towardCold              // has been at the cold end and then at the hot end
)

const (
	minRungs = 2
	maxRungs = 1 << 20
)

// checkLadder returns an error unless betas has at least two entries and descends strictly from
// 1, all ≥ 0.
func checkLadder(betas []float64) error {
	if len(betas) < minRungs {
		return fmt.Errorf("mcmc: Tempering: len(Betas) = %d, want ≥ %d", len(betas), minRungs)
	}
	if betas[0] != 1 {
		return fmt.Errorf("mcmc: Tempering: Betas[0] = %v, want 1", betas[0])
	}
	for j := 1; j < len(betas); j++ {
		if !(betas[j] >= 0 && betas[j] < betas[j-1]) {
			return fmt.Errorf("mcmc: Tempering: Betas[%d] = %v, want within [0, %v)", j, betas[j], betas[j-1])
		}
	}
	return nil
}

// swaps accumulates the swap statistics of a ladder.
type swaps struct {
	rungs, chains int
	// per pair of adjacent rungs: sum of acceptance probabilities, number of proposed swaps
	sum, offers  []float64
	steps, trips float64
	replica      []int32 // rungs × chains: number of the replica at each rung
	heading      []int32 // replicas × chains: phase of each replica's round trip
}

func newSwaps(rungs, chains int) *swaps {
	w := &swaps{
		rungs: rungs, chains: chains,
		sum: make([]float64, rungs-1), offers: make([]float64, rungs-1),
		replica: make([]int32, rungs*chains), heading: make([]int32, rungs*chains),
	}
	w.clear()
	return w
}

// clear resets the statistics and numbers the replicas by their rungs.
func (w *swaps) clear() {
	clear(w.sum)
	clear(w.offers)
	clear(w.heading)
	w.steps, w.trips = 0, 0
	for i := range w.replica {
		w.replica[i] = int32(i / w.chains)
	}
}

func (w *swaps) offer(j int, a float64) {
	w.sum[j] += a
	w.offers[j]++
}

func (w *swaps) exchange(j, s int) {
	a, b := j*w.chains+s, (j+1)*w.chains+s
	w.replica[a], w.replica[b] = w.replica[b], w.replica[a]
}

// travel updates the round trips of the replicas at the ends of the ladder.
func (w *swaps) travel() {
	for s := range w.chains {
		cold := &w.heading[int(w.replica[s])*w.chains+s]
		if *cold == towardCold {
			w.trips++
		}
		*cold = towardHot
		hot := &w.heading[int(w.replica[(w.rungs-1)*w.chains+s])*w.chains+s]
		if *hot == towardHot {
			*hot = towardCold
		}
	}
}

// rate returns the mean acceptance probability of swaps between rungs j and j+1, or 0 if there
// were none.
func (w *swaps) rate(j int) float64 {
	if w.offers[j] == 0 {
		return 0
	}
	return w.sum[j] / w.offers[j]
}

// respace returns a ladder with the same ends and equal rejection rates for all pairs of adjacent
// rungs. It assumes that the rejections of a pair are spread uniformly over its interval of β
// (Syed et al. 2022, with linear interpolation). It returns betas itself if nothing was rejected
// or if no swap was proposed for some pair.
func (w *swaps) respace(betas []float64) []float64 {
	n := len(betas)
	barrier := make([]float64, n) // cumulative barrier from rung 0 up to each rung
	for j := range n - 1 {
		if w.offers[j] == 0 {
			return betas
		}
		barrier[j+1] = barrier[j] + (1 - w.rate(j))
	}
	if !(barrier[n-1] > 0) {
		return betas
	}
	next := append([]float64(nil), betas...)
	j := 0
	for i := 1; i < n-1; i++ {
		t := barrier[n-1] * float64(i) / float64(n-1)
		for barrier[j+1] < t {
			j++
		}
		part := (t - barrier[j]) / (barrier[j+1] - barrier[j])
		next[i] = betas[j] + float64(part*(betas[j+1]-betas[j]))
	}
	if checkLadder(next) != nil {
		return betas // rungs are so close that rounding merged them
	}
	return next
}

func (w *swaps) report(betas []float64) Ladder {
	l := Ladder{
		Betas: append([]float64(nil), betas...), Swap: make([]float64, w.rungs-1),
		RoundTrips: int(w.trips), Steps: int(w.steps),
	}
	for j := range l.Swap {
		l.Swap[j] = w.rate(j)
		if w.offers[j] > 0 {
			l.Barrier += 1 - l.Swap[j]
		}
	}
	return l
}

func (w *swaps) fields(f *wire.Fields) {
	f.Float64s(w.sum)
	f.Float64s(w.offers)
	f.Float64(&w.steps)
	f.Float64(&w.trips)
	f.Tokens(w.replica, w.rungs)
	f.Int32s(w.heading)
}
