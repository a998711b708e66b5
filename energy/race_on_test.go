//go:build race

package energy_test

// raceEnabled says that the race detector slows everything down tenfold and
// makes sync.Pool drop what it is given.
const raceEnabled = true
