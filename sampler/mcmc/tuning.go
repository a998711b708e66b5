package mcmc

import (
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// proposals sums up what a step of a block proposed, which kernels adapt their step
// size by.
func proposals(info []sampler.Info) tune.Proposals {
	return tune.Mean(len(info), func(i int) (float64, int) { return info[i].Accept, info[i].Moved })
}
