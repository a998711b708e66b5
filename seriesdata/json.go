package seriesdata

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// objects reads JSON: an object on every line, or an array of objects or of arrays.
// Members of objects inside have names joined by points.
func objects(text string) (*document, error) {
	d := &document{text: text, newline: newlineOf(text)}
	inner, name := wrapped(text)
	if name != "" {
		d.notes = append(d.notes, fmt.Sprintf("the array %q is read, and nothing else", name))
	}
	r := &reader{document: d, dec: json.NewDecoder(strings.NewReader(inner)), index: map[string]int{}, at: 0, number: 1}
	r.dec.UseNumber()
	for {
		t, err := r.dec.Token()
		if errors.Is(err, io.EOF) {
			return d, r.onlyDates()
		}
		if err != nil {
			return nil, r.wrong(err)
		}
		switch t {
		case json.Delim('['):
			if d.array || len(d.lines) > 0 {
				if err := r.row(); err != nil {
					return nil, err
				}
				continue
			}
			d.array = true
		case json.Delim(']'):
		case json.Delim('{'):
			if err := r.object(); err != nil {
				return nil, err
			}
		default:
			return nil, r.wrong(fmt.Errorf("%v where an object such as {\"date\":\"2024-01-31\",\"value\":1} should begin", t))
		}
	}
}

// wrapped returns the array of objects or of arrays that is the only one among the members
// of one object, with blanks in front of it, so that places are those of the text, and its
// name; without such an array the text.
func wrapped(text string) (inner, name string) {
	dec := json.NewDecoder(strings.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return text, ""
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return text, ""
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return text, ""
		}
		rest := strings.TrimLeft(strings.TrimPrefix(string(raw), "["), " \t\r\n")
		if raw[0] != '[' || rest == "" || rest[0] != '{' && rest[0] != '[' {
			continue
		}
		if name != "" {
			return text, ""
		}
		name, _ = t.(string)
		to := int(dec.InputOffset())
		inner = strings.Repeat(" ", to-len(raw)) + string(raw)
	}
	if _, err := dec.Token(); err != nil || dec.More() || name == "" {
		return text, ""
	}
	return inner, name
}

// onlyDates refuses one object whose members are named by dates.
func (r *reader) onlyDates() error {
	if len(r.lines) != 1 {
		return nil
	}
	for _, name := range r.names {
		for part := range strings.SplitSeq(name, ".") {
			if p, ok := parseStamp(part); ok && p.hasDate {
				return fmt.Errorf("line 1: %q is a name of a member and a date; want one JSON object per line, or an array of them, with the date among its members", part)
			}
		}
	}
	return nil
}

// reader reads JSON into a document.
type reader struct {
	*document
	dec        *json.Decoder
	index      map[string]int // of names
	at, number int            // how far lines are counted
}

// lineOf returns the number of the line of a place in the text; places ascend.
func (r *reader) lineOf(at int) int {
	r.number += strings.Count(r.text[r.at:max(at, r.at)], "\n")
	r.at = max(at, r.at)
	return r.number
}

func (r *reader) wrong(err error) error {
	number := r.lineOf(int(r.dec.InputOffset()))
	return fmt.Errorf("line %d: %w; want one JSON object per line, or an array of them, and null for a number that is missing", number, err)
}

// object reads the members behind an opening brace.
func (r *reader) object() error {
	from := int(r.dec.InputOffset()) - 1
	l := line{number: r.lineOf(from), from: from}
	l.cells = make([]cell, len(r.names))
	if err := r.members(&l, ""); err != nil {
		return err
	}
	l.to = int(r.dec.InputOffset())
	for i := range l.cells {
		if l.cells[i].to == 0 {
			l.cells[i].from, l.cells[i].to = l.to-1, l.to-1
		}
	}
	r.lines = append(r.lines, l)
	return nil
}

func (r *reader) members(l *line, prefix string) error {
	for r.dec.More() {
		t, err := r.dec.Token()
		if err != nil {
			return r.wrong(err)
		}
		name, _ := t.(string)
		name = prefix + name
		value, span, err := r.value()
		if err != nil {
			return err
		}
		if value == json.Delim('{') {
			if err := r.members(l, name+"."); err != nil {
				return err
			}
			continue
		}
		if value == json.Delim('[') {
			return r.wrong(fmt.Errorf("the member %q is an array", name))
		}
		i, ok := r.index[name]
		if !ok {
			i = len(r.names)
			r.index[name] = i
			r.names = append(r.names, name)
		}
		for len(l.cells) <= i {
			l.cells = append(l.cells, cell{})
		}
		if l.cells[i].to != 0 {
			return r.wrong(fmt.Errorf("the member %q twice", name))
		}
		l.cells[i] = span
	}
	_, err := r.dec.Token() // the closing brace
	if err != nil {
		return r.wrong(err)
	}
	return nil
}

// row reads the elements behind an opening bracket.
func (r *reader) row() error {
	from := int(r.dec.InputOffset()) - 1
	l := line{number: r.lineOf(from), from: from}
	for r.dec.More() {
		value, span, err := r.value()
		if err != nil {
			return err
		}
		if _, ok := value.(json.Delim); ok {
			return r.wrong(errors.New("an array of arrays of arrays"))
		}
		l.cells = append(l.cells, span)
	}
	if _, err := r.dec.Token(); err != nil {
		return r.wrong(err)
	}
	l.to = int(r.dec.InputOffset())
	r.lines = append(r.lines, l)
	return nil
}

// value reads one value.
func (r *reader) value() (json.Token, cell, error) {
	before := int(r.dec.InputOffset())
	t, err := r.dec.Token()
	if err != nil {
		return nil, cell{}, r.wrong(err)
	}
	c := cell{to: int(r.dec.InputOffset())}
	c.from = before + len(r.text[before:c.to]) - len(strings.TrimLeft(r.text[before:c.to], " \t\r\n:,"))
	switch v := t.(type) {
	case string:
		c.text, c.quoted = strings.TrimSpace(v), true
	case json.Number:
		c.text = v.String()
	case bool:
		c.text = fmt.Sprint(v)
	}
	return t, c, nil
}
