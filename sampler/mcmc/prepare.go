package mcmc

import "github.com/gibbsite-go/gibbsite/energy"

// prepare asks a model for its graph, which some make when they are first asked: when a
// kernel is bound and not in a step, which could not be stopped meanwhile.
func prepare(m energy.Model) {
	if g, ok := energy.As[energy.Graphical](m); ok {
		g.Graph()
	}
}
