package read

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// CSVConfig holds the settings of [CSV]. The zero value reads a QUBO from values separated by
// commas.
type CSVConfig struct {
	Spins bool // whether the variables are spins ±1 instead of bits
	Comma rune // separator between values; 0 means a comma
}

// CSV reads a quadratic energy from a square matrix of coefficients w_ij. It returns the model and
// the names of its sites; the names are nil if the file has none. The energy is
//
//	E(x) = Σ_{i≠j} w_ij x_i x_j + Σ_i w_ii x_i,  x_i ∈ {0, 1} or {−1, 1}.
//
// The sum is over all entries, as with [COO], so a symmetric matrix counts each pair twice.
//
// Names may be in the first line, in the first column, or in both if they agree. A name must not be
// empty or a number. A name that contains a comma must be quoted.
//
// Errors name the line, the column and what was expected. A missing value is an error.
func CSV(r io.Reader, c CSVConfig) (m *model.Quadratic, names []string, err error) {
	q, err := readCSV(r, c)
	if err != nil {
		return nil, nil, err
	}
	m, err = q.model()
	return m, q.names, err
}

func readCSV(r io.Reader, c CSVConfig) (*quadratic, error) {
	if err := check.Given("read: CSV", "r", r); err != nil {
		return nil, err
	}
	in := csv.NewReader(unmarked("CSV", r))
	in.FieldsPerRecord, in.TrimLeadingSpace = -1, true
	if c.Comma != 0 {
		in.Comma = c.Comma
	}
	t := table{}
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if bad := (*csv.ParseError)(nil); errors.As(err, &bad) {
			return nil, fmt.Errorf("read: CSV: line %d: column %d: %w", bad.Line, bad.Column, bad.Err)
		} else if err != nil {
			return nil, fmt.Errorf("read: CSV: %w", err)
		}
		for k := range row {
			row[k] = strings.TrimSpace(row[k])
			line, column := in.FieldPos(k)
			t.place = append(t.place, [2]int{line, column})
		}
		t.start = append(t.start, len(t.place)-len(row))
		t.rows = append(t.rows, row)
	}
	if len(t.rows) == 0 {
		return nil, fmt.Errorf("read: CSV: no lines, want a square matrix")
	}
	names, top, left, err := t.names()
	if err != nil {
		return nil, err
	}
	n := len(t.rows) - top
	p, q := model.Polynomial{Linear: make([]float64, n)}, []model.Edge(nil)
	if c.Spins {
		p.Values = []float32{-1, 1}
	}
	for i := range n {
		row := t.rows[i+top]
		if len(row)-left != n {
			return nil, t.errorf(i+top, len(row)-1, "%d values, want %d, the number of rows", len(row)-left, n)
		}
		for j := range n {
			w, err := strconv.ParseFloat(row[j+left], 64)
			if err != nil || !check.Finite(w) {
				return nil, t.errorf(i+top, j+left, "w = %s, want a finite number", brief(row[j+left]))
			}
			switch {
			case i == j:
				p.Linear[i] = w
			case w != 0:
				q = append(q, model.Edge{I: i, J: j, W: w})
			}
		}
	}
	return &quadratic{q, p, names}, nil
}

// table holds the cells of a file and their positions.
type table struct {
	rows  [][]string
	start []int    // for each row, the index of its first cell in place
	place [][2]int // line and column of each cell
}

func (t *table) errorf(row, cell int, format string, args ...any) error {
	at := t.place[t.start[row]+cell]
	return fmt.Errorf("read: CSV: line %d: column %d: %s", at[0], at[1], fmt.Sprintf(format, args...))
}

// names finds the names of the sites. top and left are the numbers of rows and columns that hold
// names.
func (t *table) names() (names []string, top, left int, err error) {
	word := func(s string) bool {
		_, err := strconv.ParseFloat(s, 64)
		return err != nil && s != ""
	}
	first, last := t.rows[0], t.rows[len(t.rows)-1]
	if len(t.rows) > 1 && (len(first) > 1 || word(first[0])) && !slices.ContainsFunc(first[1:], func(s string) bool { return !word(s) }) {
		top = 1
	}
	if len(last) > 1 && word(last[0]) {
		left = 1
	}
	if top == 1 {
		names = first
		// The first row also has a cell above the names of the rows.
		if left == 1 && len(first) == len(last) {
			names = first[1:]
		}
		if len(names) != len(t.rows)-1 {
			return nil, 0, 0, t.errorf(0, 0, "%d names over %d rows, want a square matrix", len(names), len(t.rows)-1)
		}
	}
	if left == 1 {
		for i := top; i < len(t.rows); i++ {
			if name := t.rows[i][0]; top == 0 {
				names = append(names, name)
			} else if name != names[i-1] {
				return nil, 0, 0, t.errorf(i, 0, "the name %s, want %s, as in the first line", brief(name), brief(names[i-1]))
			}
		}
	}
	at := map[string]int{}
	for i, name := range names {
		if k, twice := at[name]; twice || name == "" {
			return nil, 0, 0, t.errorf(0, 0, "sites %d and %d are called %s, want names that differ", k, i, brief(name))
		}
		at[name] = i
	}
	return names, top, left, nil
}
