//go:build race

package sampler

// raceEnabled tells tests that enumerate millions of states to step aside: the
// detector makes them an order of magnitude slower and sees nothing in them.
const raceEnabled = true
