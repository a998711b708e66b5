//go:build race

package exact

// Race says whether the race detector is on: it slows everything down tenfold
// and makes sync.Pool drop what it is given.
const Race = true
