package simd

import "fmt"

// JointBlocks is the number of blocks of chains that a [Joint] redraws side by side.
const JointBlocks = 16

// Joint says where blocks of up to ChainBits chains each, whose states lie side by side,
// have their random bits from, and counts for each block how many sites have changed. Lane
// p of block b is word p·JointBlocks + b of a string.
type Joint struct {
	ars     bool
	key     uint64
	blocks  int
	streams [JointBlocks]uint64
	groups  [JointBlocks]uint64
	asm     jointASM
}

// jointASM is what kernels read and write, in rows of 64 bytes of which the first half is of
// the blocks below 8. Of numbers of 64 bits a row has those of even or of odd blocks.
type jointASM struct {
	philox [8][8]uint64 // counters, then what the first two rounds add: see _gen/joint.go
	aes    [4][8]uint64 // counter and stream of blocks j, 4 + j, 8 + j, 12 + j
	mask   [JointBlocks]uint32
	moved  [JointBlocks]uint32
	_      [4][JointBlocks]uint32 // scratch
}

// Begin makes j the source of some blocks, which draw from their streams from the given
// groups on, by ARS if ars says so and else by Philox; chains[b] is the number of chains of
// block b that count. It panics unless there are 1 … JointBlocks blocks of 0 … ChainBits
// chains.
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

// Moved adds to sum[b] the sites of block b that have changed since the last call, all its
// chains together.
func (j *Joint) Moved(sum []int) {
	for b := range sum {
		sum[b] += int(j.asm.moved[b])
	}
	j.asm.moved = [JointBlocks]uint32{}
}
