package sampler

import "github.com/gibbsite-go/gibbsite/internal/probe"

// Named recipes say what checkpoints and messages call them, whatever becomes
// of their Go names: "dmala". A recipe of one's own that has no name goes by its
// Go type. Models, and functions that are a field of a recipe, may be Named too:
// checkpoints then tell them apart by their names.
type Named interface{ Name() string }

var _ probe.Named = Named(nil)

// Settings adds the shape, the method with all its fields, and what the energies
// of some fixed states say of the model.
func (t *tokens) Settings(add func(name string, value any)) {
	probe.Target(add, t.model, t.method, NewStream(probe.States, 0).IntN)
}
