package weighted

import (
	"reflect"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Sitewise is the sum Σ_k Coef[k]·E_k(x) of models that are sums over sites, as
// one table: however many there are, it costs as much as one. After a change of
// Coef comes Update.
//
// It is safe for concurrent use while Coef rests.
type Sitewise struct {
	Coef []float64

	sites, levels int
	models        []energy.Model
	tables        [][]float64 // per model: its constant, then sites × levels
	total         []float64   // the weighted sum of tables
	start         []int32     // of the empty graph
}

// NewSitewise returns the sum of no model.
func NewSitewise(sites, levels int) *Sitewise {
	return &Sitewise{sites: sites, levels: levels, total: make([]float64, 1+sites*levels), start: make([]int32, sites+1)}
}

// maxTables is the number of table entries up to which models are added, 128 MiB.
const maxTables = 1 << 24

// Append makes m one of the models, with coefficient 0, if it is not one already,
// and returns its number; ok is false, and nothing changes, unless m is a sum over
// sites of finite numbers: a graph without edges and conditionals say so. It is
// false, too, if tables become too large.
func (w *Sitewise) Append(m energy.Model) (number int, ok bool) {
	if reflect.TypeOf(m).Comparable() {
		if k := slices.Index(w.models, m); k >= 0 {
			return k, true
		}
	}
	if (len(w.tables)+1)*len(w.total) > maxTables {
		return 0, false
	}
	g, graphical := energy.As[energy.Graphical](m)
	c, conditional := energy.As[energy.Conditional](m)
	if !graphical || !conditional {
		return 0, false
	}
	if _, adj := g.Graph(); len(adj) > 0 {
		return 0, false
	}
	t := make([]float64, 1+w.sites*w.levels)
	x := make([]int32, w.sites)
	m.Energy(t[:1], x)
	for i := range x {
		c.Conditional(t[1+i*w.levels:1+(i+1)*w.levels], i, x)
	}
	for _, v := range t {
		if !check.Finite(v) {
			return 0, false
		}
	}
	w.models = append(w.models, m)
	w.tables = append(w.tables, t)
	w.Coef = append(w.Coef, 0)
	return len(w.Coef) - 1, true
}

// Update brings the sum up to date with Coef.
func (w *Sitewise) Update() {
	clear(w.total)
	for k, c := range w.Coef {
		if c != 0 {
			for i, v := range w.tables[k] {
				w.total[i] += float64(c * v)
			}
		}
	}
}

// row returns the costs of site i.
func (w *Sitewise) row(i int) []float64 { return w.total[1+i*w.levels : 1+(i+1)*w.levels] }

// Shape returns the shape of the models.
func (w *Sitewise) Shape() (sites, levels int) { return w.sites, w.levels }

// Energy implements energy.Model.
func (w *Sitewise) Energy(e []float64, x []int32) {
	check.Len("weighted", "x", len(x), len(e)*w.sites)
	for s := range e {
		sum := w.total[0]
		for i, l := range x[s*w.sites : (s+1)*w.sites] {
			sum += w.row(i)[l]
		}
		e[s] = sum
	}
}

// Gradient implements energy.Differentiable.
func (w *Sitewise) Gradient(e []float64, g []float32, x []int32) {
	w.Energy(e, x)
	check.Len("weighted", "g", len(g), len(x)*w.levels)
	for at, from := range x {
		row := w.row(at % w.sites)
		for l, v := range row {
			g[at*w.levels+l] = float32(v - row[from])
		}
	}
}

// Conditional implements energy.Conditional.
func (w *Sitewise) Conditional(d []float64, site int, x []int32) {
	row := w.row(site)
	from := row[x[site]]
	for l, v := range row {
		d[l] = v - from
	}
}

// Graph implements energy.Graphical; there are no neighbours.
func (w *Sitewise) Graph() (start, adj []int32) { return w.start, nil }

// As answers as energy.As asks.
func (w *Sitewise) As(target any) bool {
	return w.levels == 2 && energy.Give[energy.Binary](target, sitewiseField{w}) || energy.Give[energy.Local](target, sitewiseLocal{w})
}

// sitewiseField is a Sitewise of two levels.
type sitewiseField struct{ *Sitewise }

// Field implements energy.Binary.
func (w sitewiseField) Field(e []float64, h []float32, x []int32) {
	w.Energy(e, x)
	check.Len("weighted", "h", len(h), len(x))
	for at := range h {
		row := w.row(at % w.sites)
		h[at] = float32(row[1] - row[0])
	}
}

// sitewiseLocal is a Sitewise as energy.Local.
type sitewiseLocal struct{ *Sitewise }

// Locals implements energy.Local.
func (w sitewiseLocal) Locals(d []float64, x []int32) {
	check.Len("weighted", "d", len(d), w.sites*w.levels)
	copy(d, w.total[1:])
}

// Move implements energy.Local; no row depends on another site.
func (w sitewiseLocal) Move(d []float64, site int, to int32, x []int32) {}
