package mcmc

import (
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Prices of what kernels do beside evaluating the model, in nanoseconds, as the test of
// prices in package auto found them on many sizes; see sampler.Transition.
const (
	wholeCost    = 300  // a step of a chain, at the least
	bandCost     = 10   // a row of a torus of bits
	bitCost      = 0.15 // and a site of it
	proposeCost  = 600  // a step of a chain of bits that is proposed
	kindCost     = 0.27 // and a site of it
	sparseCost   = 14   // a site redrawn by a table
	nearCost     = 1.5  // and a neighbour of it
	denseCost    = 10   // a site redrawn by a count
	sweepCost    = 30   // a site redrawn by its exact differences
	levelCost    = 12   // and an exponential of it
	flipCost     = 2.7  // a site proposed to flip, drawn and weighed back
	rowCost      = 130  // a site proposed another level of a row
	entryCost    = 5    // and a level of the row
	jumpCost     = 8    // a level weighed as a jump
	jumpFlipCost = 4.5  // a flip weighed so
	weightCost   = 6    // a change weighed
	pathCost     = 15   // and for a path
	stepCost     = 25   // a site that a path may go to
	trellisCost  = 12   // an edge of a trellis, forth and back
	proposalCost = 55   // a site or a pair proposed by random numbers
	laneCost     = 14   // a site of all chains of a block, redrawn as bits
	visitCost    = 15   // a site of all chains of a block, redrawn as bytes
	addCost      = 0.32 // and a neighbour of it
	drawCost     = 7    // a hidden or visible unit drawn
)

// moves returns the sites that changed in a step of a block.
func moves(info []sampler.Info) (n float64) {
	for i := range info {
		n += float64(info[i].Moved)
	}
	return n
}
