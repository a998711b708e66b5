package read_test

import (
	"fmt"
	"math"
	"strings"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
)

// A QUBO is a list of coefficients; a list for spins has the first line "spins".
func ExampleCOO() {
	bits, err := read.COO(strings.NewReader("0 1 -2\n1 2 1.5\n2 2 -1\n"), read.COOConfig{})
	if err != nil {
		panic(err)
	}
	spins, err := read.COO(strings.NewReader("spins\n0 1 -2\n1 2 1.5\n2 2 -1\n"), read.COOConfig{})
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	bits.Energy(e, []int32{1, 1, 0})
	fmt.Println("bits 110:", e[0])
	spins.Energy(e, []int32{1, 1, 0})
	fmt.Println("spins ++−:", e[0])
	more, err := read.COO(strings.NewReader("0 1 -2\n"), read.COOConfig{Sites: 5})
	if err != nil {
		panic(err)
	}
	sites, _ := more.Shape()
	fmt.Println("sites, some of them free:", sites)
	_, err = read.COO(strings.NewReader("0 1 -2\n1 x 1.5\n"), read.COOConfig{})
	fmt.Println(err)
	// Output:
	// bits 110: -2
	// spins ++−: -2.5
	// sites, some of them free: 5
	// read: COO: line 2: column 2: j = "x", want an integer in 0 … 2147483645
}

func ExampleRudy() {
	g, err := read.Rudy(strings.NewReader("3 2\n1 2 5\n2 3\n"))
	if err != nil {
		panic(err)
	}
	m, _ := model.MaxCut(g)
	e := make([]float64, 1)
	x := []int32{0, 1, 0}
	m.Energy(e, x)
	fmt.Printf("a cut of %v, the energy %v\n", g.Cut(x), e[0])
	_, err = read.Rudy(strings.NewReader("3 1\n1 4\n"))
	fmt.Println(err)
	// Output:
	// a cut of 6, the energy -3
	// read: Rudy: line 2: column 2: j = 4, want an integer in 1 … 3
}

func ExampleQBSolv() {
	m, err := read.QBSolv(strings.NewReader("p qubo 0 2 1 1\n0 0 -1\n0 1 2.5\n"))
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	m.Energy(e, []int32{1, 1})
	fmt.Println(e[0])
	// Output: 1.5
}

func ExampleDIMACS() {
	g, err := read.DIMACS(strings.NewReader("c a path\np edge 3 2\ne 1 2\ne 2 3\n"))
	if err != nil {
		panic(err)
	}
	fmt.Println(g.Sites(), "vertices,", g.Len(), "edges")
	// Output: 3 vertices, 2 edges
}

// What dimod's to_serializable gives, through json.dump.
func ExampleBQM() {
	m, labels, err := read.BQM(strings.NewReader(`{
		"type": "BinaryQuadraticModel", "version": {"bqm_schema": "3.0.0"},
		"variable_labels": ["left", "right"], "variable_type": "SPIN", "offset": 0.5,
		"linear_biases": [1, 0], "quadratic_biases": [-2], "quadratic_head": [0], "quadratic_tail": [1]}`))
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	m.Energy(e, []int32{1, 0})
	fmt.Println(labels, e[0])
	// Output: [left right] 3.5
}

func ExampleBQPJSON() {
	m, labels, err := read.BQPJSON(strings.NewReader(`{"version": "1.0.0", "id": 0,
		"variable_ids": [2, 4], "variable_domain": "boolean", "scale": 2, "offset": 1, "metadata": {},
		"linear_terms": [{"id": 4, "coeff": -1}], "quadratic_terms": [{"id_tail": 2, "id_head": 4, "coeff": 3}]}`))
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	m.Energy(e, []int32{1, 1})
	fmt.Println(labels, e[0])
	// Output: [2 4] 6
}

func ExampleCSV() {
	for comma, text := range map[rune]string{',': "tea, milk\n-1, 2\n0, -1\n", ';': "tea; milk\n-1; 2\n0; -1\n"} {
		m, names, err := read.CSV(strings.NewReader(text), read.CSVConfig{Comma: comma})
		if err != nil {
			panic(err)
		}
		e := make([]float64, 1)
		m.Energy(e, []int32{1, 0})
		fmt.Println(names, e[0])
	}
	// Output:
	// [tea milk] -1
	// [tea milk] -1
}

// Two variables that agree nine times out of ten.
func ExampleUAI() {
	m, err := read.UAI(strings.NewReader("MARKOV\n2\n2 2\n1\n2 0 1\n4 0.45 0.05 0.05 0.45\n"))
	if err != nil {
		panic(err)
	}
	e := make([]float64, 2)
	m.Energy(e, []int32{0, 0, 0, 1})
	fmt.Printf("%.4f = log 9\n", e[1]-e[0])
	// Output: 2.1972 = log 9
}

func ExampleWCSP() {
	m, err := read.WCSP(strings.NewReader("two 2 2 1 10\n2 2\n2 0 1 0 2\n0 1 3\n1 1 10\n"))
	if err != nil {
		panic(err)
	}
	e := make([]float64, 4)
	m.Energy(e, []int32{0, 0, 0, 1, 1, 0, 1, 1})
	fmt.Println(e)
	// Output: [0 3 0 +Inf]
}

func ExampleBIF() {
	var variables []read.Node
	m, variables, err := read.BIF(strings.NewReader(`
		network weather { }
		variable rain { type discrete [ 2 ] { yes, no }; }
		variable wet { type discrete [ 2 ] { yes, no }; }
		probability ( rain ) { table 0.2, 0.8; }
		probability ( wet | rain ) { (yes) 0.9, 0.1; default 0.05, 0.95; }`))
	if err != nil {
		panic(err)
	}
	e := make([]float64, 1)
	m.Energy(e, []int32{0, 1})
	fmt.Printf("p(%s = %s, %s = %s) = %.2f\n", variables[0].Name, variables[0].Values[0], variables[1].Name, variables[1].Values[1], math.Exp(-e[0]))
	// Output: p(rain = yes, wet = no) = 0.02
}
