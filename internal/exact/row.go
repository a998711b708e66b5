package exact

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// NearestRow finds the distribution y nearest to a given distribution x of n probabilities. Entry v
// of y must be the largest by a factor κ = kappa. NearestRow solves
//
//	min_y KL(x‖y)  or, if reverse is true,  min_y KL(y‖x)  subject to  y_v ≥ κ·y_u for all u ≠ v
//
// and returns the minimum as cost. It uses Newton's method with a logarithmic barrier, so it is
// independent of the closed form under test. With 2n−1 inequalities and the final barrier parameter
// t = 1e12, its result is within (2n−1)/t of the optimum.
func NearestRow(x []float64, v int, kappa float64, reverse bool) (cost float64, y []float64) {
	n := len(x)
	y = make([]float64, n)
	for u := range y {
		y[u] = 1
	}
	y[v] = 2 * kappa
	normalise(y)
	for t := 1.0; t <= 1e12; t *= 4 {
		for range 60 {
			// Newton on t·f(y) − Σ log y_u − Σ log(y_v−κy_u), Σ y = 1.
			h, rhs := mat.NewDense(n+1, n+1, nil), mat.NewVecDense(n+1, nil)
			for u := range n {
				g, hess := -x[u]/y[u], x[u]/(y[u]*y[u])
				if reverse {
					g, hess = math.Log(y[u]/x[u])+1, 1/y[u]
				}
				rhs.SetVec(u, rhs.AtVec(u)-t*g+1/y[u])
				h.Set(u, u, h.At(u, u)+t*hess+1/(y[u]*y[u]))
				h.Set(u, n, 1)
				h.Set(n, u, 1)
				if u == v {
					continue
				}
				s := y[v] - kappa*y[u]
				rhs.SetVec(v, rhs.AtVec(v)+1/s)
				rhs.SetVec(u, rhs.AtVec(u)-kappa/s)
				h.Set(v, v, h.At(v, v)+1/(s*s))
				h.Set(u, u, h.At(u, u)+kappa*kappa/(s*s))
				h.Set(u, v, h.At(u, v)-kappa/(s*s))
				h.Set(v, u, h.At(v, u)-kappa/(s*s))
			}
			var step mat.VecDense
			if err := step.SolveVec(h, rhs); err != nil {
				if _, poor := err.(mat.Condition); !poor {
					panic(err)
				}
			}
			size, decrement := 1.0, 0.0
			for u := range n {
				decrement += step.AtVec(u) * rhs.AtVec(u)
			}
			for !inside(y, &step, size, v, kappa) {
				size *= 0.7
			}
			for u := range n {
				y[u] += 0.99 * size * step.AtVec(u)
			}
			normalise(y)
			if math.Abs(decrement) < 1e-12 {
				break
			}
		}
	}
	for u := range n {
		switch {
		case reverse:
			cost += y[u] * math.Log(y[u]/x[u])
		case x[u] > 0:
			cost += x[u] * math.Log(x[u]/y[u])
		}
	}
	return cost, y
}

func inside(y []float64, step *mat.VecDense, size float64, v int, kappa float64) bool {
	for u := range y {
		if y[u]+size*step.AtVec(u) <= 0 {
			return false
		}
		if u != v && y[v]+size*step.AtVec(v)-kappa*(y[u]+size*step.AtVec(u)) <= 0 {
			return false
		}
	}
	return true
}

func normalise(y []float64) {
	sum := 0.0
	for _, p := range y {
		sum += p
	}
	for u := range y {
		y[u] /= sum
	}
}
