package model

// sparse are couplings in compressed rows.
type sparse struct{ graph *Graph }

func (a sparse) halves(i int, x []int32, values []float64) (lo, hi float64) {
	g := a.graph
	from, mid, to := g.start[i], g.upper[i], g.start[i+1]
	for k := from; k < mid; k++ {
		lo += float64(g.weight[k] * values[x[g.adj[k]]])
	}
	for k := mid; k < to; k++ {
		hi += float64(g.weight[k] * values[x[g.adj[k]]])
	}
	return lo, hi
}

func (a sparse) move(d []float64, i int, dv float64, values []float64) {
	adj, weight := a.graph.Neighbors(i)
	for k, j := range adj {
		shift(d[int(j)*len(values):], float64(weight[k]*dv), values)
	}
}

// dense are couplings in full rows, with a diagonal of zeros.
type dense struct {
	rows  []float64
	sites int
}

// newDense returns the couplings of the n×n matrix a, which it keeps.
func newDense(a []float64, n int) dense { return dense{a, n} }

func (a dense) halves(i int, x []int32, values []float64) (lo, hi float64) {
	row := a.rows[i*a.sites : (i+1)*a.sites]
	return weigh(row[:i], x, values), weigh(row[i+1:], x[i+1:], values)
}

func (a dense) move(d []float64, i int, dv float64, values []float64) {
	if len(values) == 2 {
		step := values[1] - values[0]
		for j, w := range a.rows[i*a.sites : (i+1)*a.sites] {
			d[2*j+1] += float64(float64(w*dv) * step)
		}
		return
	}
	for j, w := range a.rows[i*a.sites : (i+1)*a.sites] {
		shift(d[j*len(values):], float64(w*dv), values)
	}
}

// weigh returns Σ w_j values[x_j], as four sums that are added at the end: one
// sum alone waits for the adder at every term.
func weigh(w []float64, x []int32, values []float64) float64 {
	x = x[:len(w)]
	var a, b, c, d float64
	for ; len(w) >= 4; w, x = w[4:], x[4:] {
		x := x[:4]
		a += float64(w[0] * values[x[0]])
		b += float64(w[1] * values[x[1]])
		c += float64(w[2] * values[x[2]])
		d += float64(w[3] * values[x[3]])
	}
	for j, v := range w {
		a += float64(v * values[x[j]])
	}
	return (a + b) + (c + d)
}

// shift adds c·(values[l] − values[0]) to row[l].
func shift(row []float64, c float64, values []float64) {
	for l := 1; l < len(values); l++ {
		row[l] += float64(c * (values[l] - values[0]))
	}
}
