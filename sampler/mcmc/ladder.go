package mcmc

import (
	"fmt"
)

// Ladder is what [Tempering] reports of the chains of one block.
type Ladder struct {
	Betas []float64 // inverse temperatures, descending from 1

	// Swap[j] is the mean acceptance probability of swaps between rungs j and
	// j+1; 0 if none was offered.
	Swap []float64

	// Barrier is Σ_j (1 − Swap[j]), an estimate of the communication barrier
	// between the ladder's ends, which hardly depends on the rungs between. With n
	// rungs of equal Swap and replicas that mix well, a chain completes a round
	// trip every 2 + 2·Barrier/(1 − Barrier/(n−1)) steps (Syed et al. 2022).
	Barrier float64

	// RoundTrips counts, over the chains of the block, how often a state went
	// from the coldest rung to the hottest and back.
	RoundTrips int

	Steps int // steps that these figures are of: those after warm-up
}

// The ways of a round trip.
const (
	undirected int32 = iota // never was at the cold end
	towardHot               // from the cold end
	towardCold              // from the hot end, after the cold one
)

const (
	minRungs = 2
	maxRungs = 1 << 20
)

// checkLadder returns an error unless betas descend from 1 and stay ≥ 0.
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
