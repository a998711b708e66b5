package document

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Kind is what a [Value] is.
type Kind string

// The kinds of values.
const (
	Null   Kind = "null"
	Bool   Kind = "a Boolean"
	Number Kind = "a number"
	String Kind = "a string"
	Array  Kind = "an array"
	Object Kind = "an object"
)

// Value is a JSON value. It is immutable and safe for concurrent use.
type Value struct {
	Kind Kind
	Text string   // of a string or a number, or true or false
	List []*Value // of an array, or of an object in the order of the text
	Keys []string // of an object, those of List

	at    int
	text  []byte
	index map[string]int
}

// Get returns the value of a key of an object, nil if there is none or v is no
// object.
func (v *Value) Get(key string) *Value {
	if v == nil {
		return nil
	}
	if k, ok := v.index[key]; ok {
		return v.List[k]
	}
	return nil
}

// Is reports whether v is there and of a kind.
func (v *Value) Is(k Kind) bool { return v != nil && v.Kind == k }

// Float returns the value of a number that is a finite float64.
func (v *Value) Float() (float64, bool) {
	if !v.Is(Number) {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	return f, err == nil
}

// Int returns the value of a number that is written as an integer.
func (v *Value) Int() (int, bool) {
	if !v.Is(Number) {
		return 0, false
	}
	n, err := strconv.Atoi(v.Text)
	return n, err == nil
}

// Errorf returns an error that begins with the line and column of v.
func (v *Value) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", place(v.text, v.at), fmt.Errorf(format, args...))
}

// Brief shows a value in an error, cut if it is long.
func (v *Value) Brief() string {
	const most = 32 // enough for any number
	switch {
	case v == nil:
		return "missing"
	case v.Kind == Array || v.Kind == Object || v.Kind == Null:
		return string(v.Kind)
	case v.Kind == String && len(v.Text) > most:
		return strconv.Quote(v.Text[:most]) + "…"
	case v.Kind == String:
		return strconv.Quote(v.Text)
	case len(v.Text) > most:
		return v.Text[:most] + "…"
	}
	return v.Text
}

// place names the line and the column, in runes, of an offset.
func place(text []byte, at int) string {
	before := text[:min(at, len(text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d: column %d", line, column)
}
