package read

import (
	"io"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/document"
)

// BQPJSON reads a binary quadratic program in the format bqpjson of Los Alamos
// (Coffrin, Nagarajan and Bent 2016) and returns the numbers of its variables
// beside the model, site by site in the order of variable_ids:
//
//	E(v) = scale·(offset + Σ linear_i v_i + Σ quadratic_ij v_i v_j),
//
// v ∈ {0, 1} for the domain "boolean", v ∈ {−1, 1} for "spin". Coefficients of the
// same variable or pair add up. Solutions and metadata are passed over.
//
// Errors name the line, the column, the field, its value and what would be right.
func BQPJSON(r io.Reader) (m *model.Quadratic, labels []string, err error) {
	f := newFields("BQPJSON", r)
	labels, index := f.names("variable_ids")
	p := f.polynomial("variable_domain", "spin", "boolean", len(labels))
	scale := f.real(f.child(f.root, "scale", document.Number), "scale")
	p.Constant = scale * f.real(f.child(f.root, "offset", document.Number), "offset")
	linear, quadratic := f.list("linear_terms"), f.list("quadratic_terms")
	if f.err != nil {
		return nil, nil, f.result()
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
	q := make([]model.Edge, 0, len(quadratic))
	for _, term := range quadratic {
		e := model.Edge{I: variable(term, "id_head"), J: variable(term, "id_tail"), W: coeff(term)}
		if e.I == e.J {
			f.fail(term, "id_head = id_tail = %s, want different variables", labels[e.I])
		}
		q = append(q, e)
	}
	if f.err != nil {
		return nil, nil, f.result()
	}
	m, err = model.NewQuadratic(len(labels), q, p)
	return m, labels, err
}
