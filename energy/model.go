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

// Model is an unnormalised distribution p(x) ∝ exp(−E(x)) on {0,…,levels−1}^sites.
//
// These two methods are all that a model of your own needs. [Func] turns a function into a model.
// Implementations must be safe for concurrent use.
type Model interface {
	// Shape returns the number of sites and of levels per site, both ≥ 1.
	Shape() (sites, levels int)

	// Energy stores in e[s] the energy in nats of the state x[s·sites : (s+1)·sites], for every s.
	// It does not modify x and keeps neither slice. It panics unless len(x) = len(e)·sites.
	Energy(e []float64, x []int32)
}

// Capable is implemented by models and denoisers that decide at run time which optional interfaces
// they support. A wrapper, for instance, may support only what the model inside it supports. Types
// that are not Capable support exactly the interfaces that they satisfy.
//
// A wrapper of your own should implement the method As. The method should pass on the interfaces
// that the wrapper leaves unchanged, and wrap the others. This example counts evaluations:
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
	// As stores in target a value that implements the requested interface, and returns true. The
	// argument target is a non-nil pointer to a variable of an interface type, such as a
	// *Differentiable. [Give] is the usual way to store the value. If As has no value, it returns
	// false and leaves the variable unchanged. The caller then uses the model itself, if its type
	// implements the interface.
	As(target any) bool
}

// As returns the model or denoiser m as a value of the interface type T. The result ok reports
// whether m supports T. If m is [Capable] and its method As returns true, m supports T. Otherwise m
// supports T only if its type implements T. A nil m, or a nil pointer in an interface, supports
// nothing.
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

// AsInto is [As] for an interface type that is known only at run time. The argument target points
// to a variable of that type. AsInto stores the value in the variable and reports whether m
// supports the type. It panics if target is not a pointer to a variable. A wrapper that changes
// nothing about m can implement its own method As by returning AsInto(m, target).
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

// Give stores v in *target and returns true if target is a *T. Otherwise it returns false. The
// method As of a [Capable] model calls Give for each interface that it offers.
func Give[T any](target any, v T) bool {
	p, ok := target.(*T)
	if ok {
		*p = v
	}
	return ok
}

// Magnetization returns the mean spin (1/n) Σ_i (2x_i − 1) of one two-level state x of n sites, in
// [−1, 1]. It panics if the state is empty or has a level other than 0 and 1. For more levels see
// model.OrderParameter.
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
