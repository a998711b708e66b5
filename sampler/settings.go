package sampler

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"reflect"
)

// settings digests a method: its type and every number, text and slice that it
// is set to. Equal methods have equal digests on every machine; what only an
// address tells apart (functions, maps, what pointers lead to) counts by its type.
func settings(m Method) uint64 {
	h := fnv.New64a()
	digest(h, reflect.ValueOf(m))
	return h.Sum64()
}

// digest writes v to h. Every value is preceded by its type and every slice by
// its length, so that different values cannot run into each other.
func digest(h hash.Hash64, v reflect.Value) {
	if !v.IsValid() {
		fmt.Fprint(h, "nil;")
		return
	}
	fmt.Fprint(h, v.Type(), ":")
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
		digest(h, v.Elem())
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan:
		fmt.Fprint(h, v.IsNil(), ";")
	}
}
