package read

import (
	"fmt"
	"io"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/document"
)

// fields reads the fields of one JSON object. The first error is kept, so that a reader has to
// check for errors only once, at its end.
type fields struct {
	caller string
	root   *document.Value
	err    error
}

func newFields(caller string, r io.Reader) *fields {
	root, err := document.Parse(unmarked(caller, r))
	if err == nil && !root.Is(document.Object) {
		err = root.Errorf("%s, want an object", root.Brief())
	}
	return &fields{caller: caller, root: root, err: err}
}

// fail stores an error about the value v, or about the whole object if v is nil, unless an error is
// stored already.
func (f *fields) fail(v *document.Value, format string, args ...any) {
	if f.err != nil {
		return
	}
	if v == nil {
		v = f.root
	}
	f.err = v.Errorf(format, args...)
}

// result returns the stored error, or nil if there is none.
func (f *fields) result() error {
	if f.err == nil {
		return nil
	}
	return fmt.Errorf("read: %s: %w", f.caller, f.err)
}

// child returns the field of v with the given name. It fails if there is none or the field is not
// of the given kind.
func (f *fields) child(v *document.Value, name string, kind document.Kind) *document.Value {
	if f.err != nil {
		return nil
	}
	c := v.Get(name)
	if !c.Is(kind) {
		if c != nil {
			v = c
		}
		f.fail(v, "%s = %s, want %s", name, c.Brief(), kind)
		return nil
	}
	return c
}

// list returns the elements of the array field with the given name.
func (f *fields) list(name string) []*document.Value {
	if v := f.child(f.root, name, document.Array); v != nil {
		return v.List
	}
	return nil
}

// text returns the value of the string field with the given name.
func (f *fields) text(name string) string {
	if v := f.child(f.root, name, document.String); v != nil {
		return v.Text
	}
	return ""
}

// real returns the number v, which must be finite. name is used in the error message.
func (f *fields) real(v *document.Value, name string) float64 {
	w, ok := v.Float()
	if !ok {
		f.fail(v, "%s = %s, want a finite number", name, v.Brief())
	}
	return w
}

// integer returns the number v, which must be an integer in lo … hi. name is used in the error
// message.
func (f *fields) integer(v *document.Value, name string, lo, hi int) int {
	n, ok := v.Int()
	if !ok || n < lo || n > hi {
		f.fail(v, "%s = %s, want an integer in %d … %d", name, v.Brief(), lo, hi)
		return lo
	}
	return n
}

// names returns the labels in the array field with the given name and maps each label to its index.
// The labels must differ.
func (f *fields) names(name string) (labels []string, index map[string]int) {
	list := f.list(name)
	labels, index = make([]string, len(list)), map[string]int{}
	for i, v := range list {
		labels[i] = label(v)
		if k, twice := index[labels[i]]; twice {
			f.fail(v, "%s[%d] = %s, which is %s[%d], too", name, i, v.Brief(), name, k)
			break
		}
		index[labels[i]] = i
	}
	if len(list) == 0 {
		f.fail(f.root.Get(name), "%s is empty, want ≥ 1 variable", name)
	}
	return labels, index
}

// label returns a variable's label as text: strings and numbers as they are, tuples in brackets.
func label(v *document.Value) string {
	if !v.Is(document.Array) {
		if v.Is(document.String) || v.Is(document.Number) {
			return v.Text
		}
		return v.Brief()
	}
	parts := make([]string, len(v.List))
	for k, e := range v.List {
		parts[k] = label(e)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// polynomial returns an empty polynomial of n variables. The variables are spins or bits, depending
// on which of the words spins and bits the string field with the given name holds.
func (f *fields) polynomial(name, spins, bits string, n int) model.Polynomial {
	p := model.Polynomial{Linear: make([]float64, n)}
	switch kind := f.text(name); kind {
	case spins:
		p.Values = []float32{-1, 1}
	case bits:
	default:
		f.fail(f.root.Get(name), "%s = %s, want %s or %s", name, check.Quote(kind), spins, bits)
	}
	return p
}

// labelled calls read and returns its result as a model with labels.
func (f *fields) labelled(read func(*fields) (*quadratic, error)) (m *model.Quadratic, labels []string, err error) {
	q, err := read(f)
	if err != nil {
		return nil, nil, err
	}
	m, err = q.model()
	return m, q.names, err
}

// BQM reads a binary quadratic model of D-Wave's dimod, in the JSON form that dimod's
// to_serializable writes (schema 3). It returns the model and the labels of its variables. Label i
// belongs to site i. The energy is
//
//	E(v) = offset + Σ_i linear_i v_i + Σ_k quadratic_k v_head(k) v_tail(k),
//
// where v_i ∈ {0, 1} for the variable type BINARY and v_i ∈ {−1, 1} for SPIN. Biases of the same
// pair are added. BQM returns an error for arrays stored as bytes (use_bytes), which only BSON
// files have, and for models of other types.
//
// Errors name the line, the column, the field and what was expected.
func BQM(r io.Reader) (m *model.Quadratic, labels []string, err error) {
	return newFields("BQM", r).labelled((*fields).bqmDocument)
}

func (f *fields) bqmDocument() (*quadratic, error) {
	if t := f.text("type"); t != "BinaryQuadraticModel" {
		f.fail(f.root.Get("type"), "type = %s, want BinaryQuadraticModel", check.Quote(t))
	}
	schema := f.child(f.child(f.root, "version", document.Object), "bqm_schema", document.String)
	if schema != nil && !strings.HasPrefix(schema.Text, "3.") {
		f.fail(schema, "bqm_schema = %s, want 3.0.0", schema.Brief())
	}
	if v := f.root.Get("use_bytes"); v.Is(document.Bool) && v.Text == "true" {
		f.fail(v, "use_bytes = true, want false: arrays of numbers")
	}
	labels, _ := f.names("variable_labels")
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
		return nil, f.result()
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
		return nil, f.result()
	}
	return &quadratic{q, p, labels}, nil
}

// counts fails if the field with the given name is present and differs from want.
func (f *fields) counts(name string, want int) {
	if v := f.root.Get(name); v != nil {
		if n, ok := v.Int(); !ok || n != want {
			f.fail(v, "%s = %s, want %d", name, v.Brief(), want)
		}
	}
}

// BQPJSON reads a binary quadratic program in the format bqpjson of Los Alamos National Laboratory
// (Coffrin, Nagarajan and Bent 2016). It returns the model and the labels of its variables, which
// are the entries of variable_ids. Label i belongs to site i. The energy is
//
//	E(v) = scale·(offset + Σ linear_i v_i + Σ quadratic_ij v_i v_j),
//
// where v_i ∈ {0, 1} for the domain "boolean" and v_i ∈ {−1, 1} for "spin". Coefficients of the
// same variable or pair are added.
//
// Errors name the line, the column, the field and what was expected.
func BQPJSON(r io.Reader) (m *model.Quadratic, labels []string, err error) {
	return newFields("BQPJSON", r).labelled((*fields).bqpDocument)
}

func (f *fields) bqpDocument() (*quadratic, error) {
	labels, index := f.names("variable_ids")
	p := f.polynomial("variable_domain", "spin", "boolean", len(labels))
	scale := f.real(f.child(f.root, "scale", document.Number), "scale")
	p.Constant = scale * f.real(f.child(f.root, "offset", document.Number), "offset")
	linear, pairs := f.list("linear_terms"), f.list("quadratic_terms")
	if f.err != nil {
		return nil, f.result()
	}
	variable := func(term *document.Value, name string) int {
		v := f.child(term, name, document.Number)
		if v == nil {
			return 0
		}
		i, ok := index[v.Text]
		if !ok {
			f.fail(v, "%s = %s, want one of variable_ids", name, v.Brief())
		}
		return i
	}
	coeff := func(term *document.Value) float64 {
		return float64(scale * f.real(f.child(term, "coeff", document.Number), "coeff"))
	}
	for _, term := range linear {
		i, w := variable(term, "id"), coeff(term)
		p.Linear[i] += w
	}
	q := make([]model.Edge, 0, len(pairs))
	for _, term := range pairs {
		e := model.Edge{I: variable(term, "id_head"), J: variable(term, "id_tail"), W: coeff(term)}
		if e.I == e.J {
			f.fail(term, "id_head = id_tail = %s, want different variables", brief(labels[e.I]))
		}
		q = append(q, e)
	}
	if f.err != nil {
		return nil, f.result()
	}
	return &quadratic{q, p, labels}, nil
}
