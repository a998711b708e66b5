//go:build race

package exact

// Race reports whether the race detector is on. The detector slows everything down tenfold and
// makes sync.Pool drop items.
const Race = true
