package simd

import "math/bits"

// refVisit defines what every backend of visits.go gives.
func refVisit(v *Visits, look, x, sites []int32, words []uint32) (told Visited) {
	first, start, adj := v.asm.slices[0], v.asm.slices[1], v.asm.slices[2]
	for n, i := range sites {
		u := uint64(words[2*n+1])<<32 | uint64(words[2*n])
		old := x[i] & 1
		p := v.table[look[i]]
		if v.propose {
			row := v.table[4*look[i]:][:4]
			p = row[old]
			told.Accept += row[2+old]
		}
		_, below := bits.Sub64(u, p, 0)
		l := int32(below)
		if l == old {
			continue
		}
		x[i] = l
		by, near := 2*l-1, adj[start[i]:start[i+1]]
		told.Moved++
		told.Ones += int(by)
		told.Equal += int(by) * int(2*(look[i]-first[i])-int32(len(near)))
		for len(near) >= 4 {
			look[near[0]] += by
			look[near[1]] += by
			look[near[2]] += by
			look[near[3]] += by
			near = near[4:]
		}
		for _, j := range near {
			look[j] += by
		}
	}
	return told
}
