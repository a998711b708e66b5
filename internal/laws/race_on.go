//go:build race

package laws

// Race reports whether the race detector is on. Under the detector, sync.Pool drops items.
const Race = true
