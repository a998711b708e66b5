package seriesdata

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// objects parses JSON: one object per line, or an array of objects or of arrays. Members of nested
// objects get names joined by dots.
func objects(text string) (*document, error) {
	d := &document{text: text, newline: newlineOf(text)}
	inner, name := wrapped(text)
	if name == "data" && indexed.MatchString(text) {
		return nil, errors.New("line 1: an object of columns, index and data; want one JSON object per line, or an array of them, as pandas writes with orient=\"records\"")
	}
	if name != "" {
		d.notes = append(d.notes, fmt.Sprintf("the array %q is read, and nothing else", name))
	}
	r := &reader{document: d, dec: json.NewDecoder(strings.NewReader(inner)), index: map[string]int{}, at: 0, number: 1}
	r.dec.UseNumber()
	for {
		t, err := r.dec.Token()
		if errors.Is(err, io.EOF) {
			for i := range d.lines { // members that appear first in a later object
				for l := &d.lines[i]; len(l.cells) < len(d.names); {
					l.cells = append(l.cells, cell{from: l.to - 1, to: l.to - 1})
				}
			}
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

// indexed matches an object that pandas writes with orient="split", whose rows lack their times.
var indexed = regexp.MustCompile(`^\s*\{\s*"columns"\s*:\s*\[[^\]]*\]\s*,\s*"index"\s*:`)

// wrapped looks for a single array of objects or arrays among the members of one JSON object. It
// returns that array, padded with blanks in front so that offsets are those in text, and its name.
// If there is no such array, it returns text and "".
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

// onlyDates returns an error if the input is a single object whose members are named by dates.
func (r *reader) onlyDates() error {
	if len(r.lines) != 1 {
		return nil
	}
	counts := 0
	for _, name := range r.names {
		last := name[strings.LastIndex(name, ".")+1:]
		v, err := strconv.ParseFloat(last, 64)
		if err == nil && v >= 1e8 { // seconds or milliseconds since 1970
			return fmt.Errorf("line 1: %q is a name of a member and a time; want one JSON object per line, or an array of them, with the time among its members", last)
		}
		if err == nil && len(last) < len(name) {
			counts++
		}
		for part := range strings.SplitSeq(name, ".") {
			if p, ok := parseStamp(part); ok && p.hasDate {
				return fmt.Errorf("line 1: %q is a name of a member and a date; want one JSON object per line, or an array of them, with the date among its members", part)
			}
		}
	}
	if counts > 1 && counts == len(r.names) {
		dot := strings.LastIndex(r.names[0], ".")
		return fmt.Errorf("line 1: the member %q has a value for the row %q, want the value itself, in an object for every row; write one JSON object per line, or an array of them, as pandas does with orient=\"records\"", r.names[0][:dot], r.names[0][dot+1:])
	}
	return nil
}

// reader reads JSON into a document.
type reader struct {
	*document
	dec   *json.Decoder
	index map[string]int // column of each member name
	// Offset up to which lines are counted, and the number of the line there.
	at, number int
}

// lineOf returns the line number of the offset at. Offsets must not decrease between calls.
func (r *reader) lineOf(at int) int {
	r.number += strings.Count(r.text[r.at:max(at, r.at)], "\n")
	r.at = max(at, r.at)
	return r.number
}

func (r *reader) wrong(err error) error {
	number := r.lineOf(int(r.dec.InputOffset()))
	return fmt.Errorf("line %d: %w; want one JSON object per line, or an array of them, and null for a number that is missing", number, err)
}

// object reads the members of an object after its opening brace as one line.
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

// row reads the elements of an array after its opening bracket as one line.
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

// value reads one JSON token and returns it together with its text and position as a cell.
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
