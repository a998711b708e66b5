package read_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/stretchr/testify/require"
)

// randomProgram returns a program that the format can state.
func randomProgram(r *rand.Rand, format string) *read.Program {
	n := 1 + r.IntN(6)
	p := &read.Program{}
	first := map[string]int{"mqlib": 1, "cnf": 1, "wcnf": 1, "rudy": 1}[format]
	spins := format == "rudy" || r.IntN(2) == 0 && strings.Contains("bqm json coo", format)
	for i := range n {
		v := read.Variable{Name: fmt.Sprint(first + i), Upper: 1}
		switch format {
		case "lp", "mps", "qplib", "cqm":
			v.Name = fmt.Sprintf("x_%d", i)
			if r.IntN(2) == 0 {
				v.Lower = r.IntN(5) - 3
				v.Upper = v.Lower + r.IntN(4)
			}
			if format == "cqm" && r.IntN(4) == 0 {
				v.Spin = true
			}
		case "bqm", "json":
			v.Name = fmt.Sprintf("v %d", i)
			v.Spin = spins
		default:
			v.Spin = spins
		}
		if v.Spin {
			v.Lower, v.Upper = 0, 0
		}
		p.Variables = append(p.Variables, v)
	}
	weight := func() float64 { return float64(1+r.IntN(9)) / 4 * float64(1-2*r.IntN(2)) }
	sum := func(constant bool) (s []read.Monomial) {
		if constant && r.IntN(2) == 0 {
			s = append(s, read.Monomial{W: weight()})
		}
		for range r.IntN(7) {
			m := read.Monomial{W: weight(), Of: []int{r.IntN(n)}}
			if j := r.IntN(n); r.IntN(2) == 0 {
				m.Of = append(m.Of, j)
			}
			s = append(s, m)
		}
		return s
	}
	clause := func() (c read.Constraint) {
		c.Lower, c.Upper = 1, math.Inf(1)
		for i := range n {
			switch r.IntN(3) {
			case 0:
				c.Sum = append(c.Sum, read.Monomial{W: 1, Of: []int{i}})
			case 1:
				c.Sum = append(c.Sum, read.Monomial{W: -1, Of: []int{i}})
				c.Lower--
			}
		}
		return c
	}
	switch format {
	case "cnf", "wcnf":
		for k := range r.IntN(5) {
			c := clause()
			c.Name = fmt.Sprintf("clause %d", k+1)
			if format == "wcnf" && r.IntN(2) == 0 {
				c.Weight = math.Abs(weight())
			}
			p.Constraints = append(p.Constraints, c)
		}
	case "rudy":
		for range r.IntN(7) {
			if i, j := r.IntN(n), r.IntN(n); i != j {
				w := weight()
				p.Objective = append(p.Objective, read.Monomial{W: -w / 2}, read.Monomial{W: w / 2, Of: []int{i, j}})
			}
		}
	case "coo", "qubo", "mqlib":
		for _, m := range sum(false) {
			if !spins || len(m.Of) < 2 || m.Of[0] != m.Of[1] {
				p.Objective = append(p.Objective, m)
			}
		}
	case "bqm", "json":
		p.Objective = sum(true)
	default:
		p.Objective = sum(true)
		for k := range r.IntN(4) {
			c := read.Constraint{Name: fmt.Sprintf("row%d", k), Sum: sum(true), Lower: math.Inf(-1), Upper: math.Inf(1)}
			switch r.IntN(4) {
			case 0:
				c.Lower = weight()
			case 1:
				c.Upper = weight()
			case 2:
				c.Lower = weight()
				c.Upper = c.Lower
			default:
				c.Lower = weight()
				c.Upper = c.Lower + 2
			}
			if format == "cqm" && r.IntN(3) == 0 {
				c.Weight, c.Squared = math.Abs(weight()), r.IntN(2) == 0
			}
			p.Constraints = append(p.Constraints, c)
		}
	}
	return p
}

// judge returns the objective with what is preferred, and whether all else holds.
func judge(p *read.Program, x []float64) (float64, bool) {
	e, ok := read.Value(p.Objective, x), true
	for _, c := range p.Constraints {
		v := read.Value(c.Sum, x)
		d := max(0, c.Lower-v, v-c.Upper)
		if c.Weight == 0 {
			ok = ok && d == 0
			continue
		}
		if c.Squared {
			d *= d
		}
		e += c.Weight * d
	}
	return e, ok
}

// A program that is written and read again has the same variables, values and constraints.
// Coefficients are quarters, so that sums are exact.
func TestProgramsComeBack(t *testing.T) {
	instances := 1000
	if testing.Short() {
		instances = 100
	}
	for _, format := range read.Formats() {
		if format == "csv" {
			continue
		}
		for seed := range uint64(instances) {
			r := rand.New(rand.NewPCG(seed, 1))
			p := randomProgram(r, format)
			var b bytes.Buffer
			require.NoError(t, p.Write(&b, format), "%s, seed %d", format, seed)
			text := b.String()
			q, err := read.NewProgram(&b, format)
			require.NoError(t, err, "%s, seed %d:\n%s", format, seed, text)
			require.Equal(t, len(p.Variables), len(q.Variables), text)
			at := map[string]int{}
			for i, v := range q.Variables {
				at[v.Name] = i
			}
			for _, v := range p.Variables {
				w := q.Variables[at[v.Name]]
				require.Equal(t, v, w, "%s, seed %d:\n%s", format, seed, text)
			}
			x, y := make([]float64, len(p.Variables)), make([]float64, len(p.Variables))
			for range 20 {
				for i, v := range p.Variables {
					if x[i] = float64(v.Lower + r.IntN(v.Upper-v.Lower+1)); v.Spin {
						x[i] = float64(2*r.IntN(2) - 1)
					}
					y[at[v.Name]] = x[i]
				}
				e, ok := judge(p, x)
				f, again := judge(q, y)
				require.Equal(t, e, f, "%s, seed %d, %v:\n%s", format, seed, x, text)
				require.Equal(t, ok, again, "%s, seed %d, %v:\n%s", format, seed, x, text)
			}
		}
	}
}

// Files as the documentation of each format shows them.
func TestProgramsOfTheDocumentation(t *testing.T) {
	type point struct {
		x  []float64
		e  float64
		ok bool
	}
	for _, c := range []struct {
		format, text string
		names        string
		points       []point
	}{
		{"lp", `\ a comment
Maximize
 obj: x1 + 2 x2 + [ - x1 ^2 + 2 x1 * x3 ] / 2
st
 c1: - x1 + x2 + 10 <= 20
 c2: x1 - 3 x2 + x3 >= -30
 -2 <= x1 + x2 <= 3
 x1 + [ x2 ^ 2 ] =< 5
Bounds
 x1 <= 4
 0 <= x2 <= 2.5
General
 x1 x2
Binary
 x3
End
`, "x1 x2 x3", []point{{[]float64{1, 2, 1}, -(1 + 4 - 0.5 + 1), true}, {[]float64{3, 1, 0}, -(3 + 2 - 4.5), false}}},
		{"mps", `NAME          example
ROWS
 N  COST
 L  LIM1
 G  MYEQN
COLUMNS
    MARKER                 'MARKER'                 'INTORG'
    X         COST         1.0   LIM1         1.0
    Y         COST         2.0   LIM1         1.0
    Y         MYEQN        1.0
    Z         COST        -1.0   MYEQN        1.0
    MARKER                 'MARKER'                 'INTEND'
RHS
    RHS       LIM1         4.0   MYEQN        1.0
    RHS       COST        -3.0
RANGES
    RNG       LIM1         2.5
BOUNDS
 UP BND       X            4.0
 LO BND       Y            1.0
 UP BND       Y            3.0
QUADOBJ
    X         X            2.0
    X         Y           -1.0
ENDATA
`, "X Y Z", []point{{[]float64{2, 1, 1}, 2 + 2 - 1 + 3 + 4 - 2, true}, {[]float64{0, 1, 0}, 5, false}, {[]float64{4, 1, 0}, 4 + 2 + 3 + 16 - 4, false}}},
		{"qplib", `! a problem with a product of integers
EXAMPLE # name
QIL # a quadratic objective, integers, linear constraints
minimize
3 # variables
2 # constraints
5 # nonzeros in the lower triangle
1 1 2.0
2 1 -1.0
2 2 2.0
3 2 -1.0
3 3 2.0
-0.5 # default of b0
1
2 -0.25
0.0
4
1 1 1.0
1 2 1.0
2 1 1.0
2 3 1.0
1.0E+20 # infinity
1.0
0
1.0E+20
1
2 2
0.0
0
1.0
1
2 2.0
1.0 # starting point
0
0.0
0
0.0
0
0
1
1 only
`, "x1 x2 x3", []point{{[]float64{1, 2, 0}, 1 - 2 + 4 - 0 - 0.5 - 0.5, true}, {[]float64{1, 1, 1}, -0.25, true}, {[]float64{0, 0, 1}, 1 - 0.5, false}}},
		{"mqlib", "# from the documentation of MQLib: the best value is 6\n3 5\n1 1 5\n2 2 3\n3 3 1\n1 2 -6\n2 3 -1\n", "1 2 3", []point{{[]float64{1, 0, 1}, -6, true}, {[]float64{1, 1, 0}, 4, true}}},
		{"cnf", "c a comment\np cnf 3 2\n1 -3 0\n2 3 -1 0\n", "1 2 3", []point{{[]float64{1, 0, 1}, 0, true}, {[]float64{0, 0, 1}, 0, false}}},
		{"wcnf", "c weights below top are soft\np wcnf 4 5 16\n16 1 -2 4 0\n16 -1 -2 3 0\n8 -2 -4 0\n4 -3 2 0\n3 3 1 0\n", "1 2 3 4", []point{{[]float64{0, 0, 0, 0}, 3, true}, {[]float64{0, 1, 0, 1}, 8 + 3, true}, {[]float64{1, 1, 0, 1}, 8, false}}},
		{"wcnf", "h 1 2 0\n5 -1 0\n0.5 -2 -1 0\n", "1 2", []point{{[]float64{1, 0}, 5, true}, {[]float64{1, 1}, 5.5, true}, {[]float64{0, 0}, 0, false}}},
		{"coo", "# vartype=SPIN\n0 0 -1.000000\n0 1 1.000000\n1 2 -4.500000\n", "0 1 2", []point{{[]float64{-1, -1, -1}, 1 + 1 - 4.5, true}}},
		{"qubo", "p qubo 0 3 2 1\n0 0 2\n2 2 -1\n0 2 -4\n", "0 1 2", []point{{[]float64{1, 0, 1}, -3, true}}},
		{"json", `{"type": "BinaryQuadraticModel", "version": {"bqm_schema": "3.0.0"}, "use_bytes": false, "variable_type": "SPIN", "variable_labels": ["a", [0, 1]], "offset": 0.5, "linear_biases": [1, 2], "quadratic_biases": [3], "quadratic_head": [1], "quadratic_tail": [0]}`, "a (0, 1)", []point{{[]float64{-1, 1}, 0.5 - 1 + 2 - 3, true}}},
		{"json", `{"version": "1.0.0", "id": 0, "metadata": {}, "variable_ids": [5, 8], "variable_domain": "boolean", "scale": 4, "offset": 1, "linear_terms": [{"id": 5, "coeff": 1}], "quadratic_terms": [{"id_head": 8, "id_tail": 5, "coeff": 2}]}`, "5 8", []point{{[]float64{1, 1}, 16, true}}},
		{"rudy", "3 2\n1 2 3\n2 3 -2\n", "1 2 3", []point{{[]float64{-1, 1, 1}, -3, true}, {[]float64{-1, 1, -1}, -1, true}}},
		{"csv", "a,b\n1,0.5\n0.5,-2\n", "a b", []point{{[]float64{1, 1}, 0, true}}},
	} {
		p, err := read.NewProgram(strings.NewReader(c.text), c.format)
		require.NoError(t, err, c.text)
		var names []string
		for _, v := range p.Variables {
			names = append(names, v.Name)
		}
		require.Equal(t, c.names, strings.Join(names, " "))
		for _, at := range c.points {
			e, ok := judge(p, at.x)
			require.InDelta(t, at.e, e, 1e-12, "%s %v:\n%s", c.format, at.x, c.text)
			require.Equal(t, at.ok, ok, "%s %v:\n%s", c.format, at.x, c.text)
		}
	}
}

// A BQM as dimod 0.12 writes it: vectors are little-endian, labels in a section.
func TestReadBinaryBQM(t *testing.T) {
	header := `{"dtype": "float64", "itype": "int32", "ntype": "int32", "shape": [2, 1], "type": "BinaryQuadraticModel", "variables": true, "vartype": "BINARY"}` + "\n"
	for (8+2+4+len(header))%64 != 0 {
		header += " "
	}
	file := "DIMODBQM\x02\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8), 0, 0}) + header +
		"\x00\x00\x00\x00\x00\x00\xe0\x3f" + // 0.5
		"\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\xf0\x3f" + // row 0 at 0, bias 1
		"\x01\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00" + // row 1 at 1, bias 0
		"\x01\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x08\xc0" + // neighbour 1, bias −3
		"\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x08\xc0" // neighbour 0
	labels := `["a", 7]`
	file += "VARS" + "\x38\x00\x00\x00" + labels + strings.Repeat(" ", 56-len(labels))
	p, err := read.NewProgram(strings.NewReader(file), "bqm")
	require.NoError(t, err)
	require.Equal(t, []read.Variable{{Name: "a", Upper: 1}, {Name: "7", Upper: 1}}, p.Variables)
	require.Equal(t, -1.5, read.Value(p.Objective, []float64{1, 1}))
	for n := range len(file) - 60 {
		_, err := read.NewProgram(strings.NewReader(file[:n]), "bqm")
		require.Error(t, err)
	}
}
