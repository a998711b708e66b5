// Package fingerprint records the settings on which a checkpoint and the run that loads it must
// agree. Settings have names and are compared one by one, so that an error can name the setting
// that differs.
//
// A setting is either a text ("DMALA.StepSize" is "0.2"), compared byte by byte, or a row of
// numbers ("energies of test states"). Rows are compared up to rounding errors. The errors are
// relative to the largest number in the row, so the units of the numbers do not matter.
package fingerprint

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// List holds the settings of a run in the order in which they were added. A setting on which others
// depend, such as the method, comes before them. Names are unique.
type List struct {
	// Sites and Levels are not settings. They apply to a setting that is a language: the list holds
	// a hash of the accepted sequences of Sites tokens below Levels.
	Sites, Levels int

	all []setting
}

type setting struct {
	name, text string
	numbers    []float64
	within     float64 // tolerance of the numbers
}

// Tolerances, relative to the largest number of a row. The tolerance doubles applies to float64
// results of the same function at the same arguments. The tolerance singles applies to float32
// results, because processors round matrix products differently. The tolerance predictions applies to
// networks of many layers, in which such differences grow to about 1e-5.
const (
	doubles     = 1e-12
	singles     = 1e-6
	predictions = 1e-3
)

// Doubles is a row of numbers with a smaller tolerance: [List.Add] calls [List.Doubles] for it
// instead of [List.Numbers].
type Doubles []float64

// Predictions is a row of outputs of a network. [List.Add] calls [List.Predictions] for it.
type Predictions []float64

// Text adds a setting whose text [Compare] compares byte by byte.
func (l *List) Text(name, text string) { l.all = append(l.all, setting{name: name, text: text}) }

// Numbers adds a row of numbers. [Compare] allows differences up to 1e-6 times the largest finite
// absolute value. NaN agrees with NaN, and an infinity with itself.
func (l *List) Numbers(name string, v []float64) {
	l.all = append(l.all, setting{name: name, numbers: v, within: singles})
}

// Doubles adds a row of numbers. [Compare] allows differences up to 1e-12 times the largest finite
// absolute value. Use Doubles for results of the same float64 computation from the same arguments.
func (l *List) Doubles(name string, v []float64) {
	l.all = append(l.all, setting{name: name, numbers: v, within: doubles})
}

// Predictions adds a row of numbers. [Compare] allows differences up to 1e-3 times the largest
// finite absolute value. Use Predictions for the outputs of a network, which depend on the
// processor.
func (l *List) Predictions(name string, v []float64) {
	l.all = append(l.all, setting{name: name, numbers: v, within: predictions})
}

// Append appends the encoded list to b.
func (l *List) Append(b []byte) []byte {
	b = wire.AppendInts(b, len(l.all))
	for i := range l.all {
		s := &l.all[i]
		b = wire.AppendInts(b, len(s.name), len(s.text), len(s.numbers))
		b = append(append(b, s.name...), s.text...)
		b = wire.AppendFloat64s(b, s.numbers)
	}
	return b
}

// Sum returns a digest of the list. Every part of a checkpoint contains this digest, which shows
// that the part belongs to the list.
func (l *List) Sum() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(l.Append(nil))
	return h.Sum64()
}

// Read decodes b, which must be exactly a list written by [List.Append]. The memory used is
// proportional to len(b), whatever lengths b claims.
func Read(b []byte) (*List, error) {
	if len(b) < 8 {
		return nil, wire.ErrShort
	}
	n := binary.LittleEndian.Uint64(b)
	b = b[8:]
	l := &List{}
	for range n {
		var size [3]uint64
		var err error
		if b, err = wire.ReadUint64s(b, size[:]); err != nil {
			return nil, err
		}
		left := uint64(len(b))
		if size[0] > left || size[1] > left-size[0] || size[2] > (left-size[0]-size[1])/8 {
			return nil, wire.ErrShort
		}
		s := setting{name: string(b[:size[0]]), text: string(b[size[0] : size[0]+size[1]]), within: singles}
		if size[2] > 0 {
			s.numbers = make([]float64, size[2])
		}
		if b, err = wire.ReadFloat64s(b[size[0]+size[1]:], s.numbers); err != nil {
			return nil, err
		}
		l.all = append(l.all, s)
	}
	return l, wire.ReadEnd(b)
}

// Mismatch reports a setting that differs between a checkpoint and the run that loads it.
type Mismatch struct {
	Setting     string
	Saved, Here string // values of the setting; "unset" if only the other side has it
}

func (e *Mismatch) Error() string {
	return fmt.Sprintf("settings differ: %s is %s in the checkpoint and %s here", e.Setting, e.Saved, e.Here)
}

// Compare compares the saved settings of a run with the settings of the present run. It returns a
// *[Mismatch] for the first setting of the present run that differs from the saved one. If there is
// none, it returns a *[Mismatch] for the first saved setting that the present run lacks.
func Compare(saved, here *List) error {
	old := make(map[string]*setting, len(saved.all))
	for i := range saved.all {
		old[saved.all[i].name] = &saved.all[i]
	}
	for i := range here.all {
		s := &here.all[i]
		o, ok := old[s.name]
		if !ok {
			return &Mismatch{s.name, "unset", s.value()}
		}
		if s.text != o.text {
			return &Mismatch{s.name, o.value(), s.value()}
		}
		if err := rows(s.name, o.numbers, s.numbers, s.within, 0); err != nil {
			return err
		}
		delete(old, s.name)
	}
	for i := range saved.all {
		if s := &saved.all[i]; old[s.name] != nil {
			return &Mismatch{s.name, s.value(), "unset"}
		}
	}
	return nil
}

// Energies compares the saved energies of a run with the energies of the present run. It returns a
// *[Mismatch] for the first energy that differs by more than
//
//	1e-6·max(largest finite |energy|, scale).
//
// Pass scale = 0 for energies that were computed from scratch. Pass scale = 1 for energies that
// were updated as the state changed, because their terms may have cancelled.
func Energies(name string, saved, here []float64, scale float64) error {
	return rows(name, saved, here, singles, scale)
}

// rows compares two rows of numbers. They may differ by within times the largest magnitude, or
// times least if that is larger.
func rows(name string, saved, here []float64, within, least float64) error {
	if len(saved) != len(here) {
		return &Mismatch{name, fmt.Sprintf("%d numbers", len(saved)), fmt.Sprintf("%d numbers", len(here))}
	}
	by := within * max(least, magnitude(saved), magnitude(here))
	for k, v := range here {
		if !near(v, saved[k], by) {
			return &Mismatch{fmt.Sprintf("%s[%d]", name, k), fmt.Sprint(saved[k]), fmt.Sprint(v)}
		}
	}
	return nil
}

// near reports whether a and b are equal up to the tolerance by.
func near(a, b, by float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= by
}

// magnitude returns the largest |v_i| that is finite.
func magnitude(v []float64) (most float64) {
	for _, v := range v {
		if v = math.Abs(v); v <= math.MaxFloat64 {
			most = max(most, v)
		}
	}
	return most
}

func (s *setting) value() string {
	switch {
	case s.text != "":
		return s.text
	case s.numbers != nil:
		return fmt.Sprintf("%d numbers", len(s.numbers))
	}
	return `""`
}

// named and sets are the interfaces by which a value describes itself. Settings is for values
// that their fields do not fully describe, such as functions and the targets of pointers. See
// sampler.Method.
type (
	named interface{ Name() string }
	sets  interface {
		Settings(add func(name string, value any))
	}
)

// Name returns the name of a configured value, such as a method or a projector. This is the result
// of its method Name or, without that method, its Go type. A pointer has the name of its value.
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

// most is the maximum length of a slice that is recorded entry by entry. A longer slice is
// recorded by its length and a digest.
const most = 8

// Add adds a value under the given name, in a form that depends on its type:
//
//   - Numbers, texts and truth values are added as they are.
//   - A top-level []float64 is added by [List.Numbers], a top-level [Doubles] by [List.Doubles] and
//     a top-level [Predictions] by [List.Predictions].
//   - A value with a method Settings is added by its name and by the settings that the method adds.
//   - A language (with methods States, Start, Next, Accepting) is added by content. Two languages
//     agree if they accept the same sequences of Sites tokens below Levels.
//   - A function of an integer, such as a schedule, is added by its values at 0, 1, 2, 4, 8 … 2²⁰.
//   - A struct that only embeds a value and has no method Name of its own is added as that value.
//   - Any other struct is added by its name and its fields. The prefix of the fields is "name."; at
//     the top level it is the name of the struct, as in "dmala.StepSize". Fields of an embedded
//     struct are treated as fields of the outer struct. A pointer is added as its target, and a
//     long slice is added by a digest.
//   - Anything else (functions, maps, channels) is added by its method Name, or else as "func",
//     "map", "chan" or "nil".
func (l *List) Add(name string, value any) {
	switch v := value.(type) {
	case []float64:
		l.Numbers(name, slices.Clone(v))
		return
	case Doubles:
		l.Doubles(name, slices.Clone(v))
		return
	case Predictions:
		l.Predictions(name, slices.Clone(v))
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

// deep is the maximum nesting depth of recipes. It ends the recursion for values that contain
// themselves.
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

// inside returns the embedded value of a struct, or of a pointer to one, that adds nothing to
// it: the struct has no other field and no name of its own.
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

// head adds the name of a struct and returns the prefix of its fields' names.
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

// asked adds v's own description and returns true, or returns false if v has none.
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

// language returns a description of a language by content.
func (l *List) language(a automata.Automaton) string {
	sum, err := automata.Digest(context.Background(), a, l.Sites, l.Levels)
	if err != nil {
		return fmt.Sprintf("%s, %v", automata.Name(a), err)
	}
	return fmt.Sprintf("language %016x", sum)
}

// list adds a slice: entry by entry if it is short, and otherwise by a digest.
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

// schedule returns a digest of a function of a step number, from its values up to the first
// argument for which it panics. A function that reads a table panics at the table's end.
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
