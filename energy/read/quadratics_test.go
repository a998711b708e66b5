package read_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// instance is a quadratic energy as the writers of this test know it: w over
// i ≤ j, the diagonal linear.
type instance struct {
	spins  bool
	names  []string
	offset float64
	w      [][]float64
}

// newInstance draws one with dyadic coefficients, so that every sum is exact.
func newInstance(r *rand.Rand, spins bool) instance {
	n := 1 + r.IntN(5)
	in := instance{spins: spins, offset: float64(r.IntN(65)-32) / 8, w: make([][]float64, n)}
	for i := range n {
		in.names = append(in.names, fmt.Sprintf("x, %d", 7*i+3))
		in.w[i] = make([]float64, n)
		for j := i; j < n; j++ {
			if r.IntN(3) > 0 {
				in.w[i][j] = float64(r.IntN(65)-32) / 8
			}
		}
	}
	return in
}

func (in instance) energy(x []int32) float64 {
	value := func(i int) float64 {
		if in.spins {
			return float64(2*x[i] - 1)
		}
		return float64(x[i])
	}
	e := in.offset
	for i, row := range in.w {
		for j, w := range row {
			if i == j {
				e += w * value(i)
			} else {
				e += w * value(i) * value(j)
			}
		}
	}
	return e
}

// check reads a text and compares the model with the instance on every state.
func (in instance) check(t *testing.T, text string, reader func(io.Reader) (*model.Quadratic, []string, error), names []string) {
	t.Helper()
	m, got, err := reader(strings.NewReader(text))
	require.NoError(t, err, text)
	require.Equal(t, names, got)
	sites, levels := m.Shape()
	require.Equal(t, []int{len(in.w), 2}, []int{sites, levels}, text)
	exact.CheckModel(t, m, true, in.energy)
}

func (in instance) qubo() string {
	var b strings.Builder
	nodes, couplers := 0, 0
	for i := range in.w {
		for j, w := range in.w[i] {
			if w == 0 {
				continue
			}
			fmt.Fprintf(&b, "%d  %d %v\n", i, j, w)
			if i == j {
				nodes++
			} else {
				couplers++
			}
		}
	}
	return fmt.Sprintf("c written by a test\np qubo 0 %d %d %d\n%s", len(in.w), nodes, couplers, b.String())
}

func (in instance) bqm() string {
	kind := map[bool]string{false: "BINARY", true: "SPIN"}[in.spins]
	head, tail, bias, linear := []int{}, []int{}, []float64{}, []float64{}
	for i := range in.w {
		linear = append(linear, in.w[i][i])
		for j := i + 1; j < len(in.w); j++ {
			if in.w[i][j] != 0 {
				head, tail, bias = append(head, j), append(tail, i), append(bias, in.w[i][j])
			}
		}
	}
	b, _ := json.MarshalIndent(map[string]any{
		"type": "BinaryQuadraticModel", "version": map[string]string{"bqm_schema": "3.0.0"}, "use_bytes": false,
		"index_type": "uint16", "bias_type": "float64", "num_variables": len(in.w), "num_interactions": len(bias),
		"variable_labels": in.names, "variable_type": kind, "offset": in.offset, "info": map[string]any{},
		"linear_biases": linear, "quadratic_biases": bias, "quadratic_head": head, "quadratic_tail": tail,
	}, "", " ")
	return string(b)
}

// bqpjson writes the instance with a scale of 4, and a term that cancels.
func (in instance) bqpjson() string {
	kind := map[bool]string{false: "boolean", true: "spin"}[in.spins]
	ids := make([]int, len(in.w))
	linear := []map[string]any{{"id": 5, "coeff": 3}, {"id": 5, "coeff": -3}}
	quadratic := []map[string]any{}
	for i := range in.w {
		ids[i] = 5 + 3*i
		linear = append(linear, map[string]any{"id": ids[i], "coeff": in.w[i][i] / 4})
		for j := range i {
			quadratic = append(quadratic, map[string]any{"id_tail": ids[j], "id_head": ids[i], "coeff": in.w[j][i] / 4})
		}
	}
	b, _ := json.Marshal(map[string]any{
		"id": 0, "version": "1.0.0", "variable_ids": ids, "variable_domain": kind, "scale": 4, "offset": in.offset / 4,
		"linear_terms": linear, "quadratic_terms": quadratic, "metadata": map[string]any{}, "solutions": []any{},
	})
	return string(b)
}

// csv writes a matrix; names say where: 1 in the first line, 2 in the first
// column, 4 under a corner.
func (in instance) csv(names int, comma string) string {
	var b strings.Builder
	if names&1 != 0 {
		if names&4 != 0 {
			b.WriteString("corner" + comma)
		}
		b.WriteString(`"` + strings.Join(in.names, `"`+comma+` "`) + "\"\n")
	}
	for i, row := range in.w {
		if names&2 != 0 {
			b.WriteString(`"` + in.names[i] + `"` + comma)
		}
		for j, w := range row {
			if j > 0 {
				b.WriteString(comma + " ")
			}
			fmt.Fprint(&b, w)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func unnamed(reader func(io.Reader) (*model.Quadratic, error)) func(io.Reader) (*model.Quadratic, []string, error) {
	return func(r io.Reader) (*model.Quadratic, []string, error) {
		m, err := reader(r)
		return m, nil, err
	}
}

func TestRoundTripsOfQuadratics(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(14, 1))
	for range 100 {
		in := newInstance(r, r.IntN(2) == 0)
		in.check(t, in.bqm(), read.BQM, in.names)
		var ids []string
		for i := range in.w {
			ids = append(ids, fmt.Sprint(5+3*i))
		}
		in.check(t, in.bqpjson(), read.BQPJSON, ids)

		in.offset = 0 // the others have none
		for _, names := range []int{0, 1, 2, 1 | 2, 1 | 2 | 4} {
			for _, comma := range []string{",", ";"} {
				want := in.names
				if names == 0 {
					want = nil
				}
				in.check(t, in.csv(names, comma), func(r io.Reader) (*model.Quadratic, []string, error) {
					return read.CSV(r, read.CSVConfig{Spins: in.spins, Comma: rune(comma[0])})
				}, want)
			}
		}
		in.spins = false
		in.check(t, in.qubo(), unnamed(read.QBSolv), nil)
	}
}

// A broken twin: an instance with one coefficient off must not pass for what was
// written. (The comparison of every round trip rests on this.)
func TestRoundTripSeesOneCoefficient(t *testing.T) {
	in := instance{w: [][]float64{{1, 2}, {0, 3}}, names: []string{"a", "b"}}
	other := instance{w: [][]float64{{1, 2.125}, {0, 3}}}
	m, _, err := read.BQM(strings.NewReader(in.bqm()))
	require.NoError(t, err)
	e := make([]float64, 1)
	m.Energy(e, []int32{1, 1})
	require.Equal(t, 6.0, e[0])
	require.NotEqual(t, other.energy([]int32{1, 1}), e[0])
}

// The example of the documentation of qbsolv's format, by hand.
func TestQBSolvByHand(t *testing.T) {
	m, err := read.QBSolv(strings.NewReader("c comment\n\np qubo unconstrained 4 2 2\n0 0 3.4\n2 2 -6\nc between\n0 2 2\n2 3 -1.5\n"))
	require.NoError(t, err)
	exact.CheckModel(t, m, false, func(x []int32) float64 {
		return 3.4*float64(x[0]) - 6*float64(x[2]) + 2*float64(x[0]*x[2]) - 1.5*float64(x[2]*x[3])
	})
}

func TestQuadraticsRefuse(t *testing.T) {
	in := instance{w: [][]float64{{1, 2}, {0, 3}}, names: []string{"a", "b"}}
	swap := func(text, old, by string) string {
		require.Equal(t, 1, strings.Count(text, old), "%q in %s", old, text)
		return strings.Replace(text, old, by, 1)
	}
	bqm, bqp := in.bqm(), in.bqpjson()
	for _, c := range []struct {
		reader   string
		in, want string
	}{
		{"QBSolv", "c only\n", "no lines, want p qubo topology maxNodes nNodes nCouplers"},
		{"QBSolv", "p qubo 0 2 2\n", "line 1: 5 columns, want p qubo"},
		{"QBSolv", "p sat 0 2 2 1\n", `line 1: "p" "sat", want p qubo`},
		{"QBSolv", "p qubo 0 0 0 0", "line 1: column 4: maxNodes = 0, want an integer in 1 …"},
		{"QBSolv", "p qubo 0 2 3 0", "line 1: column 5: nNodes = 3, want an integer in 0 … 2"},
		{"QBSolv", "p qubo 0 2 2 x", `line 1: column 6: nCouplers = "x", want`},
		{"QBSolv", "p qubo 0 2 0 1\n1 0 1", "line 2: column 2: j = 0, want an integer in 1 … 1"},
		{"QBSolv", "p qubo 0 2 0 1\n0 1", "line 2: 2 columns, want i j w"},
		{"QBSolv", "p qubo 0 2 0 1\n5 1 1", "line 2: column 1: i = 5, want an integer in 0 … 1"},
		{"QBSolv", "p qubo 0 2 0 1\n0 1 inf", "line 2: column 3: w = inf, want a finite number"},
		{"QBSolv", "p qubo 0 2 1 0\n1 1 1\n1 1 1", "line 3: the entry 1 1 a second time"},
		{"QBSolv", "p qubo 0 2 1 1\n1 1 1\n", "1 nodes and 0 couplers, want nNodes = 1 and nCouplers = 1"},
		{"QBSolv", "p qubo 0 2000000000 0 0\n", "2000000000 sites with 0 entries, want ≤ 1048576"},
		{"BQM", "[]", "line 1: column 1: an array, want an object"},
		{"BQM", "{", "line 1: column 2: the JSON value ends too early"},
		{"BQM", "{}", "line 1: column 1: type = missing, want a string"},
		{"BQM", swap(bqm, `"BinaryQuadraticModel"`, `"ConstrainedQuadraticModel"`), `type = "ConstrainedQuadraticModel", want BinaryQuadraticModel`},
		{"BQM", swap(bqm, "3.0.0", "1.0.0"), `bqm_schema = "1.0.0", want 3.0.0`},
		{"BQM", swap(bqm, `"use_bytes": false`, `"use_bytes": true`), "use_bytes = true, want false"},
		{"BQM", swap(bqm, "BINARY", "INTEGER"), `variable_type = "INTEGER", want SPIN or BINARY`},
		{"BQM", swap(bqm, `"offset": 0`, `"offset": "0"`), `offset = "0", want a number`},
		{"BQM", swap(bqm, `"offset": 0`, `"offset": 1e999`), "offset = 1e999, want a finite number"},
		{"BQM", swap(bqm, "  \"b\"", "  \"a\""), `variable_labels[1] = "a", which is variable_labels[0], too`},
		{"BQM", swap(bqm, ",\n  \"b\"", ""), "2 linear_biases, want 1, one for each of variable_labels"},
		{"BQM", swap(bqm, "\"quadratic_head\": [\n  1\n ]", "\"quadratic_head\": []"), "0 quadratic_head, 1 quadratic_tail and 1 quadratic_biases"},
		{"BQM", swap(bqm, "\"quadratic_head\": [\n  1\n ]", "\"quadratic_head\": [\n  2\n ]"), "quadratic_head = 2, want an integer in 0 … 1"},
		{"BQM", swap(bqm, "\"quadratic_head\": [\n  1\n ]", "\"quadratic_head\": [\n  0\n ]"), "quadratic_head = quadratic_tail = 0, want different variables"},
		{"BQM", swap(bqm, `"num_variables": 2`, `"num_variables": 3`), "num_variables = 3, want 2"},
		{"BQPJSON", swap(bqp, `"boolean"`, `"bits"`), `variable_domain = "bits", want spin or boolean`},
		{"BQPJSON", swap(bqp, `[5,8]`, `[]`), "variable_ids is empty"},
		{"BQPJSON", swap(bqp, `"scale":4`, `"scale":null`), "scale = null, want a number"},
		{"BQPJSON", swap(bqp, `"id_tail":5`, `"id_tail":6`), "id_tail = 6, want one of variable_ids"},
		{"BQPJSON", swap(bqp, `"id_tail":5`, `"id_tail":8`), "id_head = id_tail = 8, want different variables"},
		{"BQPJSON", swap(bqp, `"id_tail":5`, `"tail":5`), "id_tail = missing, want a number"},
		{"CSV", "", "no lines, want a square matrix"},
		{"CSV", "1,2\n3\n", "line 2: column 1: 1 values, want 2, the number of rows"},
		{"CSV", "1,2\n3,x4\n", `line 2: column 3: w = "x4", want a finite number`},
		{"CSV", "1,\n3,4\n", `w = "", want a finite number`},
		{"CSV", "a,b\n1,2\n", "line 1: column 1: 2 names over 1 rows"},
		{"CSV", "a,a\n1,2\n3,4\n", "sites 0 and 1 are called \"a\""},
		{"CSV", ",a,b\na,1,2\nc,3,4\n", `line 3: column 1: the name "c", want "b"`},
		{"CSV", "1,\"2\n", "line 1: column 6: extraneous or missing"},
	} {
		_, _, err := quadratics[c.reader](strings.NewReader(c.in))
		assert.ErrorContains(t, err, c.want, "%s", c.in)
		assert.ErrorContains(t, err, "read: "+c.reader+": ")
	}
	for name, reader := range quadratics {
		_, _, err := reader(iotest.ErrReader(io.ErrClosedPipe))
		assert.ErrorIs(t, err, io.ErrClosedPipe, name)
	}
}

var quadratics = map[string]func(io.Reader) (*model.Quadratic, []string, error){
	"QBSolv": unnamed(read.QBSolv), "BQM": read.BQM, "BQPJSON": read.BQPJSON,
	"CSV": func(r io.Reader) (*model.Quadratic, []string, error) { return read.CSV(r, read.CSVConfig{}) },
}

// Labels that are not texts are shown as they are written.
func TestBQMLabels(t *testing.T) {
	text := instance{w: [][]float64{{1, 2}, {0, 3}}, names: []string{"a", "b"}}.bqm()
	_, names, err := read.BQM(strings.NewReader(strings.Replace(text, `"a"`, `[1, ["q", 2.5]]`, 1)))
	require.NoError(t, err)
	require.Equal(t, []string{"(1, (q, 2.5))", "b"}, names)
}

func fuzzQuadratic(f *testing.F, name string, write func(instance) string) {
	r := rand.New(rand.NewPCG(14, 2))
	for k := range 6 {
		f.Add(write(newInstance(r, k%2 == 0)))
	}
	f.Fuzz(func(t *testing.T, in string) {
		m, names, err := quadratics[name](strings.NewReader(in))
		if err != nil {
			require.Regexp(t, "^(read|model): ", err.Error())
			return
		}
		sites, _ := m.Shape()
		require.GreaterOrEqual(t, sites, 1)
		require.LessOrEqual(t, sites, max(len(in), 1<<20))
		require.Contains(t, []int{0, sites}, len(names))
		e := make([]float64, 1)
		m.Energy(e, make([]int32, sites))
		require.Zero(t, e[0]-e[0], "not finite")
	})
}

func FuzzReadQBSolv(f *testing.F)  { fuzzQuadratic(f, "QBSolv", instance.qubo) }
func FuzzReadBQM(f *testing.F)     { fuzzQuadratic(f, "BQM", instance.bqm) }
func FuzzReadBQPJSON(f *testing.F) { fuzzQuadratic(f, "BQPJSON", instance.bqpjson) }
func FuzzReadCSV(f *testing.F) {
	fuzzQuadratic(f, "CSV", func(in instance) string { return in.csv(len(in.w)%4, ",") })
}
