package exact

import "math/rand/v2"

// Quadratic is E = −½ sᵀAs − bᵀs over spins: the target on which DULA's
// stationary law has a closed form. Its field is
type Quadratic struct {
	a [][]float64 // symmetric, zero diagonal
	b []float64
}

// NewQuadratic returns one with random couplings.
func NewQuadratic(sites int, seed uint64) *Quadratic {
	r := rand.New(rand.NewPCG(seed, 2))
	q := &Quadratic{a: make([][]float64, sites), b: make([]float64, sites)}
	for i := range q.a {
		q.a[i] = make([]float64, sites)
		q.b[i] = 0.3 * r.NormFloat64()
	}
	for i := range q.a {
		for j := range i {
			q.a[i][j] = 0.4 * r.NormFloat64()
			q.a[j][i] = q.a[i][j]
		}
	}
	return q
}

func (q *Quadratic) Shape() (int, int) { return len(q.b), 2 }

// Force returns Σ_j A_ij s_j + b_i.
func (q *Quadratic) Force(i int, x []int32) float64 {
	f := q.b[i]
	for j, l := range x {
		f += q.a[i][j] * float64(2*l-1)
	}
	return f
}

func (q *Quadratic) Energy(e []float64, x []int32) {
	n := len(q.b)
	for s := range e {
		row := x[s*n : (s+1)*n]
		e[s] = 0
		for i, l := range row {
			e[s] -= 0.5 * (q.Force(i, row) + q.b[i]) * float64(2*l-1)
		}
	}
}

func (q *Quadratic) Field(e []float64, h []float32, x []int32) {
	q.Energy(e, x)
	n := len(q.b)
	for k := range x {
		h[k] = float32(-2 * q.Force(k%n, x[k/n*n:k/n*n+n]))
	}
}
