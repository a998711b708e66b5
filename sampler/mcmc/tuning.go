package mcmc

import "github.com/gibbsite-go/gibbsite/sampler"

// meanAccept returns the mean acceptance probability of a block, which kernels
// adapt their step size by.
func meanAccept(info []sampler.Info) float64 {
	accept := 0.0
	for i := range info {
		accept += info[i].Accept
	}
	return accept / float64(len(info))
}
