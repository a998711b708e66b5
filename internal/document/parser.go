package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// deepest is how far values may be nested: every file that is read here is
// flatter by far, and the stack must not grow with a hostile one.
const deepest = 100

// Parse reads one JSON value, which must be all of r. Keys that an object has
// twice are an error. It takes memory in proportion to the text.
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

// start returns where the next token begins: what may stand between tokens is
// passed over.
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
		return t, at, nil
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, at, fmt.Errorf("%s: the JSON value ends too early", p.place(len(p.text)))
	case errors.As(err, &bad):
		return nil, at, fmt.Errorf("%s: %w", p.place(max(at, int(bad.Offset)-1)), err)
	}
	return nil, at, fmt.Errorf("%s: %w", p.place(at), err)
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
