package samplertest

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
)

// hooked is a model that calls hook on every evaluation. It supports the same optional interfaces
// as the wrapped model, except those that As does not list.
type hooked struct {
	energy.Model
	hook func()
}

// Energy calls the hook and then the Energy method of the wrapped model.
func (h *hooked) Energy(e []float64, x []int32) {
	h.hook()
	h.Model.Energy(e, x)
}

// As offers the optional interfaces of the wrapped model. Methods that evaluate the model call the
// hook first. As implements [energy.Capable].
func (h *hooked) As(target any) bool {
	switch p := target.(type) {
	case *energy.Differentiable:
		return hook(h, p, func(m energy.Differentiable) energy.Differentiable { return hookedTable{h, m} })
	case *energy.Binary:
		return hook(h, p, func(m energy.Binary) energy.Binary { return hookedField{h, m} })
	case *energy.Conditional:
		return hook(h, p, func(m energy.Conditional) energy.Conditional { return hookedConditional{h, m} })
	case *energy.Local:
		return hook(h, p, func(m energy.Local) energy.Local { return hookedLocal{hookedConditional{h, m}, m} })
	case *energy.Stochastic:
		return hook(h, p, func(m energy.Stochastic) energy.Stochastic { return hookedEstimate{h, m} })
	case *energy.Windowed:
		return hook(h, p, func(m energy.Windowed) energy.Windowed { return hookedWindow{m, h} })
	case *energy.Bipartite:
		return hook(h, p, func(m energy.Bipartite) energy.Bipartite { return hookedLayers{m, h} })
	case *energy.Graphical, *energy.Ordinal, *energy.Supported, *energy.Matching, *energy.Toroidal:
		return energy.AsInto(h.Model, target) // these interfaces evaluate nothing
	}
	return false
}

func hook[T any](h *hooked, p *T, wrap func(T) T) bool {
	t, ok := energy.As[T](h.Model)
	if ok {
		*p = wrap(t)
	}
	return ok
}

type hookedTable struct {
	*hooked
	m energy.Differentiable
}

// Gradient calls the hook and then the Gradient method of the wrapped model.
func (h hookedTable) Gradient(e []float64, g []float32, x []int32) {
	h.hook()
	h.m.Gradient(e, g, x)
}

type hookedField struct {
	*hooked
	m energy.Binary
}

// Field calls the hook and then the Field method of the wrapped model.
func (h hookedField) Field(e []float64, f []float32, x []int32) {
	h.hook()
	h.m.Field(e, f, x)
}

type hookedConditional struct {
	*hooked
	m energy.Conditional
}

// Conditional calls the hook and then the Conditional method of the wrapped model.
func (h hookedConditional) Conditional(d []float64, site int, x []int32) {
	h.hook()
	h.m.Conditional(d, site, x)
}

type hookedLocal struct {
	hookedConditional
	m energy.Local
}

// Locals calls the hook and then the Locals method of the wrapped model.
func (h hookedLocal) Locals(d []float64, x []int32) {
	h.hook()
	h.m.Locals(d, x)
}

// Move calls the hook and then the Move method of the wrapped model.
func (h hookedLocal) Move(d []float64, site int, level int32, x []int32) {
	h.hook()
	h.m.Move(d, site, level, x)
}

type hookedEstimate struct {
	*hooked
	m energy.Stochastic
}

// Estimate calls the hook and then the Estimate method of the wrapped model.
func (h hookedEstimate) Estimate(g []float32, x []int32, src []rand.Source) {
	h.hook()
	h.m.Estimate(g, x, src)
}

type hookedWindow struct {
	energy.Windowed
	h *hooked
}

// Energy calls the hook and then the Energy method of the wrapped model.
func (h hookedWindow) Energy(e []float64, x []int32) { h.h.Energy(e, x) }

// Window calls the hook and then the Window method of the wrapped model.
func (h hookedWindow) Window(e []float64, g []float32, x []int32, w int) {
	h.h.hook()
	h.Windowed.Window(e, g, x, w)
}

type hookedLayers struct {
	energy.Bipartite
	h *hooked
}

// Energy calls the hook and then the Energy method of the wrapped model.
func (h hookedLayers) Energy(e []float64, x []int32) { h.h.Energy(e, x) }

// HiddenField calls the hook and then the HiddenField method of the wrapped model.
func (h hookedLayers) HiddenField(f []float32, x []int32) {
	h.h.hook()
	h.Bipartite.HiddenField(f, x)
}

// VisibleField calls the hook and then the VisibleField method of the wrapped model.
func (h hookedLayers) VisibleField(f []float32, v []int32) {
	h.h.hook()
	h.Bipartite.VisibleField(f, v)
}

// forwarded is a wrapper that forwards all methods and optional interfaces to a model.
type forwarded struct{ energy.Model }

// As offers every optional interface of the wrapped model; it implements [energy.Capable].
func (f forwarded) As(target any) bool { return energy.AsInto(f.Model, target) }
