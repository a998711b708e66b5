package dual_test

import "testing"

// skipUnderRace skips a long test of one goroutine's arithmetic, in which the
// race detector can find nothing and takes ten times as long.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("arithmetic of one goroutine: nothing for the race detector")
	}
}
