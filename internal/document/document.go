// Package document parses JSON into values. A value stores the line and column at which it begins,
// so that file readers can locate errors.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// deepest is the maximum nesting depth of values. It is far larger than in any real file and
// limits the stack on malicious input.
const deepest = 100

// Parse parses the text of r, which must be exactly one JSON value. Duplicate keys of an object are
// an error. The memory used is proportional to the length of the text.
func Parse(r io.Reader) (*Value, error) {
	if r == nil {
		return nil, errors.New("reader r = nil")
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	p := parser{text: text, in: json.NewDecoder(bytes.NewReader(text))}
	p.in.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	end := p.start()
	if _, err := p.in.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more text after the JSON value", p.place(end))
	}
	return v, nil
}

// parser reads values token by token.
type parser struct {
	text []byte
	in   *json.Decoder
}

func (p *parser) place(at int) string { return place(p.text, at) }

// start returns the offset of the next token. It skips white space and separators.
func (p *parser) start() int {
	at := int(p.in.InputOffset())
	for at < len(p.text) {
		switch p.text[at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			at++
		default:
			return at
		}
	}
	return at
}

func (p *parser) token() (json.Token, int, error) {
	at := p.start()
	t, err := p.in.Token()
	var bad *json.SyntaxError
	switch {
	case err == nil:
		if s, ok := t.(string); ok && strings.ContainsRune(s, utf8.RuneError) && !Unicode(p.text[at:p.in.InputOffset()]) {
			return nil, at, fmt.Errorf("%s: the text %.40q is not Unicode: want UTF-8, and escapes of surrogates in pairs", p.place(at), s)
		}
		return t, at, nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, at, fmt.Errorf("%s: the JSON value ends too early", p.place(len(p.text)))
	case errors.As(err, &bad):
		return nil, at, fmt.Errorf("%s: %w", p.place(max(at, int(bad.Offset)-1)), err)
	}
	return nil, at, fmt.Errorf("%s: %w", p.place(at), err)
}

// Unicode reports whether the JSON text is valid UTF-8 with properly paired surrogates. A JSON
// decoder would silently replace other text by U+FFFD.
func Unicode(text []byte) bool {
	code := func(at int) rune {
		if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
			return -1
		}
		c, err := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(c)
	}
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			continue
		}
		c := code(at)
		if utf16.IsSurrogate(c) {
			if utf16.DecodeRune(c, code(at+6)) == utf8.RuneError {
				return false
			}
			at += 6
		}
		at++ // what is escaped
	}
	return utf8.Valid(text)
}

func (p *parser) value(depth int) (*Value, error) {
	t, at, err := p.token()
	if err != nil {
		return nil, err
	}
	v := &Value{at: at, text: p.text}
	switch t := t.(type) {
	case nil:
		v.Kind = Null
	case bool:
		v.Kind, v.Text = Bool, strconv.FormatBool(t)
	case json.Number:
		v.Kind, v.Text = Number, t.String()
	case string:
		v.Kind, v.Text = String, t
	case json.Delim:
		if depth == deepest {
			return nil, v.Errorf("values nested more than %d deep", deepest)
		}
		if t == '[' {
			err = p.array(v, depth)
		} else {
			err = p.object(v, depth)
		}
	}
	return v, err
}

func (p *parser) array(v *Value, depth int) error {
	v.Kind = Array
	for p.in.More() {
		e, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.List = append(v.List, e)
	}
	_, _, err := p.token()
	return err
}

func (p *parser) object(v *Value, depth int) error {
	v.Kind, v.index = Object, map[string]int{}
	for p.in.More() {
		t, at, err := p.token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder lets nothing else be a key
		if _, twice := v.index[key]; twice {
			return fmt.Errorf("%s: the key %.40q a second time", p.place(at), key)
		}
		e, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		v.index[key] = len(v.List)
		v.List, v.Keys = append(v.List, e), append(v.Keys, key)
	}
	_, _, err := p.token()
	return err
}

// Kind is the type of a [Value].
type Kind string

// The kinds of JSON values.
const (
	Null   Kind = "null"      // the JSON value null
	Bool   Kind = "a Boolean" // true or false
	Number Kind = "a number"  // a JSON number
	String Kind = "a string"  // a JSON string
	Array  Kind = "an array"  // a JSON array
	Object Kind = "an object" // a JSON object
)

// Value is a JSON value. It is immutable and safe for concurrent use.
type Value struct {
	Kind Kind
	Text string   // text of a string or a number; "true" or "false" for a Boolean
	List []*Value // elements of an array, or values of an object in the order of the text
	Keys []string // keys of an object, parallel to List

	at    int
	text  []byte
	index map[string]int
}

// Get returns the value of a key of an object, or nil if the key is missing or v is not an
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

// Is reports whether v is a value of kind k. It returns false for nil.
func (v *Value) Is(k Kind) bool { return v != nil && v.Kind == k }

// Float returns the value of v and true. If v is not a number, or too large for a finite float64,
// it returns false.
func (v *Value) Float() (float64, bool) {
	if !v.Is(Number) {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	return f, err == nil
}

// Int returns the value of v and true. If v is not a number written as an integer, or does not fit
// in an int, it returns false.
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

// Brief formats a value for an error, truncated if it is long.
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

// place returns the line and the column, in runes, of an offset as text.
func place(text []byte, at int) string {
	before := text[:min(at, len(text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d: column %d", line, column)
}
