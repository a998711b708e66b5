package activeset_test

import (
	"math"
	"math/big"
)

// precision of the oracle, in bits: about 60 decimal digits.
const precision = 200

func exact(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// addMul adds a·b to sum.
func addMul(sum, a, b *big.Float) {
	sum.Add(sum, new(big.Float).SetPrec(precision).Mul(a, b))
}

// residual returns the worst of what x and u miss of the optimality conditions:
// x = v − Aᵀu, |u| ≤ cap, rows that hold unless u is at the cap on that side, and
// u·(distance to the bound on its side) where it is not. Sums are exact to
// precision.
func residual(p *problem, x, u []float64) float64 {
	rest := make([]*big.Float, p.N)
	for i := range rest {
		rest[i] = exact(x[i])
		rest[i].Sub(rest[i], exact(p.v[i]))
	}
	worst := 0.0
	note := func(e *big.Float) {
		f, _ := e.Float64()
		if f = math.Abs(f); !(f <= worst) {
			worst = f
		}
	}
	for j := range p.Lo {
		t := exact(0)
		for k := p.Start[j]; k < p.End[j]; k++ {
			addMul(t, exact(p.Value[k]), exact(x[p.Index[k]]))
			addMul(rest[p.Index[k]], exact(p.Value[k]), exact(u[j]))
		}
		above := func(b float64) *big.Float { return exact(0).Sub(t, exact(b)) }
		limit := p.limit[j]
		if math.Abs(u[j]) > limit {
			return math.Inf(1)
		}
		if !math.IsInf(p.Hi[j], 1) && u[j] < limit {
			if e := above(p.Hi[j]); e.Sign() > 0 {
				note(e)
			}
		}
		if !math.IsInf(p.Lo[j], -1) && u[j] > -limit {
			if e := above(p.Lo[j]); e.Sign() < 0 {
				note(e)
			}
		}
		if bound := p.Hi[j]; u[j] > 0 {
			if math.IsInf(bound, 1) {
				return math.Inf(1)
			}
			if e := above(bound); e.Sign() < 0 {
				note(e)
			}
		}
		if bound := p.Lo[j]; u[j] < 0 {
			if math.IsInf(bound, -1) {
				return math.Inf(1)
			}
			if e := above(bound); e.Sign() > 0 {
				note(e)
			}
		}
	}
	for _, e := range rest {
		note(e)
	}
	return worst
}

// solve returns the point nearest to v less what capped rows pull, with the rows
// of multipliers within their caps as equations, by elimination in the Gram
// matrix.
func solve(p *problem, u []float64) []float64 {
	var tight []int
	base := make([]*big.Float, p.N)
	for i := range base {
		base[i] = exact(p.v[i])
	}
	for j, y := range u {
		switch {
		case y == 0:
		case math.Abs(y) >= p.limit[j]:
			for k := p.Start[j]; k < p.End[j]; k++ {
				addMul(base[p.Index[k]], exact(-y), exact(p.Value[k]))
			}
		default:
			tight = append(tight, j)
		}
	}
	q := len(tight)
	gram := make([][]*big.Float, q) // and the right side
	dense := make([]*big.Float, p.N)
	for a, j := range tight {
		gram[a] = make([]*big.Float, q+1)
		clear(dense)
		for k := p.Start[j]; k < p.End[j]; k++ {
			dense[p.Index[k]] = exact(p.Value[k])
		}
		times := func(j int) *big.Float {
			sum := exact(0)
			for k := p.Start[j]; k < p.End[j]; k++ {
				if d := dense[p.Index[k]]; d != nil {
					addMul(sum, d, exact(p.Value[k]))
				}
			}
			return sum
		}
		for b, l := range tight {
			gram[a][b] = times(l)
		}
		bound := p.Hi[j]
		if u[j] < 0 {
			bound = p.Lo[j]
		}
		right := exact(-bound)
		for k := p.Start[j]; k < p.End[j]; k++ {
			addMul(right, exact(p.Value[k]), base[p.Index[k]])
		}
		gram[a][q] = right
	}
	eliminate(gram)
	for a, j := range tight {
		y := exact(0).Neg(gram[a][q])
		for k := p.Start[j]; k < p.End[j]; k++ {
			addMul(base[p.Index[k]], y, exact(p.Value[k]))
		}
	}
	x := make([]float64, p.N)
	for i, b := range base {
		x[i], _ = b.Float64()
	}
	return x
}

// eliminate solves a positive definite system in place; its last column ends as
// the solution.
func eliminate(g [][]*big.Float) {
	q := len(g)
	for k := range q {
		for i := range q {
			if i == k || g[i][k].Sign() == 0 {
				continue
			}
			f := exact(0).Quo(g[i][k], g[k][k])
			f.Neg(f)
			for l := k; l <= q; l++ {
				if g[k][l].Sign() != 0 {
					addMul(g[i][l], f, g[k][l])
				}
			}
		}
	}
	for k := range q {
		g[k][q].Quo(g[k][q], g[k][k])
	}
}
