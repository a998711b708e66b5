package sampler

import "github.com/gibbsite-go/gibbsite/internal/probe"

// Named recipes have a name for checkpoints and messages, such as "dmala", that does not
// depend on their Go names. A recipe without one goes by its Go type. Models, and
// functions in a field of a recipe, may be Named too: checkpoints then distinguish them
// by name.
type Named interface{ Name() string }

var _ probe.Named = Named(nil)

// Settings adds the shape, the method with all its fields, and the energies of some fixed
// states, which identify the model.
func (t *tokens) Settings(add func(name string, value any)) {
	probe.Target(add, t.model, t.method, NewStream(probe.States, 0).IntN)
}
