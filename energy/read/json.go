package read

import (
	"fmt"
	"io"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/document"
)

// fields reads the fields of one JSON object. The first error stays, so that a
// reader asks once, at its end.
type fields struct {
	caller string
	root   *document.Value
	err    error
}

func newFields(caller string, r io.Reader) *fields {
	root, err := document.Parse(r)
	if err == nil && !root.Is(document.Object) {
		err = root.Errorf("%s, want an object", root.Brief())
	}
	return &fields{caller: caller, root: root, err: err}
}

// fail keeps an error about v; without v it is about the whole.
func (f *fields) fail(v *document.Value, format string, args ...any) {
	if f.err != nil {
		return
	}
	if v == nil {
		v = f.root
	}
	f.err = v.Errorf(format, args...)
}

// result returns what is wrong, if anything.
func (f *fields) result() error {
	if f.err == nil {
		return nil
	}
	return fmt.Errorf("read: %s: %w", f.caller, f.err)
}

// child returns the field of v, which must be of the kind.
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

// list returns the values of the array called name.
func (f *fields) list(name string) []*document.Value {
	if v := f.child(f.root, name, document.Array); v != nil {
		return v.List
	}
	return nil
}

// text returns the string called name.
func (f *fields) text(name string) string {
	if v := f.child(f.root, name, document.String); v != nil {
		return v.Text
	}
	return ""
}

// real returns v, a finite number called name.
func (f *fields) real(v *document.Value, name string) float64 {
	w, ok := v.Float()
	if !ok {
		f.fail(v, "%s = %s, want a finite number", name, v.Brief())
	}
	return w
}

// integer returns v, called name, which must be in lo … hi.
func (f *fields) integer(v *document.Value, name string, lo, hi int) int {
	n, ok := v.Int()
	if !ok || n < lo || n > hi {
		f.fail(v, "%s = %s, want an integer in %d … %d", name, v.Brief(), lo, hi)
		return lo
	}
	return n
}

// names returns the labels of the array called name, which must differ.
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

// label shows a variable's label: texts and numbers as they are, tuples in
// brackets.
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

// polynomial returns one of spins or bits, by which of the two words kind is.
func (f *fields) polynomial(name, spins, bits string, n int) model.Polynomial {
	p := model.Polynomial{Linear: make([]float64, n)}
	switch kind := f.text(name); kind {
	case spins:
		p.Values = []float32{-1, 1}
	case bits:
	default:
		f.fail(f.root.Get(name), "%s = %q, want %s or %s", name, kind, spins, bits)
	}
	return p
}
