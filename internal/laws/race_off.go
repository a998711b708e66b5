//go:build !race

package laws

// Race reports whether the race detector is on, which makes sync.Pool drop items.
const Race = false
