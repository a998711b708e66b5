package seriesdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// cell is the text between two separators, and its place in the file.
type cell struct {
	text     string // without quotes and blanks around it
	from, to int    // in the text, quotes included
	quoted   bool
}

// line is a record of the file.
type line struct {
	number   int // of its first line in the file, from 1
	from, to int // in the text, without the line end
	cells    []cell
}

// document is a file as cells.
type document struct {
	text    string
	comma   string // what stands between cells; " " for blanks, "" for JSON
	lines   []line
	names   []string // of the members of JSON objects, in the order of their appearance
	newline string
	mark    string   // of the byte order, as UTF-8
	array   bool     // of JSON: values are elements of one array
	notes   []string // what was left out and put right
}

// at returns a cell, an empty one where a record is short.
func (l *line) at(i int) cell {
	if i < len(l.cells) {
		return l.cells[i]
	}
	return cell{from: l.to, to: l.to}
}

// decode returns the text of a file: UTF-8, with or without a byte-order mark,
// or UTF-16 with one.
func decode(b []byte) (text, mark string, notes []string, err error) {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(b, []byte("\x00\x00\xfe\xff")):
		return "", "", nil, errors.New("line 1: the byte-order mark of UTF-32; save the file as UTF-8")
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		b, mark = b[3:], "\ufeff"
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		text, err = wide(b[2:], binary.LittleEndian)
		return text, "", []string{"UTF-16 read; what is written is UTF-8"}, err
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		text, err = wide(b[2:], binary.BigEndian)
		return text, "", []string{"UTF-16 read; what is written is UTF-8"}, err
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return "", "", nil, fmt.Errorf("line %d: a zero byte: UTF-16 without a byte-order mark, or no text; save the file as UTF-8", 1+bytes.Count(b[:i], []byte("\n")))
	}
	number := 1
	for part := range bytes.Lines(b) {
		if !utf8.Valid(part) {
			return "", "", nil, fmt.Errorf("line %d: bytes that are not UTF-8; save the file as UTF-8", number)
		}
		number++
	}
	return string(b), mark, nil, nil
}

// wide decodes UTF-16.
func wide(b []byte, order binary.ByteOrder) (string, error) {
	if len(b)%2 != 0 {
		return "", errors.New("UTF-16 with an odd number of bytes: the file is cut off; save it as UTF-8")
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return strings.ToValidUTF8(string(utf16.Decode(units)), "\uFFFD"), nil
}

// newlineOf returns how lines of a text end.
func newlineOf(text string) string {
	switch {
	case strings.Contains(text, "\r\n"):
		return "\r\n"
	case !strings.Contains(text, "\n") && strings.Contains(text, "\r"):
		return "\r" // old Macintoshes
	}
	return "\n"
}

// separatorLine is how spreadsheets write what separates cells.
var separatorLine = regexp.MustCompile(`^"?sep=([,;|\t])"?(?:\r\n|\n|\r)`)

// delimited splits a text into records. comma is what separates cells, 0 if the text
// has to tell.
func delimited(text string, comma rune) (*document, error) {
	d := &document{text: text, newline: newlineOf(text)}
	number, at := 1, 0
	if m := separatorLine.FindStringSubmatch(text); m != nil {
		d.notes = append(d.notes, "line 1: what separates cells")
		number, at = 2, len(m[0])
		if comma == 0 {
			comma, _ = utf8.DecodeRuneInString(m[1])
		}
	}
	if comma == 0 {
		comma = separator(text)
	}
	d.comma = string(comma)
	for at < len(text) {
		l, next, ends, err := d.record(at, number, comma)
		if err != nil {
			return nil, err
		}
		at = next
		number += ends
		if len(l.cells) > 1 || l.cells[0].text != "" {
			d.lines = append(d.lines, l)
		}
	}
	d.comments()
	return d, nil
}

// record reads the record that begins at a place of the text.
func (d *document) record(at, number int, comma rune) (l line, next, ends int, err error) {
	l = line{number: number, from: at}
	text := d.text
	size := utf8.RuneLen(comma)
	for {
		for at < len(text) && text[at] == ' ' {
			at++
		}
		c := cell{from: at}
		if at < len(text) && text[at] == '"' {
			c.quoted = true
			opened := number + ends
			var b strings.Builder
			for at++; ; at++ {
				if at >= len(text) {
					return l, 0, 0, fmt.Errorf("line %d: a quotation mark that is not closed; close it, or double those inside a cell", opened)
				}
				if text[at] == '"' {
					if at+1 >= len(text) || text[at+1] != '"' {
						break
					}
					at++
				}
				if text[at] == '\n' {
					ends++
				}
				b.WriteByte(text[at])
			}
			at++
			c.to, c.text = at, strings.TrimSpace(b.String())
			for comma != ' ' && at < len(text) && text[at] == ' ' {
				at++
			}
			if rest := text[at:]; rest != "" && rest[0] != '\n' && rest[0] != '\r' && !strings.HasPrefix(rest, string(comma)) {
				return l, 0, 0, fmt.Errorf("line %d: text behind a quotation mark that closes; double quotation marks inside a cell", number+ends)
			}
		} else {
			for at < len(text) && text[at] != '\n' && text[at] != '\r' && !strings.HasPrefix(text[at:], string(comma)) {
				at++
			}
			c.text = strings.TrimSpace(text[c.from:at])
			c.to = c.from + len(strings.TrimRight(text[c.from:at], " \t"))
		}
		l.cells = append(l.cells, c)
		if at < len(text) && strings.HasPrefix(text[at:], string(comma)) {
			at += size
			if comma == ' ' { // a run of blanks is one separator, and none at the end
				for at < len(text) && text[at] == ' ' {
					at++
				}
				if at < len(text) && text[at] != '\n' && text[at] != '\r' {
					continue
				}
			} else {
				continue
			}
		}
		l.to = at
		if at < len(text) && text[at] == '\r' {
			at++
			if at >= len(text) || text[at] != '\n' {
				return l, at, ends + 1, nil
			}
		}
		if at < len(text) {
			at, ends = at+1, ends+1
		}
		return l, at, ends, nil
	}
}

// comments drops lines that begin with #. The last of those at the beginning is the header
// if it has as many cells as the line after it.
func (d *document) comments() {
	var kept []line
	for i, l := range d.lines {
		if !strings.HasPrefix(l.cells[0].text, "#") || d.lines[i].cells[0].quoted {
			kept = append(kept, l)
			continue
		}
		fresh := !slices.ContainsFunc(kept, func(k line) bool { return len(k.cells) == len(l.cells) })
		if fresh && i+1 < len(d.lines) && len(l.cells) > 1 && len(d.lines[i+1].cells) == len(l.cells) && !strings.HasPrefix(d.lines[i+1].cells[0].text, "#") {
			l.cells = slices.Clone(l.cells)
			l.cells[0].text = strings.TrimSpace(strings.TrimLeft(l.cells[0].text, "#"))
			kept = append(kept, l)
			continue
		}
		d.notes = append(d.notes, fmt.Sprintf("line %d: a comment", l.number))
	}
	d.lines = kept
}

// separators may stand between cells, in the order of preference.
var separators = []rune{'\t', ';', '|', ','}

// separator returns the one of tab, semicolon, bar and comma that most of the first lines
// contain equally often, or blanks if there is none and the lines have the same number of
// words.
func separator(text string) rune {
	best, most := ',', 0.0
	for _, sep := range separators {
		if share := evenness(text, func(s string) int { return outside(s, sep) }); share > most {
			best, most = sep, share
		}
	}
	if most < 0.5 && evenness(text, func(s string) int { return len(strings.Fields(s)) - 1 }) > 0.8 {
		return ' '
	}
	return best
}

// evenness is the share of the first hundred lines that have the usual count, which
// is not 0, of the lines of that width or more.
func evenness(text string, count func(string) int) float64 {
	tally, lines := map[int]int{}, 0
	rest := text
	for rest != "" && lines < 100 {
		i := strings.IndexAny(rest, "\r\n")
		s := rest
		if i >= 0 {
			s, rest = rest[:i], rest[i+1:]
		} else {
			rest = ""
		}
		if strings.TrimSpace(s) == "" || s[0] == '#' {
			continue
		}
		lines++
		tally[count(s)]++
	}
	most := 0
	for n, k := range tally {
		if n > 0 {
			most = max(most, k)
		}
	}
	return float64(most) / float64(max(1, lines))
}

// outside counts the occurrences of a separator outside quotes.
func outside(s string, sep rune) int {
	n, quoted := 0, false
	for _, r := range s {
		switch r {
		case '"':
			quoted = !quoted
		case sep:
			if !quoted {
				n++
			}
		}
	}
	return n
}
