package spins

import (
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Joint holds the states of up to simd.JointBlocks blocks of chains of a graph side by side.
// It redraws them together; each block gets the same bits as alone.
type Joint struct {
	*Graph
	bits []uint32 // lane p of block b is at p·simd.JointBlocks + b
}

// NewJoint returns a Joint whose sites are all 0.
func (g *Graph) NewJoint() *Joint {
	j := apart.New(Joint{Graph: g})
	j.bits = apart.Make[uint32](g.lanes * simd.JointBlocks)
	return j
}

// Take sets the states of block b to those of c.
func (j *Joint) Take(b int, c *Chains) {
	for p := 0; p < j.lanes; p += 2 {
		v := c.bits[p/2]
		j.bits[p*simd.JointBlocks+b], j.bits[(p+1)*simd.JointBlocks+b] = uint32(v), uint32(v>>32)
	}
}

// Give sets the states of c to those of block b.
func (j *Joint) Give(b int, c *Chains) {
	for p := 0; p < j.lanes; p += 2 {
		c.bits[p/2] = uint64(j.bits[p*simd.JointBlocks+b]) | uint64(j.bits[(p+1)*simd.JointBlocks+b])<<32
	}
}

// Sweep redraws all sites once. Each block draws from its stream in from, starting ahead
// groups after the position there.
func (j *Joint) Sweep(from *simd.Joint, ahead uint64) {
	for at := range j.parts {
		p := &j.parts[at]
		from.Heat(j.bits, p.lane, p.sites, p.near, whole(p.sites), p.degree, j.odds[p.kind], ahead)
		ahead += j.Groups(at)
	}
}

// SweepGroups returns the number of groups of a random stream that a sweep consumes.
func (g *Graph) SweepGroups() uint64 { return uint64(g.lanes/registerLanes) * simd.BitGroups }
