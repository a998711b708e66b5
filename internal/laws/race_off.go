//go:build !race

package laws

// Race says whether the race detector is on, which makes sync.Pool drop what it
// is given.
const Race = false
