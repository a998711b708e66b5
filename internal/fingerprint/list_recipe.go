package fingerprint

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// named and sets are the interfaces by which a value says what it is: its name,
// and its settings if its fields are not all there is to say (functions, what is
// behind pointers). See sampler.Method.
type (
	named interface{ Name() string }
	sets  interface {
		Settings(add func(name string, value any))
	}
)

// Name returns the name of a recipe: what its method Name says, or its Go type;
// the same for a value and a pointer to it.
func Name(recipe any) string {
	if n, ok := recipe.(named); ok && !isNil(recipe) {
		return n.Name()
	}
	return strings.TrimLeft(fmt.Sprintf("%T", recipe), "*")
}

func isNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan, reflect.Interface:
		return r.IsNil()
	}
	return false
}

// most is the number of entries that a slice is written out with; a longer one
// counts by its length and a digest.
const most = 8

// Add adds a value by its kind:
//
//   - numbers, texts and truth values as they are, []float64 by [List.Numbers] and
//     [Doubles] by [List.Doubles] if they are what Add was given;
//   - a value with a method Settings by what that adds, after its name;
//   - a language (States, Start, Next, Accepting) by content: equal sets of
//     sequences of Sites tokens below Levels have equal digests, however they
//     are written;
//   - a function of an integer, such as a schedule, by its values at 0, 1, 2, 4,
//     8 … 2²⁰;
//   - a struct that embeds a value and has no other field, nor another name, as
//     that value;
//   - a struct by its name and its fields, with "name." before theirs (at the top
//     the name of the struct instead: "dmala.StepSize"); fields of an embedded
//     struct count as its own, a pointer as what it points to, and a long slice
//     by a digest;
//   - what remains (functions, maps, channels) by its name if it has a method
//     Name, or else as "func", "map" or "chan", or "nil".
func (l *List) Add(name string, value any) {
	switch v := value.(type) {
	case []float64:
		l.Numbers(name, slices.Clone(v))
		return
	case Doubles:
		l.Doubles(name, slices.Clone(v))
		return
	}
	v := reflect.ValueOf(value)
	if v.IsValid() { // a copy that can be addressed lets fields be asked for interfaces
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		v = c
	}
	l.add(name, v, 0)
}

// deep bounds the nesting of recipes: values that contain themselves.
const deep = 32

func (l *List) add(name string, v reflect.Value, depth int) {
	hops := 0
	for ; hops < deep && v.IsValid(); hops++ {
		if in, ok := inside(v); ok {
			v = in
			continue
		}
		if v.Kind() != reflect.Interface && v.Kind() != reflect.Pointer || v.IsNil() {
			break
		}
		if l.asked(name, v, depth) {
			return
		}
		v = v.Elem()
	}
	if !v.IsValid() || depth >= deep || hops == deep {
		l.Text(name, "nil")
		return
	}
	if l.asked(name, v, depth) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		l.fields(l.head(name, v, depth), v, depth)
	case reflect.Slice, reflect.Array:
		l.list(name, v, depth)
	default:
		l.Text(name, scalar(v))
	}
}

// inside returns the value that v, or what v points to, embeds and adds nothing to:
// the only field of a struct that has no other name.
func inside(v reflect.Value) (reflect.Value, bool) {
	for hops := 0; hops < deep && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) && !v.IsNil(); hops++ {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || v.NumField() != 1 || !v.Type().Field(0).Anonymous {
		return v, false
	}
	f := v.Field(0)
	if !v.CanInterface() || !f.CanInterface() || isNil(f.Interface()) {
		return v, false
	}
	n, ok := v.Interface().(named)
	if !ok && v.CanAddr() {
		n, ok = v.Addr().Interface().(named)
	}
	return f, !ok || n.Name() == Name(f.Interface())
}

// head adds the name of a struct and returns what precedes the names of its
// fields.
func (l *List) head(name string, v reflect.Value, depth int) string {
	is := nameOf(v)
	l.Text(name, is)
	if depth == 0 {
		name = is
	}
	return name + "."
}

func (l *List) fields(prefix string, v reflect.Value, depth int) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Name == "_" {
			continue
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			l.fields(prefix, v.Field(i), depth+1)
			continue
		}
		l.add(prefix+f.Name, v.Field(i), depth+1)
	}
}

// asked adds what v says of itself, if it says anything.
func (l *List) asked(name string, v reflect.Value, depth int) bool {
	if !v.CanInterface() {
		return false
	}
	value := v.Interface()
	if s, ok := value.(sets); ok && !isNil(value) {
		prefix := l.head(name, v, depth)
		s.Settings(func(field string, value any) {
			if depth+1 < deep {
				l.add(prefix+field, reflect.ValueOf(value), depth+1)
			}
		})
		return true
	}
	if a, ok := value.(automata.Automaton); ok && !isNil(value) && l.Sites > 0 {
		l.Text(name, l.language(a))
		return true
	}
	return false
}

// language describes a language by content.
func (l *List) language(a automata.Automaton) string {
	sum, err := automata.Digest(context.Background(), a, l.Sites, l.Levels)
	if err != nil {
		return fmt.Sprintf("%s, %v", automata.Name(a), err)
	}
	return fmt.Sprintf("language %016x", sum)
}

// list adds a slice, by entries if it is short, or else by a digest of them.
func (l *List) list(name string, v reflect.Value, depth int) {
	sub := List{Sites: l.Sites, Levels: l.Levels}
	digest := fnv.New64a()
	for i := range v.Len() {
		sub.add(strconv.Itoa(i), v.Index(i), depth+1)
		if v.Len() > most && (len(sub.all) >= 1024 || i == v.Len()-1) {
			_, _ = digest.Write(sub.Append(nil))
			sub.all = sub.all[:0]
		}
	}
	switch {
	case v.Len() > most:
		l.Text(name, fmt.Sprintf("%d × %s, digest %016x", v.Len(), v.Type().Elem(), digest.Sum64()))
	case len(sub.all) == v.Len(): // one text for each entry
		texts := make([]string, v.Len())
		for i := range sub.all {
			texts[i] = sub.all[i].text
		}
		l.Text(name, fmt.Sprintf("%s%q", v.Type().Elem(), texts))
	default:
		l.Text(name, fmt.Sprintf("%d × %s", v.Len(), v.Type().Elem()))
		for _, s := range sub.all {
			l.all = append(l.all, setting{name: name + "." + s.name, text: s.text, numbers: s.numbers})
		}
	}
}

func nameOf(v reflect.Value) string {
	if v.CanInterface() {
		return Name(v.Interface())
	}
	return strings.TrimLeft(v.Type().String(), "*")
}

func scalar(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.String:
		return strconv.Quote(v.String())
	case reflect.Func, reflect.Map, reflect.Chan, reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
	}
	if v.CanInterface() {
		if n, ok := v.Interface().(named); ok {
			return n.Name()
		}
	}
	if v.Kind() == reflect.Func && v.CanInterface() && v.Type().ConvertibleTo(scheduleType) {
		return schedule(v.Convert(scheduleType).Interface().(func(int) float64))
	}
	return v.Kind().String()
}

var scheduleType = reflect.TypeFor[func(int) float64]()

// schedule digests a function of a step number by its values, up to where it
// panics: one that reads a table has an end.
func schedule(f func(int) float64) string {
	h := fnv.New64a()
	first := math.NaN()
	func() {
		defer func() { _ = recover() }()
		first = f(0)
		word(h, first)
		for t := 1; t <= 1<<20; t *= 2 {
			word(h, f(t))
		}
	}()
	return fmt.Sprintf("schedule %v …, digest %016x", first, h.Sum64())
}

func word(h hash.Hash, v float64) {
	bits := math.Float64bits(v)
	for range 8 {
		_, _ = h.Write([]byte{byte(bits)})
		bits >>= 8
	}
}
