// Package fingerprint records the settings on which a checkpoint and the run that loads the
// checkpoint must agree: a list of named settings, compared one by one, so that an error
// can name the setting that differs.
//
// A setting is a text ("DMALA.StepSize" is "0.2"), compared byte by byte, or a
// row of numbers ("energies of test states"), compared to rounding by the magnitude
// of the row, whatever its units.
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

// List holds the settings of a run, in the order in which they were added: a setting
// that explains others (the method) goes before them (its fields). Names are unique.
type List struct {
	// Sites and Levels are the shape for the digests of languages among the settings;
	// they are not settings themselves.
	Sites, Levels int

	all []setting
}

type setting struct {
	name, text string
	numbers    []float64
	double     bool // the numbers were computed in float64
}

// How far numbers may differ, in parts of the largest of their row: float64 values of
// one function of the same arguments; those of float32, which matrix products round
// differently on different processors.
const (
	doubles = 1e-12
	singles = 1e-6
)

// Doubles is a row of numbers that [List.Add] adds with [List.Doubles].
type Doubles []float64

// Text adds a setting that must agree exactly.
func (l *List) Text(name, text string) { l.all = append(l.all, setting{name: name, text: text}) }

// Numbers adds a row that must agree within 1e-6 of its largest finite number. NaN agrees
// with NaN, and an infinity with itself.
func (l *List) Numbers(name string, v []float64) {
	l.all = append(l.all, setting{name: name, numbers: v})
}

// Doubles is [List.Numbers] within 1e-12, for results of the same computation in
// float64 from the same arguments.
func (l *List) Doubles(name string, v []float64) {
	l.all = append(l.all, setting{name: name, numbers: v, double: true})
}

// Append appends the list to b.
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

// Sum returns a digest of the list, which links the parts of a checkpoint to the list.
func (l *List) Sum() uint64 {
	h := fnv.New64a()
	_, _ = h.Write(l.Append(nil))
	return h.Sum64()
}

// Read reads what [List.Append] wrote, all of b. It takes memory in proportion to b,
// whatever lengths it claims.
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
		s := setting{name: string(b[:size[0]]), text: string(b[size[0] : size[0]+size[1]])}
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

// Mismatch is the error for a setting that differs.
type Mismatch struct {
	Setting     string
	Saved, Here string // its values; "unset" if only one side has the setting
}

func (e *Mismatch) Error() string {
	return fmt.Sprintf("settings differ: %s is %s in the checkpoint and %s here", e.Setting, e.Saved, e.Here)
}

// Compare returns a *[Mismatch] for the first setting of here that differs from the saved
// one, or else for the first saved setting that is not set here.
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
		within := singles
		if s.double {
			within = doubles
		}
		if err := rows(s.name, o.numbers, s.numbers, within, 0); err != nil {
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

// Energies returns a *[Mismatch] for the first energy that differs from the one saved under
// that name by more than 1e-6 of the largest finite energy, or of least if that is larger.
// least is 0, or 1 for sums that were kept up to date while their terms changed, which may
// cancel.
func Energies(name string, saved, here []float64, least float64) error {
	return rows(name, saved, here, singles, least)
}

// rows compares two rows of numbers to within parts of the largest.
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

// near reports whether two numbers are the same up to rounding.
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

// named and sets are the interfaces by which a value describes itself: by its
// name, and by its settings if its fields are not a full description (functions,
// what pointers point to). See sampler.Method.
type (
	named interface{ Name() string }
	sets  interface {
		Settings(add func(name string, value any))
	}
)

// Name returns the name of a recipe: the result of its method Name, or its Go type. It
// is the same for a value and a pointer to it.
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

// asked adds the description that v gives of itself, if it gives one.
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
