package momentum

import "github.com/gibbsite-go/gibbsite/sampler"

// pause is the position of a stopped step. It is kept in memory only: a checkpoint has the
// momentum and the streams from before the step, which then begins again.
type pause struct {
	stage, chain  int // the chains before chain have done the stage
	part          int // of a chain, the sites before it have done refreshing
	accepts       []float64
	judged        []bool
	before, after []sampler.Stream
	was           []float64 // momentum
	hadBegun      bool
}

// stopped reports whether a step is under way.
func (p *pause) stopped() bool { return p.stage > 0 || p.chain > 0 || p.part > 0 }
