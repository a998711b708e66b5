package simd

// TallyTorus counts the sites of a string that are in state 1, those that differ from
// the string old, and the neighbours in state 1 of those in state 1. It panics unless
// len(now) is a multiple of 8, at most that of counts, and old is as long.
func TallyTorus(now, old []uint64, count *Counts) (up, moved, bonds int) {
	checkBits("now", len(now), len(count[0]))
	checkLen("old", len(old), len(now))
	return tallyTorus(now, old, count)
}
