package read

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"

	"encoding/json"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// quadratic holds the contents of a file of a quadratic energy.
type quadratic struct {
	q     []model.Edge
	p     model.Polynomial
	names []string // names of the variables; nil means numbers from 0
}

func (q *quadratic) model() (*model.Quadratic, error) {
	return model.NewQuadratic(len(q.p.Linear), q.q, q.p)
}

// program returns the energy as a Program. The variables are spins if the file declares spins, and
// bits otherwise.
func (q *quadratic) program() *Program {
	p := &Program{Variables: numbered(len(q.p.Linear), 0, q.p.Values != nil)}
	for i, name := range q.names {
		p.Variables[i].Name = name
	}
	if q.p.Constant != 0 {
		p.Objective = append(p.Objective, Monomial{W: q.p.Constant})
	}
	for i, w := range q.p.Linear {
		if w != 0 {
			p.Objective = append(p.Objective, Monomial{w, []int{i}})
		}
	}
	for _, e := range q.q {
		p.Objective = append(p.Objective, Monomial{e.W, []int{e.I, e.J}})
	}
	return p
}

// quadratics turns a reader of quadratic energies into a reader of programs.
func quadratics(read func(io.Reader) (*quadratic, error)) func(io.Reader) (*Program, error) {
	return func(r io.Reader) (*Program, error) {
		q, err := read(r)
		if err != nil {
			return nil, err
		}
		return q.program(), nil
	}
}

// readJSON reads a file in the format BQM or BQPJSON. It recognises BQPJSON by its field
// variable_domain.
func readJSON(r io.Reader) (*quadratic, error) {
	f := newFields("BQM", r)
	if f.err == nil && f.root.Get("variable_domain") != nil {
		f.caller = "BQPJSON"
		return f.bqpDocument()
	}
	return f.bqmDocument()
}

// readCut reads a graph whose cut is to be maximised: the objective is minus the weight of the cut.
func readCut(r io.Reader) (*Program, error) {
	g, err := Rudy(r)
	if err != nil {
		return nil, err
	}
	p := &Program{Variables: numbered(g.Sites(), 1, true)}
	for e := range g.Edges() {
		p.Objective = append(p.Objective, Monomial{W: -e.W / 2}, Monomial{e.W / 2, []int{e.I, e.J}})
	}
	return p, nil
}

// readMQLib reads a QUBO of MQLib, whose value Σ_ij Q_ij x_i x_j is to be maximised. A line gives
// an entry and its mirror image.
func readMQLib(r io.Reader) (*Program, error) {
	l := newLines("MQLib", r)
	l.comment = "#"
	if err := l.first("the numbers of variables and lines"); err != nil {
		return nil, err
	}
	if err := l.want(2, 2, "n m"); err != nil {
		return nil, err
	}
	n, err := l.integer(0, "n", 1, math.MaxInt32-1)
	if err != nil {
		return nil, err
	}
	m, err := l.integer(1, "m", 0, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	p := &Program{}
	seen := map[[2]int]bool{}
	for {
		ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := l.want(3, 3, "i j w"); err != nil {
			return nil, err
		}
		var of [2]int
		for k, name := range []string{"i", "j"} {
			if of[k], err = l.integer(k, name, 1, n); err != nil {
				return nil, err
			}
			of[k]--
		}
		w, err := l.real(2, "w")
		if err != nil {
			return nil, err
		}
		of = [2]int{min(of[0], of[1]), max(of[0], of[1])}
		if seen[of] {
			return nil, l.errorf("the entry %d %d a second time", of[0]+1, of[1]+1)
		}
		seen[of] = true
		if of[0] == of[1] {
			p.Objective = append(p.Objective, Monomial{-w, []int{of[0]}})
		} else {
			p.Objective = append(p.Objective, Monomial{-2 * w, of[:]})
		}
	}
	if len(seen) != m {
		return nil, l.failf("%d entries, want m = %d", len(seen), m)
	}
	if err := checkSites("MQLib", n, len(seen)); err != nil {
		return nil, err
	}
	p.Variables = numbered(n, 1, false)
	return p, nil
}

// numberedFrom returns an error unless the variables are named by consecutive numbers from first.
func (p *Program) numberedFrom(first int) error {
	for i, v := range p.Variables {
		if v.Name != strconv.Itoa(first+i) {
			return fmt.Errorf("variable %d has the name %s, want %d: the format has no names", i, check.Quote(v.Name), first+i)
		}
	}
	return nil
}

// square returns the objective of a program without constraints as a quadratic function. spins says
// whether spins are allowed.
func (p *Program) square(spins bool) (constant float64, linear, square []Monomial, err error) {
	if err := p.unconstrained(spins); err != nil {
		return 0, nil, nil, err
	}
	return p.quadratic(p.Objective)
}

func writeCOO(w *bufio.Writer, p *Program) error {
	if err := p.numberedFrom(0); err != nil {
		return err
	}
	constant, linear, square, err := p.square(true)
	if err != nil {
		return err
	}
	if constant != 0 {
		return fmt.Errorf("the constant %v, which the format does not have", constant)
	}
	fmt.Fprintf(w, "%s %d\n", map[bool]string{false: "bits", true: "spins"}[p.Variables[0].Spin], len(p.Variables))
	writeTerms(w, linear, square)
	return nil
}

// writeTerms writes a line for each coefficient. A linear coefficient has the number of its
// variable twice.
func writeTerms(w *bufio.Writer, linear, square []Monomial) {
	for _, m := range linear {
		fmt.Fprintln(w, m.Of[0], m.Of[0], digits(m.W))
	}
	for _, m := range square {
		fmt.Fprintln(w, m.Of[0], m.Of[1], digits(m.W))
	}
}

func writeQBSolv(w *bufio.Writer, p *Program) error {
	if err := p.numberedFrom(0); err != nil {
		return err
	}
	constant, linear, square, err := p.square(false)
	if err != nil {
		return err
	}
	if constant != 0 {
		return fmt.Errorf("the constant %v, which the format does not have", constant)
	}
	fmt.Fprintf(w, "p qubo 0 %d %d %d\n", len(p.Variables), len(linear), len(square))
	writeTerms(w, linear, square)
	return nil
}

func writeMQLib(w *bufio.Writer, p *Program) error {
	if err := p.numberedFrom(1); err != nil {
		return err
	}
	constant, linear, square, err := p.square(false)
	if err != nil {
		return err
	}
	if constant != 0 {
		return fmt.Errorf("the constant %v, which the format does not have", constant)
	}
	fmt.Fprintln(w, len(p.Variables), len(linear)+len(square))
	for _, m := range linear {
		fmt.Fprintln(w, m.Of[0]+1, m.Of[0]+1, digits(-m.W))
	}
	for _, m := range square {
		fmt.Fprintln(w, m.Of[0]+1, m.Of[1]+1, digits(-m.W/2))
	}
	return nil
}

// writeRudy writes a program as a graph. It returns an error unless the objective is minus the
// weight of the cuts of a graph.
func writeRudy(w *bufio.Writer, p *Program) error {
	if err := p.numberedFrom(1); err != nil {
		return err
	}
	constant, linear, square, err := p.square(true)
	if err != nil {
		return err
	}
	total := 0.0
	for _, m := range square {
		total -= m.W
	}
	if len(linear) > 0 || constant != total || !p.Variables[0].Spin {
		return fmt.Errorf("the objective is no cut, want −½ Σ w_ij (1 − s_i s_j) over spins")
	}
	fmt.Fprintln(w, len(p.Variables), len(square))
	for _, m := range square {
		fmt.Fprintln(w, m.Of[0]+1, m.Of[1]+1, digits(2*m.W))
	}
	return nil
}

// writeJSON writes a program as JSON that dimod's BQM.from_serializable reads, schema 3.0.0.
func writeJSON(w *bufio.Writer, p *Program) error {
	constant, linear, square, err := p.square(true)
	if err != nil {
		return err
	}
	b := struct {
		Type         string            `json:"type"`
		Version      map[string]string `json:"version"`
		Bytes        bool              `json:"use_bytes"`
		IndexType    string            `json:"index_type"`
		BiasType     string            `json:"bias_type"`
		Variables    int               `json:"num_variables"`
		Interactions int               `json:"num_interactions"`
		Labels       []string          `json:"variable_labels"`
		Kind         string            `json:"variable_type"`
		Offset       float64           `json:"offset"`
		Info         struct{}          `json:"info"`
		Linear       []float64         `json:"linear_biases"`
		Quadratic    []float64         `json:"quadratic_biases"`
		Head         []int             `json:"quadratic_head"`
		Tail         []int             `json:"quadratic_tail"`
	}{
		Type: "BinaryQuadraticModel", Version: map[string]string{"bqm_schema": "3.0.0"}, IndexType: "int32", BiasType: "float64",
		Variables: len(p.Variables), Interactions: len(square), Kind: p.vartype(), Offset: constant,
		Linear: make([]float64, len(p.Variables)), Quadratic: []float64{}, Head: []int{}, Tail: []int{},
	}
	for _, v := range p.Variables {
		b.Labels = append(b.Labels, v.Name)
	}
	for _, m := range linear {
		b.Linear[m.Of[0]] = m.W
	}
	for _, m := range square {
		b.Head, b.Tail, b.Quadratic = append(b.Head, m.Of[0]), append(b.Tail, m.Of[1]), append(b.Quadratic, m.W)
	}
	return json.NewEncoder(w).Encode(b)
}

func (p *Program) vartype() string {
	if p.Variables[0].Spin {
		return "SPIN"
	}
	return "BINARY"
}
