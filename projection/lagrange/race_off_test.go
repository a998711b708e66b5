//go:build !race

package lagrange

const raceEnabled = false
