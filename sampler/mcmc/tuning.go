package mcmc

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// proposals sums up what a step of a block proposed, which kernels adapt their step
// size by. A proposal that changes something and is certain to be accepted moves
// sites; one that changes nothing is certain to be accepted and moves none.
func proposals(info []sampler.Info) tune.Proposals {
	p, n := tune.Proposals{}, 0
	for i := range info {
		p.Accept += info[i].Accept
		if info[i].Accept < 1 || info[i].Moved > 0 {
			p.Among += info[i].Accept
			n++
		}
	}
	p.Accept /= float64(len(info))
	p.Changing = float64(n) / float64(len(info))
	p.Among /= float64(max(n, 1))
	return p
}

// boundWarning says what a step size at its bound means; empty if it is not.
func boundWarning(t *tune.Tuner, alpha float64) string {
	if t == nil {
		return ""
	}
	switch t.Bound() {
	case -1:
		return fmt.Sprintf("warm-up took the step size down to its bound, %.2g: proposals are rejected however short they are; try Gibbs, or a method that changes one site", alpha)
	case 1:
		return fmt.Sprintf("warm-up took the step size up to its bound, %.2g: most proposals change nothing, and no shorter step would help; try Gibbs or Tempering", alpha)
	}
	return ""
}
