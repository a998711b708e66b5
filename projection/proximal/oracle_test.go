package proximal_test

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"gonum.org/v1/gonum/mat"
)

// interior solves min ½‖z−v‖² + κ·Σ_j distance(a_j·z, lo_j … hi_j), for finite κ,
// by a primal-dual interior-point method with dense Cholesky
// factors: an oracle that shares nothing with the code under test. With the
// rows stacked as Bz ≤ d + s, s ≥ 0, it follows the path
//
//	z − v + Bᵀy = 0,  y·u = w·s = μ,  u = d + s − Bz,  w = κ − y,
//
// down to μ = 1e-21, where even z with vanishing slacks and multipliers at once
// is good to √μ.
func interior(v []float64, set constraint.Slabs, kappa float64) []float64 {
	n := len(v)
	var rows []constraint.Row
	var d []float64
	for j, r := range set.A {
		if !math.IsInf(set.Upper[j], 1) {
			rows, d = append(rows, r), append(d, set.Upper[j])
		}
		if !math.IsInf(set.Lower[j], -1) {
			neg := constraint.Row{Index: r.Index}
			for _, x := range r.Value {
				neg.Value = append(neg.Value, -x)
			}
			rows, d = append(rows, neg), append(d, -set.Lower[j])
		}
	}
	m := len(rows)
	product := func(x []float64) []float64 {
		out := make([]float64, m)
		for j, r := range rows {
			for k, i := range r.Index {
				out[j] += r.Value[k] * x[i]
			}
		}
		return out
	}
	z := append([]float64(nil), v...)
	y, u, w, s := make([]float64, m), make([]float64, m), make([]float64, m), make([]float64, m)
	for j, t := range product(z) {
		y[j], w[j], s[j] = kappa/2, kappa/2, max(t-d[j], 0)+1
		u[j] = max(d[j]+s[j]-t, 1)
	}
	for range 200 {
		mu := 0.0
		for j := range m {
			mu += y[j]*u[j] + w[j]*s[j]
		}
		if mu /= float64(2 * m); mu < 1e-21 {
			break
		}
		target := 0.1 * mu
		t := product(z)
		h := mat.NewSymDense(n, nil)
		rhs := mat.NewVecDense(n, nil)
		for i := range n {
			h.SetSym(i, i, 1)
			rhs.SetVec(i, v[i]-z[i])
		}
		weight, shift := make([]float64, m), make([]float64, m)
		for j, r := range rows {
			inv := u[j]/y[j] + s[j]/w[j]
			// The residual of u = d + s − Bz closes with the step.
			shift[j] = (target-y[j]*u[j])/y[j] - (target-w[j]*s[j])/w[j] + (u[j] + t[j] - d[j] - s[j])
			weight[j] = 1 / inv
			for a, i := range r.Index {
				rhs.SetVec(int(i), rhs.AtVec(int(i))-r.Value[a]*(y[j]+weight[j]*shift[j]))
				for b, k := range r.Index {
					if k >= i {
						h.SetSym(int(i), int(k), h.At(int(i), int(k))+weight[j]*r.Value[a]*r.Value[b])
					}
				}
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(h) {
			break
		}
		dz := mat.NewVecDense(n, nil)
		if err := chol.SolveVecTo(dz, rhs); err != nil {
			break
		}
		step := 1.0
		limit := func(x, dx float64) {
			if dx < 0 {
				step = min(step, -0.99*x/dx)
			}
		}
		dt := product(dz.RawVector().Data)
		dy, du, ds := make([]float64, m), make([]float64, m), make([]float64, m)
		for j := range m {
			dy[j] = weight[j] * (dt[j] + shift[j])
			du[j] = (target - y[j]*u[j] - u[j]*dy[j]) / y[j]
			limit(y[j], dy[j])
			limit(u[j], du[j])
			ds[j] = (target - w[j]*s[j] + s[j]*dy[j]) / w[j]
			limit(w[j], -dy[j])
			limit(s[j], ds[j])
		}
		for i := range z {
			z[i] += step * dz.AtVec(i)
		}
		for j := range m {
			y[j] += step * dy[j]
			u[j] += step * du[j]
			w[j] -= step * dy[j]
			s[j] += step * ds[j]
		}
	}
	return refine(z, v, rows, d, y, u, w, s)
}

// refine solves for z with the rows that the path shows to be tight as
// equations and those past their bound at full weight, by a singular value
// decomposition. Where the path was not conclusive it returns z as it was.
func refine(z, v []float64, rows []constraint.Row, d, y, u, w, s []float64) []float64 {
	n := len(v)
	center := append([]float64(nil), v...)
	var tight []int
	for j, r := range rows {
		switch {
		case y[j] < u[j]: // slack
		case w[j] < s[j]: // past its bound
			for k, i := range r.Index {
				center[i] -= (y[j] + w[j]) * r.Value[k]
			}
		default:
			tight = append(tight, j)
		}
	}
	if len(tight) == 0 {
		return center
	}
	a := mat.NewDense(len(tight), n, nil)
	rhs := mat.NewVecDense(len(tight), nil)
	for k, j := range tight {
		rhs.SetVec(k, -d[j])
		for e, i := range rows[j].Index {
			a.Set(k, int(i), a.At(k, int(i))+rows[j].Value[e])
			rhs.SetVec(k, rhs.AtVec(k)+rows[j].Value[e]*center[i])
		}
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return z
	}
	rank := svd.Rank(1e-9)
	move := mat.NewVecDense(n, nil)
	svd.SolveVecTo(move, rhs, rank)
	worst := 0.0
	for i := range center {
		center[i] -= move.AtVec(i)
		worst = max(worst, math.Abs(center[i]-z[i]))
	}
	if worst > 1e-6 {
		return z
	}
	return center
}

// system is what a random system is like.
type system struct {
	n, m       int
	width      int  // entries per row, 0 for a mix
	dependent  bool // rows that are sums or multiples of others
	degenerate bool // rows that are tight at the solution and do not pull
	infeasible bool // some pairs of rows exclude each other
}

// random returns a system, and a point to project. Unless it is infeasible
// there is a point that satisfies it.
func (c system) random(rng *rand.Rand) (set constraint.Slabs, v []float64) {
	inside := make([]float64, c.n)
	v = make([]float64, c.n)
	for i := range v {
		inside[i], v[i] = rng.NormFloat64(), 2*rng.NormFloat64()
	}
	for j := range c.m {
		var r constraint.Row
		width := c.width
		if width == 0 {
			width = 1 + rng.IntN(min(c.n, 6))
		}
		for range width {
			r.Index, r.Value = append(r.Index, int32(rng.IntN(c.n))), append(r.Value, rng.NormFloat64())
		}
		if c.dependent && j > 2 && rng.IntN(3) == 0 {
			a, b := set.A[rng.IntN(j)], set.A[rng.IntN(j)]
			r = constraint.Row{Index: append(append([]int32{}, a.Index...), b.Index...)}
			for _, x := range a.Value {
				r.Value = append(r.Value, -x)
			}
			r.Value = append(r.Value, b.Value...)
			if len(r.Index) > 40 {
				r = a
			}
		}
		t := 0.0
		for k, i := range r.Index {
			t += r.Value[k] * inside[i]
		}
		lo, hi := math.Inf(-1), t
		switch rng.IntN(4) {
		case 0:
			lo, hi = t, math.Inf(1)
		case 1:
			lo, hi = t-0.005, t+0.005
		case 2:
			if j%5 == 0 {
				lo = hi
			}
		}
		if !c.degenerate && lo != hi {
			lo, hi = lo-0.3*rng.Float64(), hi+0.3*rng.Float64()
		}
		if c.infeasible && j%10 == 9 {
			r = set.A[j-1]
			hi, lo = set.Lower[j-1]-0.5, math.Inf(-1)
			if math.IsInf(hi, -1) {
				lo, hi = set.Upper[j-1]+0.5, math.Inf(1)
			}
		}
		set.A, set.Lower, set.Upper = append(set.A, r), append(set.Lower, lo), append(set.Upper, hi)
	}
	return set, v
}
