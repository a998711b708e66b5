package problem

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// SampleSet is the result of [Problem.Minimise] or [Problem.Sample]: one row per state, lowest
// energy first.
type SampleSet struct {
	Rows []Row

	// Exact is true if the answer is certain: the rows of Minimise have the lowest energies, or the
	// rows of Sample are independent draws.
	Exact  bool
	Method string // method that found the rows: elimination, search, annealing, chains, …

	// Summary holds convergence diagnostics of the energies if the draws come from Markov chains;
	// otherwise it is nil. Warnings lists reasons not to trust these draws.
	Summary  *diagnose.Summary
	Warnings []string

	p *Problem
}

// Row is one state of a [SampleSet].
type Row struct {
	// Level of each variable, in the order of [Problem.Names]. [Problem.Model] explains the
	// levels.
	Levels      []int32
	Energy      float64  // energy E of the state, without the term of Config.Penalty
	Occurrences int      // number of draws that gave this state
	Violated    []string // names of the violated conditions; required conditions come first

	p        *Problem
	feasible bool
}

func (p *Problem) set() *SampleSet { return &SampleSet{p: p} }

// add appends a row with a copy of the state x.
func (s *SampleSet) add(x []int32, occurrences int) {
	s.Rows = append(s.Rows, Row{
		Levels: slices.Clone(x), Energy: s.p.energy(x), Occurrences: occurrences,
		Violated: s.p.violated(x), p: s.p, feasible: s.p.feasible(x),
	})
}

// broken returns 0 for a feasible row and 1 for an infeasible one. It is a sort key.
func (s *SampleSet) broken(r Row) int {
	if r.feasible {
		return 0
	}
	return 1
}

// Feasible reports whether the state satisfies all required conditions.
func (r Row) Feasible() bool { return r.feasible }

// Number returns the value of the variable with the given name. For a category, the value is the
// index of its label. The result ok is false if there is no such variable.
func (r Row) Number(name string) (v float64, ok bool) {
	i, ok := r.index(name)
	if !ok {
		return 0, false
	}
	return r.p.vars[i].values[r.Levels[i]], true
}

// Label returns the label of the category with the given name. For a variable that is not a
// category, it returns the value as text. The result ok is false if there is no such variable.
func (r Row) Label(name string) (label string, ok bool) {
	i, ok := r.index(name)
	if !ok {
		return "", false
	}
	return r.label(i), true
}

func (r Row) index(name string) (i int, ok bool) {
	if r.p == nil {
		return 0, false
	}
	i, ok = r.p.named[name]
	return i, ok
}

func (r Row) label(i int) string {
	v := &r.p.vars[i]
	if v.labels != nil {
		return v.labels[r.Levels[i]]
	}
	return strconv.FormatFloat(v.values[r.Levels[i]], 'g', -1, 64)
}

// String returns the row in the form "x=1 colour=red: energy −2".
func (r Row) String() string {
	var b strings.Builder
	if r.p != nil {
		for i := range r.p.vars {
			fmt.Fprintf(&b, "%s=%s ", r.p.vars[i].name, r.label(i))
		}
	}
	fmt.Fprintf(&b, "energy=%v", r.Energy)
	if r.Occurrences > 1 {
		fmt.Fprintf(&b, " ×%d", r.Occurrences)
	}
	if len(r.Violated) > 0 {
		fmt.Fprintf(&b, " violates %s", strings.Join(r.Violated, ", "))
	}
	return b.String()
}

// Values returns the value of the expression e in the state of each row, in the order of the rows.
func (s *SampleSet) Values(e Expr) ([]float64, error) {
	if e.err != nil {
		return nil, fmt.Errorf("problem: Values: %w", e.err)
	}
	if e.p != nil && e.p != s.p {
		return nil, fmt.Errorf("problem: Values: a variable belongs to another problem")
	}
	v := make([]float64, len(s.Rows))
	for i, r := range s.Rows {
		v[i] = sum(e.terms, r.Levels)
	}
	return v, nil
}

// Filter returns a new set with the rows for which keep returns true.
func (s *SampleSet) Filter(keep func(Row) bool) *SampleSet {
	t := *s
	t.Rows = nil
	for _, r := range s.Rows {
		if keep(r) {
			t.Rows = append(t.Rows, r)
		}
	}
	return &t
}

// Sort sorts the rows in the order that compare defines, as slices.SortStableFunc does.
func (s *SampleSet) Sort(compare func(a, b Row) int) { slices.SortStableFunc(s.Rows, compare) }

func (s *SampleSet) sort() {
	s.Sort(func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Energy, b.Energy), slices.Compare(a.Levels, b.Levels))
	})
}

// aggregate sorts the rows and merges equal ones by adding their Occurrences.
func (s *SampleSet) aggregate() {
	s.sort()
	out := s.Rows[:0]
	for _, r := range s.Rows {
		if n := len(out); n > 0 && slices.Equal(out[n-1].Levels, r.Levels) {
			out[n-1].Occurrences += r.Occurrences
			continue
		}
		out = append(out, r)
	}
	s.Rows = out
}

// Append adds the rows of t to s. Rows with equal states become one row. The result is Exact only
// if both sets are Exact. Append returns an error if s and t are about different problems.
func (s *SampleSet) Append(t *SampleSet) error {
	if t.p != s.p {
		return fmt.Errorf("problem: Append: the sets are about different problems")
	}
	s.Rows = append(slices.Clone(s.Rows), t.Rows...)
	s.Exact = s.Exact && t.Exact
	s.Warnings = append(slices.Clone(s.Warnings), t.Warnings...)
	s.aggregate()
	return nil
}

// WriteCSV writes a header and one line per row. There is one column per variable, followed by the
// columns energy, occurrences and violated. The column violated holds the names of the violated
// conditions, separated by semicolons.
func (s *SampleSet) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(append(s.p.Names(), "energy", "occurrences", "violated")); err != nil {
		return err
	}
	for _, r := range s.Rows {
		var line []string
		for i := range s.p.vars {
			line = append(line, r.label(i))
		}
		line = append(line, strconv.FormatFloat(r.Energy, 'g', -1, 64), strconv.Itoa(r.Occurrences), strings.Join(r.Violated, ";"))
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// MarshalJSON implements json.Marshaler. It returns an object of the form
//
//	{"exact", "method", "rows": [row, …], "warnings"}
//
// with rows of the form
//
//	{"values": {name: number or label, …}, "energy", "occurrences", "feasible", "violated"}.
func (s *SampleSet) MarshalJSON() ([]byte, error) {
	type row struct {
		Values      json.RawMessage `json:"values"`
		Energy      float64         `json:"energy"`
		Occurrences int             `json:"occurrences"`
		Feasible    bool            `json:"feasible"`
		Violated    []string        `json:"violated"`
	}
	out := struct {
		Exact    bool     `json:"exact"`
		Method   string   `json:"method"`
		Rows     []row    `json:"rows"`
		Warnings []string `json:"warnings,omitempty"`
	}{s.Exact, s.Method, []row{}, s.Warnings}
	for _, r := range s.Rows {
		var b bytes.Buffer // in the order of the variables
		for i := range s.p.vars {
			name, err := json.Marshal(s.p.vars[i].name)
			if err != nil {
				return nil, err
			}
			var value any = s.p.vars[i].values[r.Levels[i]]
			if s.p.vars[i].labels != nil {
				value = r.label(i)
			}
			text, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%c%s:%s", "{,"[min(i, 1)], name, text)
		}
		b.WriteByte('}')
		out.Rows = append(out.Rows, row{b.Bytes(), r.Energy, r.Occurrences, r.feasible, append([]string{}, r.Violated...)})
	}
	return json.Marshal(out)
}

// WriteDimod writes the set as JSON in the format of D-Wave's dimod (SampleSet.to_serializable,
// schema 3.1.0). It includes a vector is_feasible. The variable type is BINARY or SPIN if all
// variables are of that kind, and INTEGER otherwise. A category is written as the index of its
// label.
func (s *SampleSet) WriteDimod(w io.Writer) error {
	names := [...]string{binary: "BINARY", spin: "SPIN", integer: "INTEGER", category: "INTEGER"}
	kind := names[s.p.vars[0].kind]
	for _, v := range s.p.vars {
		if names[v.kind] != kind {
			kind = "INTEGER"
		}
	}
	type array struct {
		Type  string `json:"type"`
		Data  any    `json:"data"`
		Of    string `json:"data_type"`
		Shape []int  `json:"shape"`
		Bytes bool   `json:"use_bytes"`
	}
	n := len(s.Rows)
	x, energy, count, feasible := make([][]int64, n), make([]float64, n), make([]int, n), make([]bool, n)
	for k, r := range s.Rows {
		x[k] = make([]int64, len(r.Levels))
		for i, l := range r.Levels {
			x[k][i] = int64(s.p.vars[i].values[l])
		}
		energy[k], count[k], feasible[k] = r.Energy, r.Occurrences, r.feasible
	}
	set := map[string]any{
		"type": "SampleSet", "version": map[string]string{"sampleset_schema": "3.1.0"},
		"num_variables": len(s.p.vars), "num_rows": n,
		"sample_data": array{"array", x, "int64", []int{n, len(s.p.vars)}, false},
		"sample_type": "int64", "sample_packed": false,
		"vectors": map[string]array{
			"energy":          {"array", energy, "float64", []int{n}, false},
			"num_occurrences": {"array", count, "int64", []int{n}, false},
			"is_feasible":     {"array", feasible, "bool", []int{n}, false},
		},
		"variable_labels": s.p.Names(), "variable_type": kind, "info": map[string]any{},
	}
	return json.NewEncoder(w).Encode(set)
}
