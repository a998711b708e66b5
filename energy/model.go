package energy

import (
	"fmt"
	"reflect"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Shaped is anything with a number of sites and a number of levels per site, such as a [Model] or a
// [Denoiser].
type Shaped interface{ Shape() (sites, levels int) }

var _ Shaped = Model(nil)

// Model is an unnormalised distribution on {0,…,levels−1}^sites, p(x) ∝ exp(−E(x)).
//
// A model of your own needs only these two methods; [Func] makes a model of a function.
// Implementations must be safe for concurrent use.
type Model interface {
	// Shape returns the number of sites and of levels per site, both ≥ 1.
	Shape() (sites, levels int)

	// Energy stores in e[s] the energy in nats of the state x[s·sites : (s+1)·sites], for every s.
	// It does not modify x and keeps neither slice. It panics unless len(x) = len(e)·sites.
	Energy(e []float64, x []int32)
}

// Capable is implemented by models and denoisers that decide at run time which interfaces they
// support. For wrappers this depends on the wrapped parts, and for some models on their parameters.
// All other types support exactly the interfaces that they satisfy.
//
// A wrapper of your own, here one that counts evaluations, passes the request on where it changes
// nothing and answers for what it changes:
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
	// If the model supports the requested interface, As stores a value that implements it in target
	// and returns true. target is a non-nil pointer to an interface, such as a *Differentiable. If the interface is not
	// supported, As returns false and leaves target unchanged; the type of the model itself then
	// decides. [Give] is the usual way to store the value.
	As(target any) bool
}

// As returns m, a model or a denoiser, as a T if m supports T. If m is [Capable], its method As is
// asked first. If it returns false or there is none, the type of m decides. Nil, also in an
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

// AsInto does the same as [As] for a target whose type is not known at compile time. target points
// to a variable of the requested interface type; otherwise AsInto panics. A wrapper that changes
// nothing about m can use it as its method As.
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

// Give stores v in target and returns true if target is a *T. Otherwise it returns false. The
// method As of a [Capable] model calls it for each interface it offers.
func Give[T any](target any, v T) bool {
	p, ok := target.(*T)
	if ok {
		*p = v
	}
	return ok
}

// Magnetization returns the mean spin (1/n) Σ (2x_i − 1) of one two-level
// state, in [−1, 1]. It panics if the state is empty or has a level other than 0
// and 1; for more levels see model.OrderParameter.
func Magnetization(x []int32) float64 {
	if len(x) == 0 {
		panic("energy: Magnetization: len(x) = 0, want ≥ 1")
	}
	up, all := 0, int32(0)
	for _, v := range x {
		up += int(v)
		all |= v
	}
	if all&^1 != 0 {
		for i, v := range x {
			if v&^1 != 0 {
				panic(fmt.Sprintf("energy: Magnetization: x[%d] = %d, want 0 or 1: it is for models of two levels; see model.OrderParameter", i, v))
			}
		}
	}
	return float64(2*up-len(x)) / float64(len(x))
}
