package seriesdata

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Write writes the file from which the frame was read, with the missing values filled in. The slice
// values holds times × channels numbers for every entity; a NaN leaves that value missing. The rest
// of the file is unchanged. Numbers are formatted as in their column. Rows for absent times are
// inserted in order, unless all their values are NaN.
//
// Write returns an error if values does not have the shape of the frame, or if a number for a
// missing cell is infinite. It also returns errors of w.
func (f *Frame) Write(w io.Writer, values [][]float64) error {
	if len(values) != len(f.Entities) {
		return fmt.Errorf("seriesdata: Write: %d series of values, want %d, one for each entity", len(values), len(f.Entities))
	}
	channels := len(f.Channels)
	edits := map[place]string{}
	fresh := map[int][]string{} // lines to insert, by the table row before which they are inserted
	for e := range f.Entities {
		entity := &f.Entities[e]
		if len(values[e]) != len(entity.Values) {
			return fmt.Errorf("seriesdata: Write: %d values of entity %d, want %d", len(values[e]), e, len(entity.Values))
		}
		for i, v := range values[e] {
			if !math.IsNaN(entity.Values[i]) || math.IsNaN(v) || entity.at[i].line < 0 {
				continue
			}
			if math.IsInf(v, 0) {
				return fmt.Errorf("seriesdata: Write: value %d of entity %d is %v, want finite or NaN", i, e, v)
			}
			edits[entity.at[i]] = f.Channels[i%channels].style.spell(v)
		}
	}
	if err := f.insertions(values, fresh); err != nil {
		return err
	}
	d, t := f.doc, f.layout.table
	out := bufio.NewWriter(w)
	out.WriteString(d.mark)
	at := 0
	for k := range t.rows {
		l := &t.rows[k]
		out.WriteString(d.text[at:l.from])
		at = l.from
		for _, s := range fresh[k] {
			out.WriteString(s + d.between())
		}
		order := make([]int, len(l.cells))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return l.cells[i].from - l.cells[j].from })
		for _, i := range order {
			s, ok := edits[place{k, i}]
			if !ok {
				continue
			}
			c := l.cells[i]
			out.WriteString(d.text[at:c.from])
			out.WriteString(d.cell(s, c, f.nameOf(i)))
			at = c.to
		}
		out.WriteString(d.text[at:l.to])
		at = l.to
	}
	for _, s := range fresh[len(t.rows)] {
		out.WriteString(d.between() + s)
	}
	out.WriteString(d.text[at:])
	return out.Flush()
}

// nameOf returns the name of the JSON member for column i, or "" if the file is not made of JSON
// objects.
func (f *Frame) nameOf(i int) string {
	if f.doc.names != nil {
		return f.doc.names[i]
	}
	return ""
}

// between returns the text between two lines.
func (d *document) between() string {
	if d.comma == "" && d.array {
		return "," + d.newline
	}
	return d.newline
}

// cell returns the text that replaces the cell was by s, quoted if necessary. name is the name of
// the JSON member.
func (d *document) cell(s string, was cell, name string) string {
	if d.comma == "" {
		if was.quoted {
			b, _ := json.Marshal(s) // cannot fail for a string
			s = string(b)
		}
		if was.from == was.to { // the object does not have this member
			b, _ := json.Marshal(name)
			s = "," + string(b) + ":" + s
		}
		return s
	}
	if was.quoted || strings.Contains(s, d.comma) {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

// insertions creates the lines for times that are absent from the file and stores them in fresh, by
// the row before which they are inserted.
func (f *Frame) insertions(values [][]float64, fresh map[int][]string) error {
	t, a, channels := f.layout.table, f.layout.axis, len(f.Channels)
	// Created lines by previous row and time, if a line holds several entities.
	done := map[place]bool{}
	for e := range f.Entities {
		entity := &f.Entities[e]
		rows := f.layout.rows
		last := -1 // table row of the previous time
		for r := range entity.Times {
			if f.layout.across {
				continue
			}
			if k := rows[e][r]; k >= 0 {
				last = k
				if !f.layout.long {
					continue
				}
			}
			if f.layout.long {
				f.longer(fresh, values[e], e, r, last)
				continue
			}
			v := values[e][r*channels : (r+1)*channels]
			cells := map[int]string{}
			for c := range f.Channels {
				if !math.IsNaN(v[c]) {
					cells[f.columnOf(e, c)] = f.Channels[c].style.spell(v[c])
				}
			}
			next := r
			for rows[e][next] < 0 {
				next++
			}
			if f.shared() {
				if done[place{last, r}] {
					continue
				}
				done[place{last, r}] = true
				for other := range f.Entities {
					for c := range f.Channels {
						if v := values[other][r*channels+c]; !math.IsNaN(v) {
							cells[f.columnOf(other, c)] = f.Channels[c].style.spell(v)
						}
					}
				}
			}
			if len(cells) == 0 {
				continue
			}
			for i, s := range a.spell(last, entity.Times[r]) {
				cells[i] = s
			}
			f.put(fresh, t.newLine(last, cells, f), last, rows[e][next])
		}
	}
	return nil
}

// shared reports whether a line holds the values of several entities.
func (f *Frame) shared() bool {
	return len(f.layout.columns) > len(f.Channels)
}

// columnOf returns the column of channel c of entity e, or −1 if the file has none.
func (f *Frame) columnOf(e, c int) int {
	for r := range f.Entities[e].Times {
		if at := f.Entities[e].at[r*len(f.Channels)+c]; at.line >= 0 {
			return at.cell
		}
	}
	return -1
}

// longer creates lines of a file in long format: one for every value of time r of entity e that the
// file does not contain. last is the row of the previous time.
func (f *Frame) longer(fresh map[int][]string, v []float64, e, r, last int) {
	t, channels := f.layout.table, len(f.Channels)
	for c := range f.Channels {
		at := f.Entities[e].at[r*channels+c]
		if at.line >= 0 || math.IsNaN(v[r*channels+c]) {
			continue
		}
		cells := map[int]string{f.layout.value: f.Channels[c].style.spell(v[r*channels+c])}
		for k := range t.rows {
			if name, _ := unitOf(t.rows[k].at(f.layout.variable).text); name == f.Channels[c].Name {
				cells[f.layout.variable] = t.rows[k].at(f.layout.variable).text
				break
			}
		}
		for i, s := range f.layout.axis.spell(last, f.Entities[e].Times[r]) {
			cells[i] = s
		}
		f.put(fresh, t.newLine(last, cells, f), last, last+1)
	}
}

// put stores in fresh the line s. It is inserted after the row of the previous time or, if the file
// has the newest row first, after the row of the next time.
func (f *Frame) put(fresh map[int][]string, s string, before, after int) {
	switch {
	case f.layout.newest && f.layout.long:
		fresh[before] = append([]string{s}, fresh[before]...)
	case f.layout.newest:
		fresh[after+1] = append([]string{s}, fresh[after+1]...)
	default:
		fresh[before+1] = append(fresh[before+1], s)
	}
}

// newLine returns a new line in the format of row k, with the given cells and with the cells of row
// k that identify its series.
func (t *table) newLine(k int, cells map[int]string, f *Frame) string {
	like := &t.rows[k]
	if t.comma == "" {
		var parts []string
		for i := range t.columns {
			s, ok := cells[i]
			c := like.at(i)
			if !ok && t.keeps(i, f) {
				s, ok = c.text, true
			}
			if !ok {
				if t.names == nil {
					parts = append(parts, "null")
				}
				continue
			}
			if c.quoted {
				b, _ := json.Marshal(s)
				s = string(b)
			}
			if t.names != nil {
				b, _ := json.Marshal(t.names[i])
				s = string(b) + ":" + s
			}
			parts = append(parts, s)
		}
		if t.names == nil {
			return "[" + strings.Join(parts, ",") + "]"
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	parts := make([]string, len(like.cells))
	for i, c := range like.cells {
		s, ok := cells[i]
		switch {
		case !ok && t.keeps(i, f):
			parts[i] = t.text[c.from:c.to]
		case ok:
			parts[i] = t.cell(s, cell{quoted: c.quoted, to: 1}, "")
		case t.comma == " ":
			parts[i] = "NA"
		}
	}
	return strings.Join(parts, t.comma)
}

// keeps reports whether column i identifies the series of a row.
func (t *table) keeps(i int, f *Frame) bool {
	return slices.Contains(f.layout.by, i) || f.layout.long && i == f.layout.of
}
