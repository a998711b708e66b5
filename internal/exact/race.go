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
