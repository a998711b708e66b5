package energy

import (
	"fmt"
	"reflect"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Shaped is what has a number of sites and of levels per site: a [Model], a [Denoiser].
// Whoever is given anything, such as a name of a run, asks for it to tell languages
// apart by their content.
type Shaped interface{ Shape() (sites, levels int) }

var _ Shaped = Model(nil)

// Model is an unnormalised log-density over {0,…,levels−1}^sites,
// p(x) ∝ exp(−E(x)).
//
// A model of your own needs these two methods and nothing else; see [Func] for
// the version in one line. Implementations must be safe for concurrent use.
type Model interface {
	// Shape returns the number of sites and of levels per site, both ≥ 1.
	Shape() (sites, levels int)

	// Energy stores in e[s] the energy in nats of the state
	// x[s·sites : (s+1)·sites], for every s. It reads x and keeps neither
	// slice. It panics unless len(x) = len(e)·sites.
	Energy(e []float64, x []int32)
}

// Capable models and denoisers answer [As] themselves: wrappers, whose parts
// decide what can be done, and models whose parameters decide it. Others support
// exactly the interfaces that their type satisfies.
//
// A wrapper of your own, here one that counts evaluations, passes the question
// on where it changes nothing and answers for what it changes:
//
//	func (c counted) As(target any) bool {
//		if d, ok := energy.As[energy.Differentiable](c.Model); ok {
//			if energy.Give[energy.Differentiable](target, countedTable{c, d}) {
//				return true
//			}
//		}
//		return false // or energy.AsInto(c.Model, target) for the rest
//	}
type Capable interface {
	// As stores in target, a non-nil pointer to an interface such as a
	// *Differentiable, a value that does what the interface asks for, and
	// returns true; or it returns false and leaves target as it is. [Give] is
	// the usual way to do so. What is not given is looked for in the type of
	// the model itself.
	As(target any) bool
}

// As returns m, a model or a denoiser, as a T if m supports what T asks for: it
// asks the method As of a [Capable] m first, and then m's type. Nil, also in an
// interface, supports nothing.
func As[T any](m any) (t T, ok bool) {
	if check.Nil(m) {
		return t, false
	}
	if w, is := m.(Capable); is {
		if w.As(&t) {
			return t, true
		}
	}
	t, ok = m.(T)
	return t, ok
}

// AsInto is [As] for a target whose type is not known at compile time: target
// points to a variable of the type that is asked for, or AsInto panics. It is the
// method As of a wrapper that changes nothing about m.
func AsInto(m, target any) bool {
	if p := reflect.ValueOf(target); p.Kind() != reflect.Pointer || p.IsNil() {
		panic(fmt.Sprintf("energy: AsInto: target = %T, want a pointer to a variable", target))
	}
	if check.Nil(m) {
		return false
	}
	if w, is := m.(Capable); is && w.As(target) {
		return true
	}
	into := reflect.ValueOf(target).Elem()
	own := reflect.ValueOf(m)
	if !own.Type().AssignableTo(into.Type()) {
		return false
	}
	into.Set(own)
	return true
}

// Give stores v in target if target is a *T, and reports whether it is: one
// answer of the method As of a [Capable] model.
func Give[T any](target any, v T) bool {
	p, ok := target.(*T)
	if ok {
		*p = v
	}
	return ok
}
