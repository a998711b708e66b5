//go:build !race

package dual_test

const raceEnabled = false
