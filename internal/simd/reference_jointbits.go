package simd

import "math/bits"

// refJointHeat defines the bits and counts that every backend of jointbits.go gives; ahead
// counts counters.
func refJointHeat(j *Joint, own []uint32, lane, n int, near []int32, stride, degree int, o *Odds, ahead uint64) {
	keys := arsKeys(j.key)
	for p := range n {
		counter := ahead + uint64(p/16*16*BitGroups+p%16)
		at := own[(lane+p)*JointBlocks:][:j.blocks]
		for b, old := range at {
			var c [3]uint64
			for k := range degree {
				e := near[k*stride+p]
				v := uint64(own[int(e&(1<<31-1))*JointBlocks+b] ^ uint32(e>>31))
				for d := range c {
					c[d], v = c[d]^v, c[d]&v
				}
			}
			less, equal := uint32(0), ^uint32(0)
			for d := 0; d < 64 && equal != 0; d += 4 {
				at := 16*j.groups[b] + counter + uint64(4*d)
				var words [4]uint32
				if j.ars {
					words = arsBlock(at, j.streams[b], &keys)
				} else {
					words = philoxBlock(at, j.streams[b], j.key)
				}
				for w, r := range words {
					t := uint32(o.digit(d+w, c[0], c[1], c[2]))
					less |= equal & t &^ r
					equal &^= t ^ r
				}
			}
			at[b] = less
			j.asm.moved[b] += uint32(bits.OnesCount32((less ^ old) & j.asm.mask[b]))
		}
	}
}
