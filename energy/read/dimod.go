package read

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/document"
)

// Binary files of dimod begin with one of these strings, two bytes of version, the length of a
// header and the header, which is JSON.
const (
	bqmMagic        = "DIMODBQM"
	cqmMagic        = "DIMODCQM"
	expressionMagic = "DIMODEXPR"
)

// maxFile is the largest size in bytes of a binary file and of the unpacked files in its archive.
const maxFile = 1 << 30

// dimod parses a binary file of dimod from the front. The first error is kept.
type dimod struct {
	caller string
	b      []byte
	at     int
	err    error
}

func newDimod(caller string, r io.Reader) *dimod {
	if r == nil {
		r = none{caller}
	}
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	d := &dimod{caller: caller, b: b}
	switch {
	case err != nil:
		d.err = fmt.Errorf("read: %s: %w", caller, err)
	case len(b) > maxFile:
		d.failf("more than %d bytes", maxFile)
	}
	return d
}

func (d *dimod) failf(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("read: %s: byte %d: %s", d.caller, d.at, fmt.Sprintf(format, args...))
	}
}

// take returns the next n bytes, or nil after an error.
func (d *dimod) take(n int, what string) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.b)-d.at {
		d.failf("%d bytes are left, want %d of %s", len(d.b)-d.at, n, what)
		return nil
	}
	d.at += n
	return d.b[d.at-n : d.at]
}

func (d *dimod) header(magic string, most byte) (version byte, f *fields) {
	if b := d.take(len(magic), "the magic string"); d.err == nil && string(b) != magic {
		d.at -= len(magic)
		d.failf("%q, want %s", b, magic)
	}
	if b := d.take(2, "the version"); d.err == nil {
		if version = b[0]; version < 1 || version > most {
			d.failf("version %d.%d, want 1.0 … %d.0", b[0], b[1], most)
		}
	}
	n := 0
	if b := d.take(4, "the length of the header"); d.err == nil {
		n = int(min(binary.LittleEndian.Uint32(b), math.MaxInt32))
	}
	b := d.take(n, "the header")
	if d.err != nil {
		return version, nil
	}
	f = newFields(d.caller, bytes.NewReader(b))
	d.err = f.result()
	return version, f
}

// shape returns the numbers of variables and of interactions in a header.
func (d *dimod) shape(f *fields) (n, m int) {
	if d.err != nil {
		return 0, 0
	}
	shape := f.list("shape")
	if f.err == nil && len(shape) != 2 {
		f.fail(f.root.Get("shape"), "shape of %d numbers, want 2", len(shape))
	}
	if f.err == nil {
		n, m = f.integer(shape[0], "shape", 0, math.MaxInt32-1), f.integer(shape[1], "shape", 0, math.MaxInt32-1)
	}
	d.err = f.result()
	return n, m
}

// kind returns the size in bytes of a number type in a header, and whether it is a floating-point
// type.
func (d *dimod) kind(f *fields, name string) (size int, real bool) {
	if d.err != nil {
		return 0, false
	}
	text := strings.TrimPrefix(f.text(name), "<")
	sizes := map[string]int{"float32": 4, "float64": 8, "f4": 4, "f8": 8, "int16": 2, "int32": 4, "int64": 8, "uint16": 2, "uint32": 4, "uint64": 8, "i2": 2, "i4": 4, "i8": 8, "u2": 2, "u4": 4, "u8": 8}
	if size = sizes[text]; size == 0 {
		f.fail(f.root.Get(name), "%s = %s, want a type of numbers such as float64 or int32", name, check.Quote(text))
	}
	d.err = f.result()
	return size, strings.HasPrefix(text, "f")
}

func little(b []byte) uint64 {
	v := uint64(0)
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// index reads an integer of the given size, which must be below n.
func (d *dimod) index(size, n int, what string) int {
	b := d.take(size, what)
	if d.err != nil {
		return 0
	}
	v := little(b)
	if v >= uint64(n) {
		d.failf("%s = %d, want 0 … %d", what, v, n-1)
		return 0
	}
	return int(v)
}

// real reads a float32 (size 4) or float64 (size 8).
func (d *dimod) real(size int, what string) float64 {
	b := d.take(size, what)
	if d.err != nil {
		return 0
	}
	v := math.Float64frombits(little(b))
	if size == 4 {
		v = float64(math.Float32frombits(uint32(little(b))))
	}
	return v
}

// section reads a section, which begins with magic and its length, and returns a parser of its
// contents. length is the size in bytes of the length.
func (d *dimod) section(magic string, length int) *dimod {
	if b := d.take(len(magic), "a section"); d.err == nil && string(b) != magic {
		d.failf("section %q, want %s", b, magic)
	}
	n := little(d.take(length, "the length of section "+magic))
	b := d.take(int(min(n, math.MaxInt32)), "section "+magic)
	return &dimod{caller: d.caller + ": " + magic, b: b, err: d.err}
}

// labelsOf parses a JSON array of n labels. Numbers and lists become text.
func labelsOf(caller string, text []byte, n int) ([]string, error) {
	root, err := document.Parse(bytes.NewReader(text))
	if err == nil && (!root.Is(document.Array) || len(root.List) != n) {
		err = root.Errorf("%s, want an array of %d labels", root.Brief(), n)
	}
	if err != nil {
		return nil, fmt.Errorf("read: %s: %w", caller, err)
	}
	names := make([]string, n)
	for i, v := range root.List {
		names[i] = label(v)
	}
	return names, nil
}

func (p *Program) rename(names []string) {
	for i, name := range names {
		p.Variables[i].Name = name
	}
}

func readBQM(r io.Reader) (*Program, error) {
	d := newDimod("BQM", r)
	version, f := d.header(bqmMagic, 2)
	n, m := d.shape(f)
	bias, real := d.kind(f, "dtype")
	itype, _ := d.kind(f, "itype")
	ntype, _ := d.kind(f, "ntype")
	if d.err != nil {
		return nil, d.err
	}
	if !real {
		d.failf("dtype is a type of integers, want reals")
	}
	kind := f.text("vartype")
	if f.err == nil && kind != "SPIN" && kind != "BINARY" {
		f.fail(f.root.Get("vartype"), "vartype = %s, want SPIN or BINARY", check.Quote(kind))
	}
	if f.err != nil {
		return nil, f.result()
	}
	p := &Program{}
	if w := d.real(bias, "the offset"); w != 0 {
		p.Objective = append(p.Objective, Monomial{W: w})
	}
	if need := int64(n)*int64(ntype+bias) + 2*int64(m)*int64(itype+bias); d.err == nil && need > int64(len(d.b)-d.at) {
		d.failf("%d bytes are left, want %d for %d variables and %d interactions", len(d.b)-d.at, need, n, m)
	}
	if d.err != nil {
		return nil, d.err
	}
	p.Variables = numbered(n, 0, kind == "SPIN")
	first := make([]int, n+1)
	first[n] = 2 * m
	for i := range n {
		first[i] = d.index(ntype, 2*m+1, "the beginning of a row")
		if w := d.real(bias, "a linear bias"); w != 0 {
			p.Objective = append(p.Objective, Monomial{w, []int{i}})
		}
	}
	for i := range n {
		if d.err == nil && (first[i+1] < first[i] || i == 0 && first[0] != 0) {
			d.failf("row %d begins at %d and ends at %d, want ascending numbers from 0", i, first[i], first[i+1])
		}
		for range first[i+1] - first[i] {
			j := d.index(itype, n, "a neighbour")
			w := d.real(bias, "a quadratic bias")
			if d.err == nil && j == i {
				d.failf("variable %d is its own neighbour", i)
			}
			if j < i { // the other triangle repeats these entries
				p.Objective = append(p.Objective, Monomial{w, []int{j, i}})
			}
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	v := f.root.Get("variables")
	switch {
	case v.Is(document.Array) && len(v.List) > 0:
		if len(v.List) != n {
			return nil, fmt.Errorf("read: BQM: %d labels, want %d", len(v.List), n)
		}
		for i, l := range v.List {
			p.Variables[i].Name = label(l)
		}
	case v.Is(document.Bool) && v.Text == "true" && version >= 2:
		s := d.section("VARS", 4)
		if s.err != nil {
			return nil, s.err
		}
		names, err := labelsOf("BQM", s.b, n)
		if err != nil {
			return nil, err
		}
		p.rename(names)
	}
	return p, nil
}

// dimodWriter builds a binary file of dimod in memory.
type dimodWriter struct{ bytes.Buffer }

func (d *dimodWriter) header(magic string, major byte, fields map[string]any) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	for (len(magic)+6+len(text))%64 != 0 {
		text = append(text, ' ')
	}
	d.WriteString(magic)
	d.Write([]byte{major, 0})
	d.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(text))))
	d.Write(text)
	return nil
}

func (d *dimodWriter) index(i int) { d.Write(binary.LittleEndian.AppendUint32(nil, uint32(i))) }

func (d *dimodWriter) real(w float64) {
	d.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(w)))
}

// section writes a section: magic, the length of the data, and the data, padded to a multiple of 64
// bytes.
func (d *dimodWriter) section(magic string, length int, data []byte) {
	for (len(magic)+length+len(data))%64 != 0 {
		data = append(data, ' ')
	}
	d.WriteString(magic)
	d.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(data)))[:length])
	d.Write(data)
}

func writeBQM(w *bufio.Writer, p *Program) error {
	constant, linear, square, err := p.square(true)
	if err != nil {
		return err
	}
	n := len(p.Variables)
	type entry struct {
		j int
		w float64
	}
	rows := make([][]entry, n)
	for _, m := range square {
		i, j := m.Of[0], m.Of[1]
		rows[i], rows[j] = append(rows[i], entry{j, m.W}), append(rows[j], entry{i, m.W})
	}
	d := &dimodWriter{}
	if err := d.header(bqmMagic, 2, map[string]any{
		"shape": []int{n, len(square)}, "dtype": "float64", "itype": "int32", "ntype": "int32",
		"vartype": p.vartype(), "type": "BinaryQuadraticModel", "variables": true,
	}); err != nil {
		return err
	}
	bias := make([]float64, n)
	for _, m := range linear {
		bias[m.Of[0]] = m.W
	}
	d.real(constant)
	at := 0
	for i := range n {
		d.index(at)
		d.real(bias[i])
		at += len(rows[i])
	}
	for _, row := range rows {
		slices.SortFunc(row, func(a, b entry) int { return a.j - b.j })
		for _, e := range row {
			d.index(e.j)
			d.real(e.w)
		}
	}
	names, err := json.Marshal(p.names())
	if err != nil {
		return err
	}
	d.section("VARS", 4, names)
	_, err = w.Write(d.Bytes())
	return err
}

func (p *Program) names() []string {
	var names []string
	for _, v := range p.Variables {
		names = append(names, v.Name)
	}
	return names
}

// readCQM reads a constrained quadratic model of dimod, version 2. After the header follows a zip
// archive with the types and bounds of the variables, and an expression for the objective and for
// each constraint.
func readCQM(r io.Reader) (*Program, error) {
	d := newDimod("CQM", r)
	version, f := d.header(cqmMagic, 2)
	if d.err == nil && version < 2 {
		d.failf("version %d, want 2: write it again with dimod 0.12 or later", version)
	}
	if d.err != nil {
		return nil, d.err
	}
	n := f.integer(f.child(f.root, "num_variables", document.Number), "num_variables", 1, math.MaxInt32-1)
	if f.err != nil {
		return nil, f.result()
	}
	archive, err := zip.NewReader(bytes.NewReader(d.b), int64(len(d.b)))
	if err != nil {
		return nil, fmt.Errorf("read: CQM: %w", err)
	}
	files := map[string]*zip.File{}
	var constraints []string
	for _, z := range archive.File {
		files[z.Name] = z
		if name, ok := strings.CutPrefix(z.Name, "constraints/"); ok && strings.HasSuffix(name, "/lhs") {
			constraints = append(constraints, strings.TrimSuffix(name, "/lhs"))
		}
	}
	if f.counts("num_constraints", len(constraints)); f.err != nil {
		return nil, f.result()
	}
	left := int64(maxFile)
	open := func(name string) *dimod {
		d := &dimod{caller: "CQM: " + name}
		z := files[name]
		if z == nil {
			d.failf("the archive has no such file")
			return d
		}
		in, err := z.Open()
		if err == nil {
			d.b, err = io.ReadAll(io.LimitReader(in, left+1))
			err = errors.Join(err, in.Close())
		}
		if left -= int64(len(d.b)); err == nil && left < 0 {
			err = fmt.Errorf("more than %d bytes", maxFile)
		}
		if err != nil {
			d.err = fmt.Errorf("read: CQM: %s: %w", name, err)
		}
		return d
	}
	p := &Program{}
	v := open("varinfo").section("VTYP", 4)
	if v.err == nil && len(v.b)/17 < n {
		v.failf("%d bytes, want %d for %d variables", len(v.b), 17*n, n)
	}
	if v.err != nil {
		return nil, v.err
	}
	p.Variables = numbered(n, 0, false)
	b := box{}
	for i := range p.Variables {
		x := &p.Variables[i]
		kind := v.index(1, 256, "the kind of a variable")
		lower, upper := v.real(8, "a lower bound"), v.real(8, "an upper bound")
		switch kind {
		case 0, 2:
		case 1:
			x.Spin, x.Upper = true, 0
			lower, upper = -1, 1
		default:
			v.failf("kind %d of variable %d, want 0 (BINARY), 1 (SPIN) or 2 (INTEGER)", kind, i)
		}
		if v.err != nil {
			return nil, v.err
		}
		b.lower, b.upper, b.integer = append(b.lower, lower), append(b.upper, upper), append(b.integer, true)
	}
	if p.Objective, err = open("objective").expression(n); err != nil {
		return nil, err
	}
	for _, name := range constraints {
		c := Constraint{Lower: math.Inf(-1), Upper: math.Inf(1)}
		prefix := "constraints/" + name + "/"
		root, err := document.Parse(strings.NewReader(name))
		if err != nil {
			return nil, fmt.Errorf("read: CQM: the label %s of a constraint: %w", check.Quote(name), err)
		}
		c.Name = label(root)
		if c.Sum, err = open(prefix + "lhs").expression(n); err != nil {
			return nil, err
		}
		right := open(prefix + "rhs")
		bound := right.real(8, "the bound")
		sense := open(prefix + "sense")
		if err := errors.Join(right.err, sense.err); err != nil {
			return nil, err
		}
		switch string(sense.b) {
		case "<=":
			c.Upper = bound
		case ">=":
			c.Lower = bound
		case "==":
			c.Lower, c.Upper = bound, bound
		default:
			return nil, fmt.Errorf("read: CQM: constraint %s: sense %q, want <=, >= or ==", check.Quote(c.Name), sense.b)
		}
		if files[prefix+"weight"] != nil {
			weight, penalty := open(prefix+"weight"), open(prefix+"penalty")
			c.Weight = weight.real(8, "the weight")
			if err := errors.Join(weight.err, penalty.err); err != nil {
				return nil, err
			}
			switch kind := string(penalty.b); {
			case math.IsInf(c.Weight, 1):
				c.Weight = 0 // required
			case kind != "linear" && kind != "quadratic":
				return nil, fmt.Errorf("read: CQM: constraint %s: penalty %q, want linear or quadratic", check.Quote(c.Name), kind)
			case !(c.Weight > 0):
				return nil, fmt.Errorf("read: CQM: constraint %s: weight %v, want > 0", check.Quote(c.Name), c.Weight)
			default:
				c.Squared = kind == "quadratic"
			}
		}
		p.Constraints = append(p.Constraints, c)
	}
	if err := b.close(p); err != nil {
		return nil, fmt.Errorf("read: CQM: %w", err)
	}
	if files["variable_labels.json"] != nil {
		text := open("variable_labels.json")
		if text.err != nil {
			return nil, text.err
		}
		names, err := labelsOf("CQM: variable_labels.json", text.b, n)
		if err != nil {
			return nil, err
		}
		p.rename(names)
	}
	return p, nil
}

// expression reads the sum of an expression over some of the n variables of a model.
func (d *dimod) expression(n int) ([]Monomial, error) {
	_, f := d.header(expressionMagic, 2)
	k, m := d.shape(f)
	bias, real := d.kind(f, "dtype")
	itype, _ := d.kind(f, "itype")
	if d.err == nil && !real {
		d.failf("dtype is a type of integers, want reals")
	}
	indices := d.section("INDX", 4)
	offset, linear, quadratic := d.section("OFFS", 4), d.section("LINB", 4), d.section("QUAD", 8)
	if d.err == nil && (len(indices.b)/max(itype, 1) < k || len(quadratic.b)/max(2*itype+bias, 1) < m) {
		d.failf("sections of %d and %d bytes, want more for %d variables and %d interactions", len(indices.b), len(quadratic.b), k, m)
	}
	if d.err != nil {
		return nil, d.err
	}
	var sum []Monomial
	if w := offset.real(bias, "the offset"); w != 0 {
		sum = append(sum, Monomial{W: w})
	}
	of := make([]int, k)
	for i := range of {
		of[i] = indices.index(itype, n, "a variable")
		if w := linear.real(bias, "a linear bias"); w != 0 {
			sum = append(sum, Monomial{w, []int{of[i]}})
		}
	}
	for range m {
		u, v := quadratic.index(itype, k, "a variable of the expression"), quadratic.index(itype, k, "a variable of the expression")
		w := quadratic.real(bias, "a quadratic bias")
		if quadratic.err == nil {
			sum = append(sum, Monomial{w, []int{of[u], of[v]}})
		}
	}
	return sum, errors.Join(indices.err, offset.err, linear.err, quadratic.err)
}

func (p *Program) writeExpression(sum []Monomial) (b []byte, linear, square int, err error) {
	constant, lin, quad, err := p.quadratic(sum)
	if err != nil {
		return nil, 0, 0, err
	}
	local := map[int]int{}
	var of []int
	for _, m := range append(slices.Clone(lin), quad...) {
		for _, i := range m.Of {
			if _, met := local[i]; !met {
				local[i] = len(of)
				of = append(of, i)
			}
		}
	}
	bias := make([]float64, len(of))
	for _, m := range lin {
		bias[local[m.Of[0]]] = m.W
	}
	// dimod stores the lower triangle, row by row.
	for k, m := range quad {
		u, v := local[m.Of[0]], local[m.Of[1]]
		quad[k].Of = []int{max(u, v), min(u, v)}
	}
	slices.SortFunc(quad, func(a, b Monomial) int { return slices.Compare(a.Of, b.Of) })
	d := &dimodWriter{}
	if err := d.header(expressionMagic, 2, map[string]any{"shape": []int{len(of), len(quad)}, "dtype": "float64", "itype": "int32", "type": "Expression"}); err != nil {
		return nil, 0, 0, err
	}
	var indices, offset, lins, quads dimodWriter
	for _, i := range of {
		indices.index(i)
	}
	offset.real(constant)
	for _, w := range bias {
		lins.real(w)
	}
	for _, m := range quad {
		quads.index(m.Of[0])
		quads.index(m.Of[1])
		quads.real(m.W)
	}
	d.section("INDX", 4, indices.Bytes())
	d.section("OFFS", 4, offset.Bytes())
	d.section("LINB", 4, lins.Bytes())
	d.section("QUAD", 8, quads.Bytes())
	return d.Bytes(), len(of), len(quad), nil
}

func writeCQM(w *bufio.Writer, p *Program) error {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	file := func(name string, b []byte) error {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(b)
		}
		return err
	}
	var kinds, info dimodWriter
	for _, v := range p.Variables {
		kind, lower, upper := byte(2), float64(v.Lower), float64(v.Upper)
		switch {
		case v.Spin:
			kind, lower, upper = 1, -1, 1
		case v.Lower == 0 && v.Upper == 1:
			kind = 0
		}
		kinds.WriteByte(kind)
		kinds.real(lower)
		kinds.real(upper)
	}
	info.section("VTYP", 4, kinds.Bytes())
	err := file("varinfo", info.Bytes())
	b, biases, pairs, e := p.writeExpression(p.Objective)
	biases += pairs
	err = errors.Join(err, e, file("objective", b))
	weighted, quadratic, rows := 0, 0, 0
	used := map[string]bool{}
	for _, c := range p.Constraints {
		for _, r := range []struct {
			sense string
			bound float64
			on    bool
		}{{"==", c.Lower, c.Lower == c.Upper}, {">=", c.Lower, c.Lower != c.Upper && !math.IsInf(c.Lower, 0)}, {"<=", c.Upper, c.Lower != c.Upper && !math.IsInf(c.Upper, 0)}} {
			if !r.on {
				continue
			}
			name := c.Name
			for k := 2; used[name]; k++ {
				name = fmt.Sprintf("%s_%d", c.Name, k)
			}
			used[name] = true
			text, e := json.Marshal(name)
			prefix := "constraints/" + string(text) + "/"
			b, n, m, e2 := p.writeExpression(c.Sum)
			var right dimodWriter
			right.real(r.bound)
			err = errors.Join(err, e, e2, file(prefix+"lhs", b), file(prefix+"rhs", right.Bytes()), file(prefix+"sense", []byte(r.sense)), file(prefix+"discrete", []byte{0}))
			if c.Weight > 0 {
				var weight dimodWriter
				weight.real(c.Weight)
				penalty := "linear"
				if c.Squared {
					penalty = "quadratic"
				}
				err = errors.Join(err, file(prefix+"weight", weight.Bytes()), file(prefix+"penalty", []byte(penalty)))
				weighted++
			}
			biases += n + m
			rows++
			quadratic += p.paired(c.Sum)
		}
	}
	names, e := json.Marshal(p.names())
	err = errors.Join(err, e, file("variable_labels.json", names), z.Close())
	d := &dimodWriter{}
	err = errors.Join(err, d.header(cqmMagic, 2, map[string]any{
		"num_variables": len(p.Variables), "num_constraints": rows, "num_biases": biases,
		"num_quadratic_variables": quadratic, "num_quadratic_variables_real": 0, "num_linear_biases_real": 0, "num_weighted_constraints": weighted,
	}))
	if err != nil {
		return err
	}
	d.Write(archive.Bytes())
	_, err = w.Write(d.Bytes())
	return err
}

// paired returns the number of variables that occur in products of two variables in a sum.
func (p *Program) paired(sum []Monomial) int {
	in := map[int]bool{}
	for _, m := range p.collect(sum) {
		if len(m.Of) == 2 {
			in[m.Of[0]], in[m.Of[1]] = true, true
		}
	}
	return len(in)
}
