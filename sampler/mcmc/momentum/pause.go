package momentum

import "github.com/gibbsite-go/gibbsite/sampler"

// pause is where a step that was stopped stands, in memory only: after a checkpoint,
// which has the momentum and the streams from before the step, it begins again.
type pause struct {
	stage, chain  int // the chains before chain have done the stage
	part          int // of a chain, the sites before it have done refreshing
	accepts       []float64
	judged        []bool
	before, after []sampler.Stream
	was           []float64 // momentum
	hadBegun      bool
}

// stopped reports whether a step is on its way.
func (p *pause) stopped() bool { return p.stage > 0 || p.chain > 0 || p.part > 0 }
