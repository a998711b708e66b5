package auto

import "github.com/gibbsite-go/gibbsite/sampler"

// candidate is one of the methods to choose from, with its results so far.
type candidate struct {
	method sampler.Method
	name   string
	reason string         // why it was left out; empty if it was not
	kernel sampler.Kernel // nil if it was left out or another was chosen
	trial
}

// price returns what a step of the kernel cost.
func (c *candidate) price(info []sampler.Info) float64 {
	costed, _ := sampler.As[sampler.Costed](c.kernel) // checked when it was made
	return costed.Cost(info)
}
