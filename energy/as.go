package energy

import (
	"fmt"
	"reflect"
)

// asInto is As for a target whose type is not known here: target points to what
// is asked for. It serves wrappers that change nothing about the model inside.
func asInto(m Model, target any) bool {
	if w, is := m.(interface{ As(target any) bool }); is && w.As(target) {
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

// give stores v in target if target asks for a T.
func give[T any](target any, v T) bool {
	p, ok := target.(*T)
	if ok {
		*p = v
	}
	return ok
}

// all returns every model as a T, or nil if one of them is not.
func all[T any](models []Model) []T {
	ts := make([]T, len(models))
	for k, m := range models {
		var ok bool
		if ts[k], ok = As[T](m); !ok {
			return nil
		}
	}
	return ts
}

// checkModel returns the shape of the argument m of a constructor, or an error
// if it has none.
func checkModel(caller, name string, m Model) (sites, levels int, err error) {
	if m == nil {
		return 0, 0, fmt.Errorf("energy: %s: %s is nil", caller, name)
	}
	sites, levels = m.Shape()
	if sites < 1 || levels < 1 {
		return 0, 0, fmt.Errorf("energy: %s: %s has %d sites and %d levels, want both ≥ 1", caller, name, sites, levels)
	}
	return sites, levels, nil
}
