package mcmc

// Prices of the work of kernels without evaluations of the model, in nanoseconds, fitted over
// many sizes by the test of prices in package auto; see sampler.Costed.
const (
	flipCost     = 2.7 // a site proposed to flip, drawn and weighed back
	rowCost      = 130 // a site proposed another level of a row
	entryCost    = 5   // and a level of the row
	jumpCost     = 8   // a level weighed as a jump
	jumpFlipCost = 4.5 // a flip weighed so
	weightCost   = 6   // a change weighed
	pathCost     = 15  // and for a path
	stepCost     = 25  // a site that a path may go to
	trellisCost  = 12  // an edge of a trellis, forth and back
	drawCost     = 7   // a hidden or visible unit drawn
)
