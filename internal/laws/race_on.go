//go:build race

package laws

// Race is whether the race detector is on, which makes sync.Pool drop values.
const Race = true
