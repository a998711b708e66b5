package simd

import "math/bits"

// refTallyTorus is the definition of TallyTorus.
func refTallyTorus(now, old []uint64, count *Counts) (up, moved, bonds int) {
	c0, c1, c2 := count[0][:len(now)], count[1][:len(now)], count[2][:len(now)]
	old = old[:len(now)]
	for i, v := range now {
		up += bits.OnesCount64(v)
		moved += bits.OnesCount64(v ^ old[i])
		bonds += bits.OnesCount64(v&c0[i]) + 2*bits.OnesCount64(v&c1[i]) + 4*bits.OnesCount64(v&c2[i])
	}
	return up, moved, bonds
}
