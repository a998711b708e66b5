//go:build race

package projection

// raceEnabled tells tests that count allocations to step aside: under the
// detector pools forget on purpose.
const raceEnabled = true
