package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"gonum.org/v1/gonum/mat"
)

// The two scores of Yoon, Jarrett and van der Schaar 2019 (TimeGAN) ask what a
// learner makes of windows. Theirs are networks of gated recurrent units. These are
// linear learners: what they find does not depend on a start, and they have one
// best answer, which takes milliseconds.

// memory is the number of preceding rows that the forecast reads.
const memory = 4

// Penalties on squared weights of standardised inputs. They make the solution unique for
// dependent inputs, such as prices, and do not change a forecast that the data determine.
const (
	forecastRidge   = 1e-4 // relative to the mean squared error
	classifierRidge = 1    // relative to the loss of one window
)

// folds is the number of runs of neighbouring windows into which the held-out windows are
// divided. A classifier is tested on one run and trained on the others.
const folds = 5

var errRidge = errors.New("normal equations of the forecast are singular: samples are not finite")

// past appends the inputs of the forecast of row t to dst: the previous row and the last
// changes.
func past(dst []float64, x []float32, t, lags, n int) []float64 {
	dst = append(dst[:0], 1)
	for c := range n {
		dst = append(dst, float64(x[(t-1)*n+c]))
		for k := 1; k < lags; k++ {
			dst = append(dst, float64(x[(t-k)*n+c])-float64(x[(t-k-1)*n+c]))
		}
	}
	return dst
}

// forecast fits a forecast of the next row to windows of n channels. It returns the mean
// absolute error per entry on test windows, and the standard error of that mean over windows.
// The forecast is a ridge regression of the change of all channels on a constant, the last row
// and the last changes.
func forecast(train, test []float32, length, n int) (mae, stderr float64, err error) {
	lags, sites := min(memory, length-1), length*n
	size := 1 + n*lags
	gram, cross := mat.NewSymDense(size, nil), mat.NewDense(size, n, nil)
	in := make([]float64, 0, size)
	count := float64(len(train) / sites * (length - lags))
	for ; len(train) > 0; train = train[sites:] {
		for t := lags; t < length; t++ {
			in = past(in, train, t, lags, n)
			gram.SymRankOne(gram, 1/count, mat.NewVecDense(size, in))
			for c := range n {
				change := (float64(train[t*n+c]) - float64(train[(t-1)*n+c])) / count
				for i, v := range in {
					cross.Set(i, c, cross.At(i, c)+v*change)
				}
			}
		}
	}
	for i := range size {
		gram.SetSym(i, i, gram.At(i, i)+forecastRidge)
	}
	var chol mat.Cholesky
	var weights mat.Dense
	if !chol.Factorize(gram) || chol.SolveTo(&weights, cross) != nil {
		return 0, 0, errRidge
	}
	var each []float64
	for ; len(test) > 0; test = test[sites:] {
		sum := 0.0
		for t := lags; t < length; t++ {
			in = past(in, test, t, lags, n)
			for c := range n {
				v := float64(test[(t-1)*n+c]) - float64(test[t*n+c])
				for i, w := range in {
					v += w * weights.At(i, c)
				}
				sum += math.Abs(v)
			}
		}
		each = append(each, sum/float64((length-lags)*n))
	}
	mae, stderr = meanError(each)
	return mae, stderr, nil
}

// meanError returns the mean and its standard error, which is 0 for a single number.
func meanError(x []float64) (m, stderr float64) {
	m = mean(x)
	for _, v := range x {
		stderr += (v - m) * (v - m)
	}
	return m, math.Sqrt(stderr / float64(len(x)) / float64(max(1, len(x)-1)))
}

// traits returns the classifier's inputs for a window. For each channel these are the mean, the
// standard deviation, the root mean squares of first and second differences, and the mean
// product of neighbouring differences. For every pair of channels it is the mean product of the
// differences.
func traits(x []float32, length, n int) []float64 {
	var out []float64
	change := func(t, c int) float64 { return float64(x[t*n+c]) - float64(x[(t-1)*n+c]) }
	for c := range n {
		level, square, first, second, pair := 0.0, 0.0, 0.0, 0.0, 0.0
		for t := range length {
			level += float64(x[t*n+c]) / float64(length)
		}
		for t := range length {
			d := float64(x[t*n+c]) - level
			square += d * d / float64(length)
			if t > 0 {
				first += change(t, c) * change(t, c) / float64(length-1)
			}
			if t > 1 {
				bend := change(t, c) - change(t-1, c)
				second += bend * bend / float64(length-2)
				pair += change(t, c) * change(t-1, c) / float64(length-2)
			}
		}
		out = append(out, level, math.Sqrt(square), math.Sqrt(first), math.Sqrt(second), pair)
		for other := range c {
			product := 0.0
			for t := 1; t < length; t++ {
				product += change(t, c) * change(t, other) / float64(length-1)
			}
			out = append(out, product)
		}
	}
	return out
}

// discriminate returns |a − ½| and the standard error of a over held-out windows. Here a is the
// accuracy of a classifier that distinguishes held-out windows from windows generated for them,
// samples per held-out window. The classifier is a logistic regression on traits in which both
// classes have the same weight. It is tested on runs of neighbouring windows that are excluded
// from training. By chance a may be below ½, so that the score of indistinguishable windows is
// about its standard error.
func discriminate(real, fake []float32, samples, length, n int) (score, stderr float64, err error) {
	sites := length * n
	count := len(real) / sites
	parts := min(folds, count)
	var in [][]float64 // per window held out, itself and then its samples
	for i := range count {
		in = append(in, traits(real[i*sites:(i+1)*sites], length, n))
		for k := i * samples; k < (i+1)*samples; k++ {
			in = append(in, traits(fake[k*sites:(k+1)*sites], length, n))
		}
	}
	group := samples + 1
	right := make([]float64, 0, count)
	for f := range parts {
		from, to := f*count/parts, (f+1)*count/parts
		l, err := fitLogistic(slices.Concat(in[:from*group], in[to*group:]), group)
		if err != nil {
			return 0, 0, err
		}
		for i := from; i < to; i++ {
			share := 0.0
			for k, v := range in[i*group : (i+1)*group] {
				share += hit(l.margin(v), k == 0) * weight(k, samples)
			}
			right = append(right, share/2)
		}
	}
	a, stderr := meanError(right)
	return math.Abs(a - 0.5), stderr, nil
}

// weight returns the weight of window k of a group: 1 for the real one, and 1 for its samples
// together.
func weight(k, samples int) float64 {
	if k == 0 {
		return 1
	}
	return 1 / float64(samples)
}

// hit returns 1 if the sign of the margin is right, 0 if it is wrong, and ½ for a margin of 0.
func hit(margin float64, real bool) float64 {
	switch {
	case margin == 0:
		return 0.5
	case (margin > 0) == real:
		return 1
	}
	return 0
}

// gammas maps names to schedules of the penalty. A nil schedule is the hard form.
var gammas = map[string]proximal.Gamma{
	"hard":      nil,
	"exp":       proximal.ExpGamma(schedule.Alpha, 0),
	"linear":    proximal.PowerGamma(1, 0),
	"quadratic": proximal.PowerGamma(2, 0),
}

// checkGamma returns an error if -gamma is invalid.
func (o *options) checkGamma() error {
	if _, ok := gammas[o.gamma]; ok {
		return nil
	}
	if v, err := strconv.ParseFloat(o.gamma, 64); err != nil || !(v > 0) || math.IsInf(v, 1) {
		return fmt.Errorf("-gamma = %q, want hard, exp, linear, quadratic or a finite number > 0", o.gamma)
	}
	return nil
}

// penalty returns the schedule of -gamma.
func (o *options) penalty() proximal.Gamma {
	if g, ok := gammas[o.gamma]; ok {
		return g
	}
	v, _ := strconv.ParseFloat(o.gamma, 64) // checked when it was read
	return proximal.ConstantGamma(v)
}
