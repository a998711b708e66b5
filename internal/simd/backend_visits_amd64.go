//go:build amd64 && !purego

package simd

// visitTerms bounds the neighbours that a call of visit may change, at up to 1 ns each.
const visitTerms = 1 << 15

func visit(v *Visits, look, x, sites []int32, words []uint32) (told Visited) {
	if best == purego || v.largest > visitTerms {
		return refVisit(v, look, x, sites, words)
	}
	for most := max(1, visitTerms/(v.largest+8)); len(sites) > 0; {
		n := min(len(sites), most)
		v.asm.moved, v.asm.ones, v.asm.equal = 0, 0, 0
		told.Accept += visitRun(v, look, x, sites[:n], words)
		told.Moved += int(v.asm.moved)
		told.Ones += int(v.asm.ones)
		told.Equal += int(v.asm.equal)
		sites, words = sites[n:], words[2*n:]
	}
	return told
}

//go:noinline
func visitRun(v *Visits, look, x, sites []int32, words []uint32) uint64 {
	if v.propose {
		return visitProposeAVX2(&v.asm.moved, &look[0], &x[0], &sites[0], &words[0], &v.table[0], len(sites))
	}
	return visitHeatAVX2(&v.asm.moved, &look[0], &x[0], &sites[0], &words[0], &v.table[0], len(sites))
}
