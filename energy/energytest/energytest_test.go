package energytest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/energytest"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// path is E(x) = −J Σ [x_i = x_{i+1}] − Σ h_i x_i over two levels, of which the last
// site is never 1, with everything that a model can know, unless it has one
// of the bugs below.
type path struct{ Bug string }

const sites, coupling = 6, 0.7

var (
	fields = []float64{0.3, -0.2, 1, 0.1, -0.6, 0.4}
	calls  atomic.Int64
	sink   atomic.Pointer[[]float64] // from several goroutines
)

func (p path) Shape() (int, int) {
	if p.Bug == "shape" {
		return sites, 2 + int(calls.Add(1)%5/4)
	}
	return sites, 2
}

func (p path) Energy(e []float64, x []int32) {
	if p.Bug != "lengths" && len(x) != len(e)*sites {
		panic(fmt.Sprintf("path: len(x) = %d, want %d", len(x), len(e)*sites))
	}
	if p.Bug == "allocation" {
		some := make([]float64, len(e))
		sink.Store(&some)
	}
	for s := range e {
		e[s] = p.energy(x[s*sites:(s+1)*sites], 1)
		switch {
		case p.Bug == "batch" && s == 3, p.Bug == "calls" && calls.Add(1)%30 == 0:
			e[s] += 1e-6
		case p.Bug == "fails" && x[s*sites] == 1:
			e[s] = math.NaN()
		case p.Bug == "x" && s == 2:
			x[s*sites] = 1 - x[s*sites]
		}
	}
}

func (p path) energy(x []int32, h float64) (e float64) {
	for i, l := range x {
		e -= h * fields[i] * float64(l)
		if i > 0 && x[i-1] == l {
			e -= coupling
		}
	}
	if x[sites-1] == 1 {
		return math.Inf(1)
	}
	return e
}

func (p path) Conditional(d []float64, site int, x []int32) {
	if len(d) != 2 || len(x) != sites {
		panic(fmt.Sprintf("path: len(d) = %d, len(x) = %d", len(d), len(x)))
	}
	y := [sites]int32(x)
	for l := range d {
		y[site] = int32(l)
		d[l] = p.energy(y[:], 1) - p.energy(x, 1)
		if p.Bug == "conditional" {
			d[l] *= 2
		}
	}
}

func (p path) Locals(d []float64, x []int32) {
	if len(d) != 2*sites {
		panic(fmt.Sprintf("path: len(d) = %d, want %d", len(d), 2*sites))
	}
	for i := range x {
		row := d[2*i : 2*i+2]
		p.Conditional(row, i, x)
		if at := row[x[i]]; math.IsNaN(at) {
			row[0], row[1] = 0, 0
		}
		if p.Bug == "locals" && i == 2 {
			row[1] += 0.01
		}
	}
}

func (p path) Move(d []float64, site int, to int32, x []int32) {
	y := [sites]int32(x)
	y[site] = to
	before, after := make([]float64, 2*sites), make([]float64, 2*sites)
	p.Locals(before, x)
	p.Locals(after, y[:])
	for i := range d {
		switch j := i / 2; {
		case j == site || p.Bug == "move" && j > site:
		case p.Bug == "move sets", math.IsInf(after[i], 1):
			d[i] = after[i]
		default:
			d[i] += after[i] - before[i]
		}
	}
}

func (p path) Graph() (start, adj []int32) {
	switch p.Bug {
	case "no edges":
		return make([]int32, sites+1), nil
	case "one way":
		return []int32{0, 1, 2, 3, 4, 5, 5}, []int32{1, 2, 3, 4, 5}
	}
	return []int32{0, 1, 3, 5, 7, 9, 10}, []int32{1, 0, 2, 1, 3, 2, 4, 3, 5, 4}
}

func (p path) Matching() (float64, []float64, bool) {
	if p.Bug == "matching" {
		return coupling, []float64{0, 1}, true
	}
	return 0, nil, false
}

func (p path) Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool) {
	bond := []float64{-coupling, 0, 0, -coupling}
	if p.Bug == "factors" {
		bond = []float64{-coupling, 0, 0, coupling}
	}
	for i := range int32(sites) {
		cards, scopes, tables = append(cards, 2), append(scopes, []int32{i}), append(tables, []float64{0, -fields[i]})
		if i > 0 {
			scopes, tables = append(scopes, []int32{i - 1, i}), append(tables, bond)
		}
	}
	cards[sites-1] = 1 // the last site is never 1
	tables[len(tables)-2], tables[len(tables)-1] = []float64{0}, []float64{-coupling, 0}
	switch p.Bug {
	case "cards":
		cards[2] = 3
	case "scopes":
		scopes[2] = []int32{1, 1}
	case "sizes":
		tables[0] = bond
	case "entries":
		tables[0] = []float64{0, math.Inf(-1)}
	}
	return cards, scopes, tables, true
}

func (p path) Values() []float32 {
	if p.Bug == "values" {
		return []float32{1, 0}
	}
	return []float32{0, 1.5}
}

func (p path) Field(e []float64, h []float32, x []int32) {
	p.Energy(e, x)
	if len(h) != len(x) {
		panic(fmt.Sprintf("path: len(h) = %d, want %d", len(h), len(x)))
	}
	for at := range x {
		i := at % sites
		y := [sites]int32(x[at-i : at-i+sites])
		y[i] = 0
		down := p.field(y[:])
		y[i] = 1
		h[at] = float32(p.field(y[:]) - down)
		if p.Bug == "row" && at >= sites {
			h[at] += float32(x[at-sites])
		}
	}
	if p.Bug == "table energy" && len(e) > 4 {
		e[4]++
	}
}

func (p path) field(x []int32) float64 {
	if p.Bug == "field" {
		return p.energy(x, 1.1)
	}
	return p.energy(x, 1)
}

func (p path) Gradient(e []float64, g []float32, x []int32) {
	p.Energy(e, x)
	if len(g) != 2*len(x) {
		panic(fmt.Sprintf("path: len(g) = %d, want %d", len(g), 2*len(x)))
	}
	for at, l := range x {
		i := at % sites
		y := [sites]int32(x[at-i : at-i+sites])
		y[i] = 1 - l
		g[2*at+int(l)] = 0
		g[2*at+int(1-l)] = float32(p.energy(y[:], 1) - p.energy(x[at-i:at-i+sites], 1))
		if p.Bug == "gauge" && i == 2 {
			g[2*at], g[2*at+1] = g[2*at]+1, g[2*at+1]+1
		}
		if p.Bug == "gradient" && i == 3 {
			g[2*at] *= 1.01
			g[2*at+1] *= 1.01
		}
	}
}

func (p path) Window(e []float64, g []float32, x []int32, w int) {
	p.Energy(e, x)
	if len(g) != (2*w+1)*len(x) {
		panic(fmt.Sprintf("path: len(g) = %d, want %d", len(g), (2*w+1)*len(x)))
	}
	table, own := make([]float32, 2*len(x)), make([]float64, len(e))
	path{}.Gradient(own, table, x)
	for at, l := range x {
		for k := range 2*w + 1 {
			to := int(l) + k - w
			v := float32(math.Inf(1))
			if to >= 0 && to < 2 {
				v = table[2*at+to]
			} else if p.Bug == "window" {
				v = 0
			}
			g[at*(2*w+1)+k] = v
		}
	}
}

func (p path) Estimate(g []float32, x []int32, src []rand.Source) {
	e := make([]float64, len(src))
	path{}.Gradient(e, g, x)
	for s := range src {
		noise := float32(rand.New(src[s]).NormFloat64())
		if p.Bug == "estimate" {
			noise += 0.2
		}
		for i := range sites {
			at := s*sites + i
			g[2*at+int(1-x[at])] += noise
		}
	}
}

func (p path) Repair(x []int32) {
	for ; len(x) > 0; x = x[sites:] {
		if p.Bug != "no repair" {
			x[sites-1] = 0
		}
		if p.Bug == "repairs too much" {
			x[0] = 0
		}
	}
}

// learner is a model of independent sites whose parameters are its fields.
type learner struct {
	Bug   string
	theta []float64
}

func (p *learner) Shape() (int, int) { return len(p.theta), 2 }

func (p *learner) Energy(e []float64, x []int32) {
	n := len(p.theta)
	if len(x) != len(e)*n {
		panic(fmt.Sprintf("learner: len(x) = %d, want %d", len(x), len(e)*n))
	}
	for s := range e {
		e[s] = 0
		for i, h := range p.theta {
			e[s] -= h * float64(x[s*n+i])
		}
	}
}

func (p *learner) Params() []float64 {
	if p.Bug == "alias" {
		return p.theta
	}
	return append([]float64(nil), p.theta...)
}

func (p *learner) ParamGradient(g []float64, x []int32, w []float64) {
	if p.Bug == "overwrites" {
		clear(g)
	}
	sign := 1.0
	if p.Bug == "sign" {
		sign = -1
	}
	for at, l := range x {
		g[at%len(g)] -= sign * w[at/len(g)] * float64(l)
	}
}

func (p *learner) SetParams(theta []float64) error {
	for i, v := range theta {
		if p.Bug == "torn" && i < len(p.theta) {
			p.theta[i] = v
		}
		if p.Bug != "NaN" && math.IsNaN(v) {
			return fmt.Errorf("theta[%d] = NaN", i)
		}
	}
	if len(theta) != len(p.theta) {
		return fmt.Errorf("len(theta) = %d", len(theta))
	}
	copy(p.theta, theta)
	return nil
}

func TestRightModels(t *testing.T) {
	m := energy.Func{Sites: 4, Levels: 3, E: func(x []int32) float64 { return float64(x[0]*x[1] - x[2]*x[3]) }}
	require.NoError(t, energytest.TestModel(t.Context(), m, energytest.Options{}))
	require.NoError(t, energytest.TestModel(t.Context(), &learner{theta: []float64{1, -2, 0.5}}, energytest.Options{}))
	opt := energytest.Options{Skip: []string{"allocations"}} // Window and Estimate of this one allocate
	require.NoError(t, energytest.TestModel(t.Context(), path{}, opt))
	opt.Skip[0] = "speed"
	require.ErrorContains(t, energytest.TestModel(t.Context(), path{}, opt), `Skip names "speed", which is not a law`)
}

// Each of these models breaks one law, and is found by it.
func TestWrongModels(t *testing.T) {
	for bug, want := range map[string]string{
		"shape":            "Shape",
		"lengths":          "lengths: ",
		"batch":            "among 40 states",
		"calls":            "energies: energy of",
		"fails":            "energies: energy of",
		"x":                "energies: ",
		"conditional":      "singles: method Conditional, site",
		"locals":           "singles: Locals, site 2",
		"move":             "Move of site",
		"move sets":        "Move of site",
		"no edges":         "graphs: method Graph: sites",
		"one way":          "graphs: method Graph: site 0 has the neighbour 1, and that not the first",
		"matching":         "graphs: method Matching: the difference E",
		"factors":          "graphs: method Factors: energy of",
		"cards":            "graphs: method Factors: cards[2] = 3, want 1 … 2",
		"scopes":           "graphs: method Factors: scopes[2] = [1 1], want distinct",
		"sizes":            "graphs: method Factors: len(tables[0]) = 4",
		"entries":          "graphs: method Factors: tables[0] has an entry -Inf",
		"values":           "values: its Values are [1 0], want finite and strictly ascending numbers",
		"field":            "tables: Field, site",
		"row":              "depends on the other states of the batch",
		"table energy":     "tables: Field: energy of",
		"gauge":            "tables: Gradient, site 2",
		"gradient":         "tables: Gradient, site 3",
		"window":           "outside the domain, = 0, want +Inf",
		"estimate":         "estimates: site",
		"no repair":        "supports: method Repair makes",
		"repairs too much": "supports: method Repair makes",
		"allocation":       "allocations: ",
	} {
		t.Run(bug, func(t *testing.T) {
			if bug == "allocation" {
				exact.SkipUnderRace(t)
			}
			err := energytest.TestModel(t.Context(), path{bug}, energytest.Options{})
			require.ErrorContains(t, err, want)
		})
	}
	for bug, want := range map[string]string{
		"alias":      "parameters: method Params returns no copy",
		"overwrites": "parameters: ParamGradient does not add",
		"sign":       "parameters: derivative by the parameters",
		"torn":       "parameters: SetParams that returns an error changes the model",
		"NaN":        "parameters: SetParams of NaN returns no error",
	} {
		t.Run(bug, func(t *testing.T) {
			require.ErrorContains(t, energytest.TestModel(t.Context(), &learner{bug, []float64{1, -2, 0.5}}, energytest.Options{}), want)
		})
	}
}
