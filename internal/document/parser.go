package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

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
