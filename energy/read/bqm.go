package read

import (
	"io"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/document"
)

// BQM reads a binary quadratic model of D-Wave's dimod, written as JSON by its
// to_serializable (schema 3), and returns the labels of its variables beside the
// model, site by site; numbers as they are written, tuples in brackets:
//
//	E(v) = offset + Σ_i linear_i v_i + Σ_k quadratic_k v_head(k) v_tail(k),
//
// v ∈ {0, 1} for the variable type BINARY, v ∈ {−1, 1} for SPIN. Biases of the
// same pair add up. Arrays as bytes (use_bytes), which stand in BSON files only,
// are an error, as are models of other types.
//
// Errors name the line, the column, the field, its value and what would be right.
func BQM(r io.Reader) (m *model.Quadratic, labels []string, err error) {
	f := newFields("BQM", r)
	if t := f.text("type"); t != "BinaryQuadraticModel" {
		f.fail(f.root.Get("type"), "type = %q, want BinaryQuadraticModel", t)
	}
	schema := f.child(f.child(f.root, "version", document.Object), "bqm_schema", document.String)
	if schema != nil && !strings.HasPrefix(schema.Text, "3.") {
		f.fail(schema, "bqm_schema = %s, want 3.0.0", schema.Brief())
	}
	if v := f.root.Get("use_bytes"); v.Is(document.Bool) && v.Text == "true" {
		f.fail(v, "use_bytes = true, want false: arrays of numbers")
	}
	labels, _ = f.names("variable_labels")
	p := f.polynomial("variable_type", "SPIN", "BINARY", len(labels))
	p.Constant = f.real(f.child(f.root, "offset", document.Number), "offset")
	linear, head, tail, bias := f.list("linear_biases"), f.list("quadratic_head"), f.list("quadratic_tail"), f.list("quadratic_biases")
	if len(linear) != len(labels) {
		f.fail(f.root.Get("linear_biases"), "%d linear_biases, want %d, one for each of variable_labels", len(linear), len(labels))
	}
	if len(head) != len(bias) || len(tail) != len(bias) {
		f.fail(f.root.Get("quadratic_biases"), "%d quadratic_head, %d quadratic_tail and %d quadratic_biases, want equal numbers", len(head), len(tail), len(bias))
	}
	f.counts("num_variables", len(labels))
	f.counts("num_interactions", len(bias))
	if f.err != nil {
		return nil, nil, f.result()
	}
	for i, v := range linear {
		p.Linear[i] = f.real(v, "a linear bias")
	}
	q := make([]model.Edge, len(bias))
	for k, v := range bias {
		e := model.Edge{I: f.integer(head[k], "quadratic_head", 0, len(labels)-1), J: f.integer(tail[k], "quadratic_tail", 0, len(labels)-1), W: f.real(v, "a quadratic bias")}
		if e.I == e.J {
			f.fail(tail[k], "quadratic_head = quadratic_tail = %d, want different variables", e.I)
		}
		q[k] = e
	}
	if f.err != nil {
		return nil, nil, f.result()
	}
	m, err = model.NewQuadratic(len(labels), q, p)
	return m, labels, err
}

// counts holds a field, if it is there, against a number that is known.
func (f *fields) counts(name string, want int) {
	if v := f.root.Get(name); v != nil {
		if n, ok := v.Int(); !ok || n != want {
			f.fail(v, "%s = %s, want %d", name, v.Brief(), want)
		}
	}
}
