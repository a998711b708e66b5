package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// record is one entry of a GenBank file, reduced to the data used here.
type record struct {
	name     string
	line     int // line number of LOCUS
	circular bool
	sequence string // bases in upper case
	features []feature
}

// feature is one entry of a feature table.
type feature struct {
	key, location string
	line          int
	qualifiers    []qualifier
}

// qualifier is a qualifier /name=value. Continuation lines are joined by spaces, or directly in
// a translation.
type qualifier struct {
	name, value string
	line        int
}

// get returns the value and the line of the first qualifier with the given name. The line is 0
// if there is none.
func (f *feature) get(name string) (string, int) {
	for _, q := range f.qualifiers {
		if q.name == name {
			return q.value, q.line
		}
	}
	return "", 0
}

// allBases lists the IUPAC letters allowed in a sequence.
const allBases = "ACGTURYSWKMBDHVN"

// scanGenBank reads the records of a GenBank flat file.
func scanGenBank(r io.Reader) ([]record, error) {
	g := &flatFile{}
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20) // of one line
	for s.Scan() {
		g.line++
		if err := g.read(strings.TrimRight(s.Text(), " \r")); err != nil {
			return nil, fmt.Errorf("line %d: %w", g.line, err)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", g.line+1, err)
	}
	if g.part != between {
		return nil, fmt.Errorf("line %d: the file ends within the record %s of line %d, want // at its end", g.line, g.now.name, g.now.line)
	}
	if len(g.records) == 0 {
		return nil, fmt.Errorf("line %d: no record, want LOCUS", g.line+1)
	}
	return g.records, nil
}

// The sections of a record to which a line can belong.
const (
	between = iota // section between two records
	header         // section with the header of a record
	table          // section with the feature table
	origin         // section with the bases, which ORIGIN begins
)

// flatFile reads a GenBank file line by line.
type flatFile struct {
	records []record
	now     record
	line    int
	part    int
	length  int // length given by LOCUS; −1 if it is not given
	open    int // line on which the current quoted value began; 0 outside quotes
	bases   strings.Builder
}

// indent is the column at which locations and qualifiers begin.
const indent = 21

func (g *flatFile) read(text string) error {
	word, _, _ := strings.Cut(text, " ")
	switch {
	case text == "" && g.open == 0:
		return nil
	case g.part == between && word != "LOCUS":
		return fmt.Errorf("%.40q, want LOCUS, the first line of a record", text)
	case g.open > 0 && (text == "" || text[0] != ' '):
		return fmt.Errorf("%.40q within the value that line %d begins, want its closing quote", text, g.open)
	case word == "LOCUS":
		return g.locus(text)
	case word == "FEATURES":
		g.part = table
	case word == "ORIGIN":
		g.part = origin
	case text == "//":
		return g.finish()
	case text[0] != ' ':
		if text[0] < 'A' || text[0] > 'Z' {
			return fmt.Errorf("%.40q, want a keyword in the first column, or blanks", text)
		}
		if g.part == origin {
			return fmt.Errorf("%.40q within ORIGIN, want bases or //", text)
		}
		g.part = header // such as COMMENT or CONTIG, wherever it stands
	case g.part == table:
		return g.feature(text)
	case g.part == origin:
		return g.sequence(text)
	}
	return nil
}

// locus reads a line such as
//
//	LOCUS       SCU49845     5028 bp    DNA     linear   PLN 29-OCT-2018
func (g *flatFile) locus(text string) error {
	if g.part != between {
		return fmt.Errorf("LOCUS within the record of line %d, want // at its end", g.now.line)
	}
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return fmt.Errorf("LOCUS without a name")
	}
	g.now, g.part, g.length = record{name: fields[1], line: g.line}, header, -1
	g.bases.Reset()
	for i, f := range fields[2:] {
		if f == "aa" {
			return fmt.Errorf("%s is a protein (aa), want a record of bases (bp)", fields[1])
		}
		if f == "bp" {
			n, err := strconv.Atoi(fields[i+1])
			if err != nil || n < 0 {
				return fmt.Errorf("LOCUS: length %q, want a number of bp", fields[i+1])
			}
			g.length = n
		}
		g.now.circular = g.now.circular || f == "circular"
	}
	return nil
}

// feature reads a line of the feature table.
func (g *flatFile) feature(text string) error {
	body := strings.TrimLeft(text, " ")
	if strings.Contains(text, "\t") {
		return fmt.Errorf("a tab in the feature table, want blanks")
	}
	if len(text)-len(body) < indent {
		if g.open > 0 {
			return fmt.Errorf("%.40q within the value that line %d begins, want its closing quote", body, g.open)
		}
		fields := strings.Fields(body)
		if len(fields) < 2 {
			return fmt.Errorf("%.40q, want a feature and its location", body)
		}
		g.now.features = append(g.now.features, feature{key: fields[0], location: strings.Join(fields[1:], ""), line: g.line})
		return nil
	}
	if len(g.now.features) == 0 {
		return fmt.Errorf("%.40q before the first feature", body)
	}
	f := &g.now.features[len(g.now.features)-1]
	if g.open > 0 {
		q := &f.qualifiers[len(f.qualifiers)-1]
		if q.name != "translation" {
			q.value += " "
		}
		return g.quoted(q, body)
	}
	if body[0] != '/' {
		if len(f.qualifiers) > 0 {
			return fmt.Errorf("%.40q, want a qualifier that begins with /", body)
		}
		f.location += strings.ReplaceAll(body, " ", "")
		return nil
	}
	name, value, _ := strings.Cut(body[1:], "=")
	if name == "" || strings.ContainsAny(name, " \"") {
		return fmt.Errorf("%.40q, want a qualifier such as /gene=\"lacZ\"", body)
	}
	f.qualifiers = append(f.qualifiers, qualifier{name: name, line: g.line})
	q := &f.qualifiers[len(f.qualifiers)-1]
	if !strings.HasPrefix(value, `"`) {
		q.value = value
		return nil
	}
	g.open = g.line
	return g.quoted(q, value[1:])
}

// quoted adds a line to a quoted value, in which "" denotes a quotation mark.
func (g *flatFile) quoted(q *qualifier, text string) error {
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			q.value += text[i : i+1]
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			q.value += `"`
			i++
			continue
		}
		g.open = 0
		if rest := text[i+1:]; rest != "" {
			return fmt.Errorf("%.40q after the closing quote of /%s", rest, q.name)
		}
		return nil
	}
	return nil
}

// sequence reads a line of ORIGIN: the number of its first base and the bases.
func (g *flatFile) sequence(text string) error {
	fields := strings.Fields(text)
	if at, err := strconv.Atoi(fields[0]); err != nil || at != g.bases.Len()+1 {
		return fmt.Errorf("%.20q before the bases, want their number %d", fields[0], g.bases.Len()+1)
	}
	for _, f := range fields[1:] {
		f = strings.ToUpper(f)
		if at := strings.IndexFunc(f, func(c rune) bool { return !strings.ContainsRune(allBases, c) }); at >= 0 {
			return fmt.Errorf("%.20q is no base, want letters of %s", f[at:at+1], allBases)
		}
		g.bases.WriteString(strings.ReplaceAll(f, "U", "T"))
	}
	return nil
}

func (g *flatFile) finish() error {
	g.now.sequence = g.bases.String()
	if n := len(g.now.sequence); g.length >= 0 && n > 0 && n != g.length {
		return fmt.Errorf("%d bases in the record %s, but LOCUS in line %d says %d", n, g.now.name, g.now.line, g.length)
	}
	g.records = append(g.records, g.now)
	g.part = between
	return nil
}
