// Package check validates arguments. Its messages have a uniform format: the function, the
// argument, its value, and the bound.
package check

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Len panics unless a slice has the required length. The message begins with caller, the name of
// the calling package, and contains the name of the slice.
func Len(caller, name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("%s: len(%s) = %d, want %d", caller, name, got, want))
	}
}

// Rows returns got/n, the number of rows of n entries in a slice of length got. Rows panics unless
// n ≥ 1 and n divides got. The message begins with caller, the name of the calling package, and
// contains the name of the slice.
func Rows(caller, name string, got, n int) int {
	if n < 1 {
		panic(fmt.Sprintf("%s: rows of %s have %d entries, want ≥ 1", caller, name, n))
	}
	if got%n != 0 {
		panic(fmt.Sprintf("%s: len(%s) = %d, want a multiple of %d", caller, name, got, n))
	}
	return got / n
}

// Finite reports whether v is a finite number.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// AllFinite reports whether all entries of v are finite.
func AllFinite[T float32 | float64](v []T) bool {
	return !slices.ContainsFunc(v, func(f T) bool { return !Finite(float64(f)) })
}

// shown is the number of characters that [Clip] keeps. It is larger than any name and smaller
// than a screen.
const shown = 80

// Clip truncates a long text from the user for use in a message, so that hostile input cannot make
// messages arbitrarily long.
func Clip(s string) string {
	end := 0
	for i := 0; i < shown && end < len(s); i++ {
		_, n := utf8.DecodeRuneInString(s[end:])
		end += n
	}
	if end < len(s) {
		return s[:end] + "…"
	}
	return s
}

// Quote returns the result of [Clip] in quotes, with Go's escapes.
func Quote(s string) string {
	c := Clip(s)
	if c == s {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.TrimSuffix(c, "…")) + "…"
}

// Nil reports whether v is nil or holds a nil pointer, map, function, channel or slice.
func Nil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice:
		return r.IsNil()
	}
	return false
}

// Shape returns the numbers of sites and levels of a model. It returns an error if the model is nil
// or has no sites or levels. It also returns an error if the number of chains is not in 1 … limit,
// or if chains × sites × levels exceeds [MaxEntries]. Errors begin with caller, such as "mcmc:
// DMALA".
func Shape(caller string, m interface{ Shape() (sites, levels int) }, chains, limit int) (sites, levels int, err error) {
	if Nil(m) {
		return 0, 0, fmt.Errorf("%s: model = nil", caller)
	}
	sites, levels = m.Shape()
	switch {
	case sites < 1:
		return 0, 0, fmt.Errorf("%s: sites = %d, want ≥ 1", caller, sites)
	case levels < 1:
		return 0, 0, fmt.Errorf("%s: levels = %d, want ≥ 1", caller, levels)
	case chains < 1 || chains > limit:
		return 0, 0, fmt.Errorf("%s: chains = %d, want 1 … %d", caller, chains, limit)
	}
	return sites, levels, Entries(caller, "chains × sites × levels", chains, sites, levels)
}

// Given returns an error if a required argument v is nil or an interface that holds a nil pointer.
// The message begins with caller, such as "mcmc: Swap", and contains the name of v.
func Given(caller, name string, v any) error {
	if !Nil(v) {
		return nil
	}
	if v == nil {
		return fmt.Errorf("%s: %s = nil", caller, name)
	}
	return fmt.Errorf("%s: %s = (%T)(nil), want a value", caller, name, v)
}

// Optional is like [Given], but for optional arguments, so nil itself is not an error.
func Optional(caller, name string, v any) error {
	if v == nil {
		return nil
	}
	return Given(caller, name, v)
}

// Must is like [Given], but panics on an error.
func Must(caller, name string, v any) {
	if err := Given(caller, name, v); err != nil {
		panic(err.Error())
	}
}

// Index panics unless 0 ≤ i < n.
func Index(caller, name string, i, n int) {
	if uint(i) >= uint(n) {
		panic(fmt.Sprintf("%s: %s = %d, want 0 … %d", caller, name, i, n-1))
	}
}

// MaxEntries is the largest permitted number of entries of a table whose size follows from
// arguments. A larger size must be a mistake, because no memory can hold such a table.
const MaxEntries = min(math.MaxInt/16, 1<<36)

// Entries returns an error unless each factor is ≥ 0 and the product of all factors is at most
// MaxEntries. The argument names describes the factors in the error, for instance "sites × states".
func Entries(caller, names string, factors ...int) error {
	n := 1
	for _, f := range factors {
		if f < 0 || f > 0 && n > MaxEntries/f {
			return fmt.Errorf("%s: %s = %v, want a product of 0 … %d", caller, names, factors, MaxEntries)
		}
		n *= f
	}
	return nil
}

// If returns an error if bad is true, and nil otherwise. Pass several calls to cmp.Or to get the
// first error. All of these calls are evaluated, so no argument may rely on an earlier check. A
// call allocates even if bad is false, so do not use it in a step or in a loop over sites.
func If(bad bool, format string, args ...any) error {
	if bad {
		return fmt.Errorf(format, args...)
	}
	return nil
}

// Setting is an integer setting of a configuration.
type Setting struct {
	name         string
	value        *int
	least, usual int
}

// Number describes an integer setting for [Defaults]: its name, the variable that holds it, and its
// smallest valid value. If the variable is 0, Defaults sets it to preset.
func Number(name string, variable *int, smallest, preset int) Setting {
	return Setting{name, variable, smallest, preset}
}

// Defaults replaces zeros by the defaults. It returns an error for the first setting that is out of
// range. The message begins with prefix, such as "diffusion: Config.", and the name of the setting.
func Defaults(prefix string, settings ...Setting) error {
	for _, s := range settings {
		if *s.value < s.least {
			return fmt.Errorf("%s%s = %d, want ≥ %d", prefix, s.name, *s.value, s.least)
		}
		if *s.value == 0 {
			*s.value = s.usual
		}
	}
	return nil
}

// Refusal states why a setting is rejected. An empty Refusal means that the setting is accepted.
type Refusal struct {
	bad   bool
	name  string
	value any
	want  string
}

// Rule returns a Refusal of the setting with the given name and value if bad is true, and an empty
// Refusal otherwise. The text valid describes the valid values.
func Rule(bad bool, name string, value any, valid string) Refusal {
	return Refusal{bad, name, value, valid}
}

// Refuse returns an error for the first setting that is rejected. Its message begins with prefix,
// such as "diffusion: Config.", and the name of the setting.
func Refuse(prefix string, rules ...Refusal) error {
	for _, r := range rules {
		if r.bad {
			return fmt.Errorf("%s%s = %v, want %s", prefix, r.name, r.value, r.want)
		}
	}
	return nil
}

// Model returns the shape of m, or an error if m is nil or has no sites or levels. The error
// message contains the strings pkg (a package), caller (its constructor) and name (the
// constructor's argument that holds m).
func Model(pkg, caller, name string, m interface{ Shape() (sites, levels int) }) (sites, levels int, err error) {
	if Nil(m) {
		return 0, 0, fmt.Errorf("%s: %s: %s is nil", pkg, caller, name)
	}
	sites, levels = m.Shape()
	if sites < 1 || levels < 1 {
		return 0, 0, fmt.Errorf("%s: %s: %s has %d sites and %d levels, want both ≥ 1", pkg, caller, name, sites, levels)
	}
	return sites, levels, nil
}

// rowTolerance is the maximum distance of the sum of a row of probabilities from 1. Rows of
// float32 numbers miss 1 by about 1e-7.
const rowTolerance = 1e-6

// Probabilities returns an error unless p consists of rows of the given length whose entries are ≥
// 0 and sum to 1 within 1e-6. The error message contains the strings pkg (a package), caller (its
// constructor) and name (the constructor's argument that holds p).
func Probabilities(pkg, caller, name string, p []float64, length int) error {
	for r := 0; r < len(p); r += length {
		sum := 0.0
		for k, v := range p[r : r+length] {
			if !(v >= 0) {
				return fmt.Errorf("%s: %s: %s[%d] = %v, want ≥ 0", pkg, caller, name, r+k, v)
			}
			sum += v
		}
		if !(math.Abs(sum-1) <= rowTolerance) {
			return fmt.Errorf("%s: %s: %s[%d:%d] sums to %v, want 1 within %g", pkg, caller, name, r, r+length, sum, rowTolerance)
		}
	}
	return nil
}

// States replaces the panic of a failed bounds check by a message that names the invalid level. A
// function that indexes a table by the levels of a state x must defer States. If the function
// panics and x has a level outside 0 … levels−1, the new panic names that level. Otherwise the
// panic continues unchanged.
func States(caller string, x []int32, levels int) {
	p := recover()
	if p == nil {
		return
	}
	for i, l := range x {
		if l < 0 || int(l) >= levels {
			panic(fmt.Sprintf("%s: x[%d] = %d, want 0 … %d", caller, i, l, levels-1))
		}
	}
	panic(p)
}
