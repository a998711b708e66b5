package mcmc

// Prices of what kernels do beside evaluating the model, in nanoseconds, as the test of
// prices in package auto found them on many sizes; see sampler.Transition.
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
