package exact

import "testing"

// SkipUnderRace skips a long test of one goroutine's arithmetic, in which the
// race detector can find nothing and takes ten times as long.
func SkipUnderRace(t *testing.T) {
	t.Helper()
	if Race {
		t.Skip("arithmetic of one goroutine: nothing for the race detector")
	}
}

// SkipRepeated skips, in short form and under the race detector, a long test of a
// distribution. Draws have the same bits with and without assembly and on every architecture,
// which golden files check, so one run of the test in its long form is enough.
func SkipRepeated(t *testing.T) {
	t.Helper()
	if Race || testing.Short() {
		t.Skip("judged once, in the long form")
	}
}
