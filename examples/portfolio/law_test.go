package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual/pdi"
)

// five returns a law of five assets by its entries, at multipliers.
func five(t testing.TB) *law {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	rows := make([][]float64, 9)
	for i := range rows {
		for range 5 {
			rows[i] = append(rows[i], 0.1*r.NormFloat64()+0.02)
		}
	}
	l, err := newLaw(sampled([]string{"a", "b", "c", "d", "e"}, rows), 1.2, 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.SetLambda([]float64{0.3, 0, 1, 0.2, 0.7}); err != nil {
		t.Fatal(err)
	}
	return l
}

func states(r *rand.Rand, n int) []float32 {
	z := make([]float32, n)
	for i := range z {
		z[i] = float32(1.5 * r.NormFloat64())
	}
	return z
}

// Factors against the matrix that they stand for.
func TestFactors(t *testing.T) {
	m := newMarket(23, 4)
	f := m.cov.(*factors)
	entry := func(i, j int) float64 {
		sum := f.load[i*loads+within] * f.load[j*loads+within]
		if i%sectors == j%sectors {
			for k := range within {
				sum += f.load[i*loads+k] * f.load[j*loads+k]
			}
		}
		if i == j {
			sum += f.own[i]
		}
		return sum
	}
	r := rand.New(rand.NewPCG(1, 2))
	x, v, y, u := make([]float64, 23), make([]float64, 23), make([]float64, 23), make([]float64, 23)
	for i := range x {
		x[i], v[i] = r.Float64(), r.NormFloat64()
	}
	f.times(y, x, u, v)
	for i := range x {
		a, b := 0.0, 0.0
		for j := range x {
			a += entry(i, j) * x[j]
			b += entry(i, j) * v[j]
		}
		if math.Abs(a-y[i]) > 1e-13 || math.Abs(b-u[i]) > 1e-13 || math.Abs(f.variance(i)-entry(i, i)) > 1e-15 {
			t.Errorf("row %d: %v and %v, want %v and %v", i, y[i], u[i], a, b)
		}
		if !(m.mean[i] >= 0.005 && m.mean[i] <= 0.4) {
			t.Errorf("mean return %d = %v", i, m.mean[i])
		}
	}
}

// The statistics, by their definition with a double sum; parts of the variance sum to
// it.
func TestStatistics(t *testing.T) {
	l := five(t)
	c := l.cov.(*dense).c
	z := states(rand.New(rand.NewPCG(3, 3)), 10)
	g, e := make([]float64, 10), make([]float64, 2)
	l.Violation(g, z)
	l.Energy(e, z)
	equal := 0.0 // mean part at equal weights
	for _, v := range c {
		equal += v / 25 / 5
	}
	for s := range 2 {
		var x [5]float64
		sum, level := 0.0, 0.0
		for i := range x {
			x[i] = math.Exp(float64(z[5*s+i]))
			sum += x[i]
			level += math.Abs(l.mean[i]) / 5
		}
		total, energy := 0.0, 0.0
		for j := range x {
			part := 0.0
			for i := range x {
				part += x[j] / sum * c[j*5+i] * x[i] / sum
			}
			want := part/equal - 1.2
			if math.Abs(want-g[5*s+j]) > 1e-12 {
				t.Errorf("state %d, asset %d: %v, want %v", s, j, g[5*s+j], want)
			}
			total += part
			energy += float64(z[5*s+j])*float64(z[5*s+j])/2 + (l.lambda[j]*want-l.mean[j]/level*x[j]/sum)/0.05
		}
		if math.Abs(energy-e[s]) > 1e-12*math.Abs(energy) {
			t.Errorf("energy %v, want %v", e[s], energy)
		}
		for j := range x {
			total -= (g[5*s+j] + 1.2) * equal
		}
		if math.Abs(total) > 1e-15 {
			t.Errorf("parts miss the variance by %v", total)
		}
	}
}

// Scores and the gradient of the penalty against central differences, which are off
// by h² of the third derivative.
func TestGradients(t *testing.T) {
	l := five(t)
	z := states(rand.New(rand.NewPCG(2, 2)), 5)
	s, w := make([]float32, 5), []float64{0, 2, 0.5, 0, 1}
	l.Score(s, z)
	p := newSpace(5)
	l.pull(p, z, w, 0)
	const h = 1.0 / 512
	for i := range z {
		var energies, sums [2]float64
		for k, d := range []float32{h, -h} {
			y, g := slices.Clone(z), make([]float64, 5)
			y[i] += d
			l.Energy(energies[k:k+1], y)
			l.Violation(g, y)
			sums[k] = dot(w, g)
		}
		if want := (energies[1] - energies[0]) / (2 * h); math.Abs(want-float64(s[i])) > 1e-3*(1+math.Abs(want)) {
			t.Errorf("score %d = %v, want %v", i, s[i], want)
		}
		if want := (sums[0] - sums[1]) / (2 * h); math.Abs(want-p.t[i]) > 1e-3*(1+math.Abs(want)) {
			t.Errorf("pullback %d = %v, want %v", i, p.t[i], want)
		}
	}
	for _, bad := range [][]float64{{-1, 0, 0, 0, 0}, {0, 0, 0, 0, math.NaN()}, {0, math.Inf(1), 0, 0, 0}} {
		if l.SetLambda(bad) == nil {
			t.Errorf("took the multipliers %v", bad)
		}
	}
}

// Predictions do not depend on the number of workers, and without noise they are the
// states.
func TestFit(t *testing.T) {
	l := five(t)
	z := states(rand.New(rand.NewPCG(8, 8)), 35)
	predict := func(workers int, alpha float64) []float32 {
		v := make([]float32, 35)
		if err := (&fit{l, workers}).Predict(v, z, slices.Repeat([]float64{alpha}, 7), l.lambda, nil); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if one := predict(1, 0.4); !slices.Equal(one, predict(3, 0.4)) || slices.Equal(one, z) {
		t.Error("predictions depend on the workers, or are the states")
	}
	if !slices.Equal(predict(2, 1), z) {
		t.Error("states without noise are predicted otherwise")
	}
}

// tiny is three assets of which the first two exceed their budgets where nothing
// keeps them.
func tiny(t *testing.T) *law {
	t.Helper()
	m := &market{names: []string{"a", "b", "c"}, mean: []float64{0.25, 0.22, 0.05},
		cov: &dense{3, []float64{0.1, 0.03, 0, 0.03, 0.05, 0.01, 0, 0.01, 0.02}}}
	l, err := newLaw(m, 1.25, 1.0/20)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// optimum finds the multipliers and the mean return by quadrature: weights depend on
// z less its mean alone, a standard normal in a plane. The grid of 81² points on ±6
// has no error that counts, for the density is smooth.
func optimum(t *testing.T, l *law) (lambda []float64, mean float64) {
	t.Helper()
	var z []float32
	var base []float64
	for i := range 81 {
		for j := range 81 {
			a, b := (float64(i)-40)*0.15, (float64(j)-40)*0.15
			z = append(z, float32(a/math.Sqrt2+b/math.Sqrt(6)), float32(-a/math.Sqrt2+b/math.Sqrt(6)), float32(-2*b/math.Sqrt(6)))
			base = append(base, 0)
		}
	}
	g := make([]float64, len(z))
	l.Violation(g, z)
	if err := l.SetLambda(make([]float64, 3)); err != nil {
		t.Fatal(err)
	}
	l.Energy(base, z)
	lambda = []float64{0.1, 0.1, 0.1}
	x := make([]float64, 3)
	for range 3000 {
		sum, violation := 0.0, [3]float64{}
		mean = 0
		for k, e := range base {
			w := math.Exp(-e - dot(lambda, g[3*k:3*k+3])/l.beta)
			softmax(x, z[3*k:3*k+3])
			sum += w
			mean += w * dot(x, l.mean)
			for j := range violation {
				violation[j] += w * g[3*k+j]
			}
		}
		mean /= sum
		worst := 0.0
		for j, v := range violation {
			lambda[j] *= math.Exp(0.3 * v / sum)
			worst = max(worst, v/sum, -lambda[j]*v/sum)
		}
		if worst < 1e-7 {
			return lambda, mean
		}
	}
	t.Fatal("the optimum was not found")
	return nil, 0
}

// The optimum of three assets by quadrature, and by primal–dual inference: the mean
// return within 1 % and the parts in the variance within 2 % of the budget, because the
// rule still moves at the end, both plus 4.9 standard errors (a false alarm in 10⁶).
// Without multipliers, the broken twin, both are far off.
func TestOptimum(t *testing.T) {
	l := tiny(t)
	lambda, want := optimum(t, l)
	if !(lambda[0] > 0.1 && lambda[1] > 0.05 && lambda[2] < 1e-6) {
		t.Fatalf("λ* = %v, want two that are not 0", lambda)
	}
	t.Logf("λ* = %.4f", lambda)
	const samples = 400
	runs := []struct {
		name           string
		samples, steps int
		right          bool
	}{{"pdi", samples, 200, true}, {"unconstrained", samples, 200, false}}
	for _, r := range runs {
		p := &problem{options: options{samples: r.samples, steps: r.steps, candidates: 64, seed: 1}, law: l}
		z, err := p.diffuse(context.Background(), r.name, &figures{})
		if err != nil {
			t.Fatal(err)
		}
		mean, se := moments(r.samples, func(s int) float64 {
			x := make([]float64, 3)
			softmax(x, z[3*s:3*s+3])
			return dot(x, l.mean)
		})
		right := math.Abs(mean-want) <= 0.01*want+4.9*se
		g := make([]float64, len(z))
		l.Violation(g, z)
		for j := range 3 {
			v, vse := moments(r.samples, func(s int) float64 { return g[3*s+j] })
			right = right && v <= 0.02*l.budget+4.9*vse
		}
		t.Logf("%s: return %.5f ± %.5f, exactly %.5f", r.name, mean, se, want)
		if right != r.right {
			t.Errorf("%s: at the optimum: %t, want %t", r.name, right, r.right)
		}
	}
}

// The mean of the Gaussian, by Monte Carlo, is less than half as far from that of the
// posterior as without the energy, in standard deviations of the noise, and a tenth
// of one at most where the last steps of a diffusion are.
func TestFitIsNear(t *testing.T) {
	l := tiny(t)
	lambda := []float64{0.1457, 0.1801, 0}
	exact, err := pdi.NewGibbsScore(l, pdi.GibbsOptions{Candidates: 20000, Center: []float64{0}, Spread: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(6, 6))
	for _, alpha := range []float64{0.4, 0.7, 0.95} {
		z := states(r, 12)
		v, want := make([]float32, 12), make([]float32, 12)
		a := slices.Repeat([]float64{alpha}, 4)
		if err := newFit(l).Predict(v, z, a, lambda, nil); err != nil {
			t.Fatal(err)
		}
		src := []rand.Source{rand.NewPCG(1, 1), rand.NewPCG(1, 2), rand.NewPCG(1, 3), rand.NewPCG(1, 4)}
		if err := exact.Predict(want, z, a, lambda, src); err != nil {
			t.Fatal(err)
		}
		far, all := 0.0, 0.0
		for i := range v {
			far = max(far, math.Abs(float64(v[i]-want[i]))/math.Sqrt(1-alpha))
			all = max(all, math.Abs(math.Sqrt(alpha)*float64(z[i])-float64(want[i]))/math.Sqrt(1-alpha))
		}
		if exact.Effective() < 2000 {
			t.Errorf("%v of 20000 candidates count", exact.Effective())
		}
		t.Logf("signal %v: off by %.3f, without the energy by %.3f", alpha, far, all)
		if far > all/2 || alpha > 0.9 && far > 0.1 {
			t.Errorf("signal %v: off by %.3f, without the energy by %.3f", alpha, far, all)
		}
	}
}

// moments returns the mean of n numbers and its standard error.
func moments(n int, f func(s int) float64) (mean, se float64) {
	square := 0.0
	for s := range n {
		v := f(s)
		mean += v / float64(n)
		square += v * v / float64(n)
	}
	return mean, math.Sqrt(max(0, square-mean*mean) / float64(n))
}
