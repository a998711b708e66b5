package simd

import (
	"fmt"
	"math/bits"
)

// JointBlocks is the largest number of blocks that a [Joint] redraws at once. A block is a set of
// up to ChainBits chains.
const JointBlocks = 16

// Joint redraws several blocks at once. A block has up to ChainBits chains. The Joint holds the
// random stream of each block and counts the sites changed in each block. A lane holds the state of
// one site in all chains of a block (see [ChainBits]). A slice of lanes holds lane p of block b at
// index p·JointBlocks + b.
type Joint struct {
	ars     bool
	key     uint64
	blocks  int
	streams [JointBlocks]uint64
	groups  [JointBlocks]uint64
	asm     jointASM
}

// jointASM holds the data that the assembly kernels read and write, in rows of 64 bytes. The first
// half of a row belongs to the blocks below 8. A row of 64-bit numbers holds those of the even or
// of the odd blocks.
type jointASM struct {
	philox [8][8]uint64 // counters, then the terms of the first two rounds; see _gen/joint.go
	aes    [4][8]uint64 // counter and stream of blocks j, 4 + j, 8 + j and 12 + j
	mask   [JointBlocks]uint32
	moved  [JointBlocks]uint32
	_      [4][JointBlocks]uint32 // scratch memory of the kernels
}

// Begin sets the blocks of j. Block b draws from the stream streams[b], beginning with group
// groups[b]. [ARS] generates the streams if ars is true, and otherwise [Philox]. Changes are
// counted only in the first chains[b] chains of block b. Begin panics unless there are 1 to
// JointBlocks blocks, with 0 to ChainBits chains in each.
func (j *Joint) Begin(ars bool, key uint64, streams, groups []uint64, chains []int) {
	if len(chains) < 1 || len(chains) > JointBlocks {
		panic(fmt.Sprintf("simd: Joint.Begin: len(chains) = %d, want 1 … %d", len(chains), JointBlocks))
	}
	checkLen("streams", len(streams), len(chains))
	checkLen("groups", len(groups), len(chains))
	j.ars, j.key, j.blocks = ars, key, len(chains)
	keys := philoxKeys(key)
	for b := range JointBlocks {
		n := 0
		j.streams[b], j.groups[b] = 0, 0
		if b < len(chains) {
			if n = chains[b]; n < 0 || n > ChainBits {
				panic(fmt.Sprintf("simd: Joint.Begin: chains[%d] = %d, want 0 … %d", b, n, ChainBits))
			}
			j.streams[b], j.groups[b] = streams[b], groups[b]
		}
		j.asm.mask[b] = uint32(uint64(1)<<n - 1)
		counter, stream := 16*j.groups[b], j.streams[b]
		p := uint64(philoxMul1) * (stream & (1<<32 - 1))
		for row, v := range []uint64{counter, p>>32 ^ uint64(keys[0]), stream>>32 ^ uint64(keys[1]), p&(1<<32-1) ^ uint64(keys[2])} {
			j.asm.philox[2*row+b%2][b/2] = v
		}
		j.asm.aes[b%4][b/4*2], j.asm.aes[b%4][b/4*2+1] = counter, stream
	}
}

// Moved adds to sum[b] the number of sites of block b that have changed since the last call of
// Moved, summed over the chains.
func (j *Joint) Moved(sum []int) {
	for b := range sum {
		sum[b] += int(j.asm.moved[b])
	}
	j.asm.moved = [JointBlocks]uint32{}
}

// Heat redraws n adjacent lanes in every block by heat bath. These are the lanes firstLane + p, for
// p = 0, …, n−1. Chain c of lane firstLane + p takes the random integer u_i that [HeatBits] defines
// for i = 32p + c. The integers come from the block's stream, beginning ahead groups after the
// group set by Begin. The number of neighbours in state 1 is the sum over k = 0, …, degree−1 of the
// chain's bits in the lanes
//
//	neighbours[k·stride + p] & (2³¹−1).
//
// If neighbours[k·stride + p] is negative, all bits of this lane are flipped first. No lane of a
// neighbour may be redrawn in the same call. Lanes of blocks that do not exist may change.
//
// Heat panics unless 0 ≤ degree ≤ 7, 0 ≤ n ≤ stride, and the entries and lanes named above exist.
// Call [Joint.Moved] before more than 2³¹ changes accumulate in a block.
func (j *Joint) Heat(lanes []uint32, firstLane, n int, neighbours []int32, stride, degree int, o *Odds, ahead uint64) {
	if degree < 0 || degree > 7 || n < 0 || n > stride || len(neighbours) < (degree-1)*stride+n && degree > 0 {
		panic(fmt.Sprintf("simd: Joint.Heat: n = %d, stride = %d, degree = %d and len(neighbours) = %d, want n ≤ stride, degree ≤ 7 and their product", n, stride, degree, len(neighbours)))
	}
	if firstLane < 0 || (firstLane+n)*JointBlocks > len(lanes) {
		panic(fmt.Sprintf("simd: Joint.Heat: lanes %d … %d of %d", firstLane, firstLane+n-1, len(lanes)/JointBlocks))
	}
	ahead *= 16 // from groups to counters
	width := jointWidth()
	if j.ars {
		width = jointWidthARS()
	}
	if best < jointHeatLevel || j.ars && !hasArs() {
		refJointHeat(j, lanes, firstLane, n, neighbours, stride, degree, o, ahead)
		return
	}
	philox, aes := philoxKeys(j.key), arsKeys(j.key)
	for at := 0; at < n; at += jointTerms {
		var from *int32
		if degree > 0 {
			from = &neighbours[at]
		}
		for first := 0; first < j.blocks; first += width {
			jointHeatRun(j, lanes, lanes[(firstLane+at)*JointBlocks:], from, min(jointTerms, n-at), stride, degree, o, &philox, &aes, ahead+uint64(16*at*BitGroups/16), first, width)
		}
	}
}

// refJointHeat is the reference of Heat; ahead is a number of counters of the random stream.
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

// jointTerms is the largest number of lanes in a call of jointHeat, at up to 200 ns each with AVX2.
// It is a multiple of 16.
const jointTerms = 256

// JointWidth returns the number of blocks of a [Joint] that fit in a vector register, or 0 without
// assembly. That many blocks take little more time than one.
func JointWidth() int { return jointWidth() }
