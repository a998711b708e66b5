package mcmc

import (
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
)

// beside are blocks of chains side by side.
type beside struct {
	states          *spins.Joint
	from            simd.Joint
	streams, groups [simd.JointBlocks]uint64
	chains, moved   [simd.JointBlocks]int
}
