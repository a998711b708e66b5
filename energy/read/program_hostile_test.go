package read_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/stretchr/testify/require"
)

// What a file states wrongly is named with its line, and so is what a reader does not
// understand.
func TestProgramsRefuse(t *testing.T) {
	lp := func(body string) string { return "Minimize\n obj: x\nSubject To\n" + body + "\nGeneral\n x y\nEnd\n" }
	qp := func(rest string) string { return "N\nQBN\nminimize\n2\n" + rest }
	for _, c := range [][3]string{
		{"lp", "", "want minimize or maximize"},
		{"lp", "hello\n", `line 1: "hello", want minimize or maximize`},
		{"lp", "min\n x\n", "line 2: ends without end"},
		{"lp", "min\n x\nend\n", `variable "x" is continuous, want it binary or general`},
		{"lp", lp("c: x + y"), `line 5: "General", want <=, >= or =`},
		{"lp", lp("c: x ? y <= 2"), `line 4: "?"`},
		{"lp", lp("c: x * y <= 2"), `line 4: "*", want <=`},
		{"lp", lp("c: [ x + y ] <= 2"), `line 4: "+" in brackets, want ^ 2`},
		{"lp", lp("c: [ x ^ 3 ] <= 2"), "line 4: the power 3, want 2"},
		{"lp", lp("c: 1 <= x >= 2"), "two relations in one constraint"},
		{"lp", lp("c: 1e999 x <= 2"), "line 4: \"1e999\", want a finite number"},
		{"lp", lp("c: x <= 2"), `variable "y" has the range 0 … +Inf, and the linear constraints do not bound it`},
		{"lp", "min\n x\nsos\n s1: x:1\nend\n", `line 3: section "sos"`},
		{"lp", "min\n [ x * y ]\nend", `line 3: "end" after ], want / 2`},
		{"lp", "min\n x\nbounds\n 0.2 <= x <= 0.8\ngeneral\n x\nend", "which holds no integer"},
		{"lp", "min\n x\nend\n more", `line 4: "more" after end`},
		{"mps", "", "ends after line 0, want ENDATA"},
		{"mps", "NAME a\nSOS\nENDATA\n", `line 2: section "SOS"`},
		{"mps", "ROWS\n N c\n Q r\n", `line 3: type "Q" of row "r", want N, E, L or G`},
		{"mps", "ROWS\n N c\n N c\n", `line 3: row "c" occurs twice`},
		{"mps", "ROWS\n N c\nCOLUMNS\n x d 1\n", `line 4: column 2: no row has the name "d"`},
		{"mps", "ROWS\n N c\nCOLUMNS\n x c one\n", `line 4: column 3: the value = "one"`},
		{"mps", "ROWS\n N c\nCOLUMNS\n x c 1\nENDATA\n", `variable "x" is continuous`},
		{"mps", "ROWS\n N c\nCOLUMNS\n x c 1\nBOUNDS\n UP b y 1\n", `line 6: column 3: no variable has the name "y"`},
		{"mps", "ROWS\n N c\nCOLUMNS\n x c 1\nBOUNDS\n SC b x 1\n", `line 6: bound "SC"`},
		{"mps", "ROWS\n N c\nCOLUMNS\n x c 1\nBOUNDS\n BV b\n", `no variable has the name "b"`},
		{"mps", "OBJSENSE\n UP\n", `line 2: sense "UP"`},
		{"qplib", "N\n", "ends after line 1, want the type"},
		{"qplib", "N\nQXN\n", `line 2: type = "QXN"`},
		{"qplib", "N\nQCN\n", "line 2: type = QCN: the variables are continuous"},
		{"qplib", "N\nQBN\nmaybe\n", `line 3: "maybe", want minimize or maximize`},
		{"qplib", "N\nQBN\nminimize\n9999999\n", "line 4: column 1: the number of variables = 9999999"},
		{"qplib", qp("1\n3 1 2\n"), "line 6: column 1: an index = 3, want an integer in 1 … 2"},
		{"qplib", qp("1\n2 1\n"), "line 6: 2 columns, want quadratic terms of the objective"},
		{"qplib", qp("2\n2 1 1\n0\n"), "line 7: 1 columns, want quadratic terms"},
		{"qplib", qp("0\n0\n0\n0\n-1\n"), "line 9: infinity = -1, want > 0"},
		{"mqlib", "2 1\n1 3 1\n", "line 2: column 2: j = 3"},
		{"mqlib", "2 2\n1 2 1\n2 1 1\n", "line 3: the entry 1 2 a second time"},
		{"mqlib", "2 2\n1 2 1\n", "1 entries, want m = 2"},
		{"mqlib", "2000000000 0\n", "2000000000 sites with 0 entries"},
		{"cnf", "", "no words, want p cnf"},
		{"cnf", "1 2 0\n", "line 1: column 1: 1, want p cnf"},
		{"cnf", "p wcnf 1 1\n", `p "wcnf", want p cnf`},
		{"cnf", "p cnf 2 1\n1 3 0\n", "line 2: column 2: literal = 3, want −2 … 2"},
		{"cnf", "p cnf 2 1\n1 2\n", "ends after line 2, want a literal or 0"},
		{"cnf", "p cnf 2 2\n1 2 0\n", "1 clauses, but the header states 2"},
		{"cnf", "p cnf 9999999 0\n", "line 1: column 3: the number of variables = 9999999"},
		{"wcnf", "h 0 1\n", "ends after line 1, want a literal"},
		{"wcnf", "-1 2 0\n", "weight = -1, want h or a finite number"},
		{"wcnf", "h 99999999 0\n", "literal = 99999999"},
		{"bqm", "DIMODNOT", "byte 0: \"DIMODNOT\", want DIMODBQM"},
		{"bqm", "DIMODBQM\x09\x00", "version 9.0, want 1.0 … 2.0"},
		{"bqm", "DIMODBQM\x02\x00\xff\xff\xff\xff{}", "2 bytes are left, want"},
		{"bqm", "DIMODBQM\x02\x00\x02\x00\x00\x00{}", "shape = "},
		{"cqm", "DIMODCQM\x01\x03\x02\x00\x00\x00{}", "version 1, want 2"},
		{"cqm", "DIMODCQM\x02\x00\x14\x00\x00\x00{\"num_variables\": 3}junk", "zip: not a valid zip file"},
		{"coo", "# vartype=TERNARY\n0 0 1\n", "vartype = TERNARY"},
		{"pdf", "", `format = "pdf", want one of bqm, cnf`},
	} {
		_, err := read.NewProgram(strings.NewReader(c[1]), c[0])
		if err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s %q:\n got %v\nwant %s", c[0], c[1], err, c[2])
		}
	}
}

func TestProgramsRefuseToWrite(t *testing.T) {
	x, s := read.Variable{Name: "x", Upper: 1}, read.Variable{Name: "0", Spin: true}
	cubic := read.Program{Variables: []read.Variable{{Name: "x", Upper: 1}, {Name: "y", Upper: 1}, {Name: "z", Upper: 1}}, Objective: []read.Monomial{{W: 1, Of: []int{0, 1, 2}}}}
	soft := read.Program{Variables: []read.Variable{x}, Constraints: []read.Constraint{{Name: "c", Sum: []read.Monomial{{W: 1, Of: []int{0}}}, Lower: 1, Upper: 1, Weight: 2}}}
	for _, c := range []struct {
		p            read.Program
		format, want string
	}{
		{read.Program{}, "lp", "no variables, want ≥ 1"},
		{read.Program{Variables: []read.Variable{x, x}}, "lp", `variable name "x" is empty or occurs twice`},
		{read.Program{Variables: []read.Variable{{Name: "x", Lower: 1}}}, "lp", "1 … 0, want Lower ≤ Upper"},
		{read.Program{Variables: []read.Variable{x}, Objective: []read.Monomial{{W: math.NaN()}}}, "lp", "objective: coefficient NaN"},
		{read.Program{Variables: []read.Variable{x}, Objective: []read.Monomial{{W: 1, Of: []int{1}}}}, "lp", "objective: variable 1, want 0 … 0"},
		{read.Program{Variables: []read.Variable{x}, Constraints: []read.Constraint{{Name: "c", Lower: math.NaN()}}}, "lp", `constraint "c": bounds NaN`},
		{read.Program{Variables: []read.Variable{x}, Constraints: []read.Constraint{{Name: "c", Weight: -1}}}, "lp", "weight -1, want ≥ 0"},
		{read.Program{Variables: []read.Variable{s}}, "lp", "is a spin, which the format does not have; write Program.Bits()"},
		{read.Program{Variables: []read.Variable{{Name: "st"}}}, "lp", `variable name "st"`},
		{read.Program{Variables: []read.Variable{{Name: "a b"}}}, "mps", `name "a b", want one word`},
		{read.Program{Variables: []read.Variable{{Name: "a b"}}}, "qplib", `variable name "a b", want one word`},
		{cubic, "lp", "a product of 3 variables, want ≤ 2"},
		{cubic, "cqm", "a product of 3 variables, want ≤ 2"},
		{soft, "lp", `constraint "c" has a weight`},
		{soft, "qplib", `constraint "c" has a weight`},
		{soft, "bqm", "1 constraints, want none"},
		{soft, "cnf", "variable \"x\", want bits named 1, 2, …"},
		{read.Program{Variables: []read.Variable{{Name: "x", Upper: 3}}}, "bqm", `variable "x" is not binary; bits only, or spins only,`},
		{read.Program{Variables: []read.Variable{x}}, "coo", `variable 0 has the name "x", want 0`},
		{read.Program{Variables: []read.Variable{{Name: "0", Upper: 1}}, Objective: []read.Monomial{{W: 1}}}, "qubo", "the constant 1"},
		{read.Program{Variables: []read.Variable{{Name: "1", Spin: true}}, Objective: []read.Monomial{{W: 1}}}, "rudy", "the objective is no cut"},
		{read.Program{Variables: []read.Variable{x}}, "csv", `format = "csv"`},
	} {
		err := c.p.Write(new(bytes.Buffer), c.format)
		require.ErrorContains(t, err, c.want)
	}
	require.NoError(t, soft.Write(new(bytes.Buffer), "cqm"))
}

// Bits says the same about x as the program says about 2x − 1.
func TestBits(t *testing.T) {
	p := &read.Program{
		Variables:   []read.Variable{{Name: "s", Spin: true}, {Name: "t", Spin: true}, {Name: "n", Upper: 3}},
		Objective:   []read.Monomial{{W: 3, Of: []int{0, 1}}, {W: -1, Of: []int{0, 2, 2}}, {W: 2, Of: []int{1}}, {W: 5, Of: []int{1, 1}}},
		Constraints: []read.Constraint{{Name: "c", Sum: []read.Monomial{{W: 1, Of: []int{0}}}, Lower: 1, Upper: 1}},
	}
	q := p.Bits()
	for k := range 16 {
		a, b, n := float64(k&1), float64(k>>1&1), float64(k>>2)
		spins, bits := []float64{2*a - 1, 2*b - 1, n}, []float64{a, b, n}
		e, ok := judge(p, spins)
		f, again := judge(q, bits)
		require.Equal(t, e, f)
		require.Equal(t, ok, again)
	}
	require.True(t, p.Variables[0].Spin)
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]string{"a.lp": "lp", "b.QPLIB": "qplib", "c.wcnf": "wcnf", "g.txt": "rudy", "x.json": "json", "x": ""} {
		require.Equal(t, want, read.FormatOf(name, nil))
	}
	for head, want := range map[string]string{"Maximize\n obj": "lp", "\\ Model": "lp", "NAME  x": "mps", "{\"type\"": "json", "3 2\n1 2 1": ""} {
		require.Equal(t, want, read.FormatOf("x", []byte(head)))
	}
	require.Equal(t, "cqm", read.FormatOf("x.dat", []byte("DIMODCQM\x02")))
	require.Equal(t, "cnf", read.FormatOf("x.dat", []byte("p cnf 1 2\n")))
}
