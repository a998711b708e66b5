package exact

import "testing"

// SkipUnderRace skips a test if the race detector is on. Use it for long tests of arithmetic in a
// single goroutine. The race detector cannot find anything there, and makes such a test take ten
// times as long.
func SkipUnderRace(t *testing.T) {
	t.Helper()
	if Race {
		t.Skip("arithmetic of one goroutine: nothing for the race detector")
	}
}

// SkipRepeated skips a long test of a distribution if tests run in their short form or under the
// race detector. One run in the long form is enough, because draws have the same bits with and
// without assembly and on every architecture. Golden files check this.
func SkipRepeated(t *testing.T) {
	t.Helper()
	if Race || testing.Short() {
		t.Skip("judged once, in the long form")
	}
}
