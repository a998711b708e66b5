//go:build race

package simd

// raceEnabled: pools drop items at random under the race detector.
const raceEnabled = true
