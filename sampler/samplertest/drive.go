package samplertest

import "github.com/gibbsite-go/gibbsite/sampler"

// These are the only calls of a kernel's own methods; everything else goes by way
// of a runner.

// reset tells a kernel that the states are x.
func reset(k sampler.Kernel, x []int32) error { return k.Reset(sampler.Control{}, x) }

// step makes one whole step whose states and reports can be read.
func step(k sampler.Kernel, info []sampler.Info, x []int32, r []sampler.Stream) {
	k.Step(sampler.Control{}, info, x, r)
}
