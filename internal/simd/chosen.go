package simd

import "fmt"

// Set makes q the choice of the states x of so many sites. The lowest bit of an entry
// counts. It keeps nothing of x. It panics unless sites ≥ 1 and len(x) is a multiple of
// it.
func (q *Choice) Set(x []int32, sites int) {
	if sites < 1 || len(x)%sites != 0 {
		panic(fmt.Sprintf("simd: len(x) = %d, want a multiple of sites = %d, which is to be ≥ 1", len(x), sites))
	}
	q.states, q.sites = len(x)/sites, sites
	q.quads = room(q.quads, q.states*q.groups())
	for s := range q.states {
		quads(q.quads[s:], x[s*sites:(s+1)*sites], q.states)
	}
}

// AddChosen adds rows of the packed factor b to c,
//
//	c[s,j] += Σ_g T_gj,  T_gj = (b[4g,j] + b[4g+1,j]) + (b[4g+2,j] + b[4g+3,j]),
//
// where T_gj leaves out the rows that state s of q does not choose, and is 0 if it
// chooses none. Terms are added in ascending order of g, every sum rounded to float32:
// the bits are the same on every machine. It panics unless the sites of q are the rows
// of b and len(c) = states·n.
func (p *Packed) AddChosen(c []float32, q *Choice) {
	if q.sites != p.k {
		panic(fmt.Sprintf("simd: states of %d sites, want %d", q.sites, p.k))
	}
	checkLen("c", len(c), q.states*p.n)
	addChosen(c, p.b, p.panels, p.n, p.k, p.width, q)
}

// AddChosen64 stores in rows of dst, ld entries apart, and rounded to float32 in those
// of f, what [Packed.AddChosen] adds, in float64 and with every sum rounded to that, plus
// origin:
//
//	dst[s,j] = (Σ_g T_gj) + origin_j,  f[s,j] = dst[s,j] rounded,
//
// for the rows of w, sites × len(origin). It panics unless w has that length, ld ≥
// len(origin) and dst and f hold the last row.
func AddChosen64(dst []float64, f []float32, ld int, origin []float64, w []float32, q *Choice) {
	n := len(origin)
	checkLen("w", len(w), q.sites*n)
	if ld < n {
		panic(fmt.Sprintf("simd: ld = %d, want ≥ %d", ld, n))
	}
	if q.states == 0 || n == 0 {
		return
	}
	if last := (q.states-1)*ld + n; len(dst) < last || len(f) < last {
		panic(fmt.Sprintf("simd: len(dst), len(f) = %d, %d, want ≥ %d", len(dst), len(f), last))
	}
	addChosen64(dst, f, ld, origin, w, q)
}
