package sampler

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"reflect"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Named recipes say what checkpoints and messages call them, whatever becomes
// of their Go names: "dmala". A recipe of one's own that has no name goes by its
// Go type.
type Named interface{ Name() string }

// nameOf returns the name of a recipe, the same for a value and a pointer to it.
func nameOf(recipe any) string {
	if n, ok := recipe.(Named); ok {
		return n.Name()
	}
	return strings.TrimLeft(fmt.Sprintf("%T", recipe), "*")
}

// appendRecipe appends the name of a recipe and a digest of its settings.
func appendRecipe(b []byte, recipe any) []byte {
	name := nameOf(recipe)
	b = append(wire.AppendInts(b, len(name)), name...)
	return binary.LittleEndian.AppendUint64(b, settings(recipe))
}

// settings digests a recipe: its name and every number, text and slice that it
// is set to. Equal recipes have equal digests on every machine, a pointer to a
// recipe that of the recipe, in a field (Within, Base) as well; what only an
// address tells apart (functions, maps, what other pointers lead to) counts by
// its type.
func settings(recipe any) uint64 {
	h := fnv.New64a()
	v := reflect.ValueOf(recipe)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	digest(h, v)
	return h.Sum64()
}

// digest writes v to h. Every value is preceded by its type and every slice by
// its length, so that different values cannot run into each other.
func digest(h hash.Hash64, v reflect.Value) {
	if !v.IsValid() {
		fmt.Fprint(h, "nil;")
		return
	}
	name := v.Type().String()
	if v.CanInterface() {
		if n, ok := v.Interface().(Named); ok && !(v.Kind() == reflect.Interface) && !(v.Kind() == reflect.Pointer && v.IsNil()) {
			name = n.Name()
		}
	}
	fmt.Fprint(h, name, ":")
	switch v.Kind() {
	case reflect.Bool:
		fmt.Fprint(h, v.Bool(), ";")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		fmt.Fprint(h, v.Int(), ";")
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		fmt.Fprint(h, v.Uint(), ";")
	case reflect.Float32, reflect.Float64:
		fmt.Fprint(h, math.Float64bits(v.Float()), ";")
	case reflect.String:
		fmt.Fprintf(h, "%q;", v.String())
	case reflect.Slice, reflect.Array:
		fmt.Fprint(h, v.Len(), ";")
		for i := range v.Len() {
			digest(h, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			digest(h, v.Field(i))
		}
	case reflect.Interface:
		e := v.Elem()
		if e.Kind() == reflect.Pointer && !e.IsNil() && v.NumMethod() > 0 && e.Type().Elem().Implements(v.Type()) {
			e = e.Elem() // a pointer to a recipe, where the recipe would do
		}
		digest(h, e)
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan:
		fmt.Fprint(h, v.IsNil(), ";")
	}
}
