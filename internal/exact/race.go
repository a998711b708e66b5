package exact

import "testing"

// SkipUnderRace skips a test if the race detector is on. Use it for long tests of arithmetic in a
// single goroutine, where the race detector cannot find anything and takes ten times as long.
func SkipUnderRace(t *testing.T) {
	t.Helper()
	if Race {
		t.Skip("arithmetic of one goroutine: nothing for the race detector")
	}
}

// SkipRepeated skips a long test of a distribution if tests run in their short form or under the
// race detector. Draws have the same bits with and without assembly and on every architecture,
// which golden files check. One run of the test in its long form is therefore enough.
func SkipRepeated(t *testing.T) {
	t.Helper()
	if Race || testing.Short() {
		t.Skip("judged once, in the long form")
	}
}
