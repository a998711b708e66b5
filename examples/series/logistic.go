package main

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// logistic is a logistic regression with a constant on standardised inputs.
type logistic struct {
	mean, scale []float64 // input j is standardised to (x_j − mean_j)·scale_j
	weights     []float64 // weights of the inputs, then the constant
}

// rounds is the maximum number of Newton steps of a fit, which usually takes about six.
const rounds = 50

var errLogistic = errors.New("the classifier of windows does not converge: samples are not finite")

// fitLogistic fits groups of inputs of which the first is real, by Newton's method on the convex
// loss Σ_i w_i·log(1 + exp(−y_i·margin_i)) + classifierRidge/2·Σ_j weight_j².
func fitLogistic(in [][]float64, group int) (*logistic, error) {
	n := len(in[0])
	l := &logistic{make([]float64, n), make([]float64, n), make([]float64, n+1)}
	total := float64(2 * len(in) / group)
	share := func(i int) float64 { return weight(i%group, group-1) / total }
	for i, x := range in {
		for j, v := range x {
			l.mean[j] += v * share(i)
		}
	}
	for i, x := range in {
		for j, v := range x {
			l.scale[j] += (v - l.mean[j]) * (v - l.mean[j]) * share(i)
		}
	}
	for j, square := range l.scale {
		l.scale[j] = 0 // what does not vary but by rounding tells nothing
		if sd := math.Sqrt(square); sd > 1e-12*math.Abs(l.mean[j]) || math.IsNaN(sd) {
			l.scale[j] = 1 / sd
		}
	}
	loss := l.loss(in, group)
	for range rounds {
		step, slope, err := l.newton(in, group)
		if err != nil {
			return nil, err
		}
		if slope <= 1e-12 {
			return l, nil
		}
		before := slices.Clone(l.weights)
		for size := 1.0; ; size /= 2 {
			for j := range l.weights {
				l.weights[j] = before[j] - size*step.AtVec(j)
			}
			next := l.loss(in, group)
			if next <= loss-size*slope/4 { // Armijo
				loss = next
				break
			}
			if size < 1e-9 { // rounding
				copy(l.weights, before)
				return l, nil
			}
		}
	}
	return nil, errLogistic
}

// newton returns the Newton step and the rate at which the loss decreases along it.
func (l *logistic) newton(in [][]float64, group int) (*mat.VecDense, float64, error) {
	n := len(l.weights)
	hessian, gradient := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for j, w := range l.weights {
		ridge := float64(classifierRidge)
		if j == n-1 {
			ridge = 0
		}
		gradient.SetVec(j, ridge*w)
		hessian.SetSym(j, j, ridge)
	}
	row := mat.NewVecDense(n, nil)
	for i, x := range in {
		l.standard(row, x)
		y, w := sign(i%group == 0), weight(i%group, group-1)
		m := mat.Dot(row, mat.NewVecDense(n, l.weights))
		wrong := 1 / (1 + math.Exp(y*m)) // probability of the other class
		gradient.AddScaledVec(gradient, -w*y*wrong, row)
		hessian.SymRankOne(hessian, w*wrong*(1-wrong), row)
	}
	var chol mat.Cholesky
	step := mat.NewVecDense(n, nil)
	if !chol.Factorize(hessian) || chol.SolveVecTo(step, gradient) != nil {
		return nil, 0, errLogistic
	}
	return step, mat.Dot(step, gradient), nil
}

// loss returns the loss that the fit minimises.
func (l *logistic) loss(in [][]float64, group int) float64 {
	sum := 0.0
	for i, x := range in {
		m := sign(i%group == 0) * l.margin(x)
		sum += weight(i%group, group-1) * (max(0, -m) + math.Log1p(math.Exp(-math.Abs(m))))
	}
	for _, w := range l.weights[:len(l.weights)-1] {
		sum += classifierRidge * w * w / 2
	}
	return sum
}

// margin returns the linear predictor, which is positive for inputs classified as real.
func (l *logistic) margin(x []float64) float64 {
	m := l.weights[len(x)]
	for j, v := range x {
		m += l.weights[j] * (v - l.mean[j]) * l.scale[j]
	}
	return m
}

// standard stores in dst the standardised inputs and the constant.
func (l *logistic) standard(dst *mat.VecDense, x []float64) {
	for j, v := range x {
		dst.SetVec(j, (v-l.mean[j])*l.scale[j])
	}
	dst.SetVec(len(x), 1)
}

// sign returns 1 for real windows and −1 for others.
func sign(real bool) float64 {
	if real {
		return 1
	}
	return -1
}
