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

// cell is the text between two separators and its position in the file.
type cell struct {
	text     string // text without quotes and surrounding blanks
	from, to int    // range of the cell in document.text, including quotes
	quoted   bool
}

// line is a record of the file, which may span several lines if cells are quoted.
type line struct {
	number   int // number of the record's first line in the file, from 1
	from, to int // range of the record in document.text, without the line ending
	cells    []cell
}

// document is the text of a file, divided into lines and cells.
type document struct {
	text  string
	comma string // cell separator; " " for runs of blanks, "" for JSON
	lines []line
	// Names of members of JSON objects, in order of appearance; nil for other files.
	names   []string
	newline string
	mark    string   // byte-order mark of the file, as UTF-8; "" if none
	array   bool     // for JSON: whether the lines are elements of one array
	notes   []string // notes on what was left out or repaired
}

// at returns cell i, or an empty cell if the line is too short.
func (l *line) at(i int) cell {
	if i < len(l.cells) {
		return l.cells[i]
	}
	return cell{from: l.to, to: l.to}
}

// page matches the beginning of HTML and XML. A header such as <TICKER> may begin with < too.
var page = regexp.MustCompile(`^(?i)(?:\xef\xbb\xbf)?\s*<(?:\?xml|!doctype|html|table)\b`)

// decode returns the text of a file in UTF-8, with or without a byte-order mark, or in UTF-16 with
// one.
func decode(b []byte) (text, mark string, notes []string, err error) {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(b, []byte("\x00\x00\xfe\xff")):
		return "", "", nil, errors.New("line 1: the byte-order mark of UTF-32; save the file as UTF-8")
	case bytes.HasPrefix(b, []byte("\x1f\x8b")):
		return "", "", nil, errors.New("line 1: a file of gzip; unpack it with gunzip")
	case bytes.HasPrefix(b, []byte("PK\x03\x04")), bytes.HasPrefix(b, []byte("\xd0\xcf\x11\xe0")):
		return "", "", nil, errors.New("line 1: a workbook of a spreadsheet or a zip file; save the sheet as CSV, or unpack the file")
	case page.Match(b):
		return "", "", nil, errors.New("line 1: a page of HTML or XML; save its table as CSV")
	case bytes.HasPrefix(b, []byte("PAR1")):
		return "", "", nil, errors.New("line 1: a file of Parquet; save it as CSV")
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

// wide decodes UTF-16 in the given byte order.
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

// newlineOf returns the line ending of a text.
func newlineOf(text string) string {
	switch {
	case strings.Contains(text, "\r\n"):
		return "\r\n"
	case !strings.Contains(text, "\n") && strings.Contains(text, "\r"):
		return "\r" // line endings of the classic Mac OS
	}
	return "\n"
}

// separatorLine matches a first line such as sep=; with which spreadsheets declare the cell
// separator.
var separatorLine = regexp.MustCompile(`^"?sep=([,;|\t])"?(?:\r\n|\n|\r)`)

// delimited splits a text into records. comma is the cell separator; 0 means that it is inferred.
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

// record parses the record that begins at offset at, on line number. It returns the offset of the
// next record and the number of line endings in between.
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
			if comma == ' ' { // several blanks are one separator; blanks at the end are none
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

// comments drops lines that begin with #. At the beginning of the file, the last such line is kept
// as the header if it has as many cells as the line after it.
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

// separators lists the possible cell separators, in order of preference.
var separators = []rune{'\t', ';', '|', ','}

// separator infers the cell separator. It returns the tab, semicolon, bar or comma that occurs
// equally often in the largest share of the first lines. It returns a blank if there is none and
// the lines have the same number of words.
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

// evenness returns the share of the first hundred lines that have the most frequent positive count.
// Blank lines and lines that begin with # are not counted.
func evenness(text string, count func(string) int) float64 {
	tally, lines := map[int]int{}, 0
	rest := text
	for rest != "" && lines < 100 {
		s := rest[:recordEnd(rest)]
		rest = strings.TrimLeft(rest[len(s):], "\r\n")
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

// recordEnd returns the length of the first record of a text. A quoted cell may span up to twenty
// lines; beyond that, the quotation mark is part of a text.
func recordEnd(text string) int {
	first, lines, quoted := -1, 0, false
	for i := range len(text) {
		switch text[i] {
		case '"':
			quoted = !quoted
		case '\r', '\n':
			if first < 0 {
				first = i
			}
			if !quoted {
				return i
			}
			if lines++; lines > 20 {
				return first
			}
		}
	}
	if quoted && first >= 0 {
		return first
	}
	return len(text)
}

// outside returns the number of separators sep in s that are not within quotes.
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
