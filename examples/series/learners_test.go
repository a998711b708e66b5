package main

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// waves are windows of two channels: autoregressions with the coefficient rho, the
// second channel following the first, moved by shift.
func waves(r *rand.Rand, count, length int, rho, shift float64) (x []float32) {
	for range count {
		a, b := r.NormFloat64(), r.NormFloat64()
		for range length {
			x = append(x, float32(a+shift), float32(b+shift))
			a, b = rho*a+math.Sqrt(1-rho*rho)*r.NormFloat64(), 0.6*a+0.8*r.NormFloat64()
		}
	}
	return x
}

// Windows of one distribution cannot be distinguished, shifted ones always, and ones
// with other dynamics mostly.
func TestDiscriminate(t *testing.T) {
	const count, length, seeds = 60, 16, 20
	score := func(samples int, rho, shift float64) (mean, stderr float64) {
		for seed := range uint64(seeds) {
			r := rand.New(rand.NewPCG(seed, 1))
			real := waves(r, count, length, 0.5, 0)
			s, e, err := discriminate(real, waves(r, count*samples, length, rho, shift), samples, length, 2)
			if err != nil {
				t.Fatal(err)
			}
			mean, stderr = mean+s/seeds, stderr+e/seeds
		}
		return mean, stderr
	}
	for _, samples := range []int{1, 4} {
		same, e := score(samples, 0.5, 0)
		// |N(0, e²)| has the mean .8·e; folds that share what they were trained on add
		// to it. Of 20 seeds the mean is within 2·e but once in a million.
		if same > 2*e || e > 0.06 {
			t.Errorf("%d samples, one distribution: %.3f, stderr %.3f", samples, same, e)
		}
		if shifted, _ := score(samples, 0.5, 3); shifted < 0.49 {
			t.Errorf("%d samples, shifted: %.3f", samples, shifted)
		}
		if other, _ := score(samples, 0.95, 0); other < 0.3 {
			t.Errorf("%d samples, slower: %.3f", samples, other)
		}
	}
}

// Neither does the classifier learn from how many windows of a class there are, nor
// from what never varies, nor fail on windows that repeat.
func TestDiscriminateWithoutVariation(t *testing.T) {
	real, fake := make([]float32, 6*8), make([]float32, 3*6*8)
	for i := range fake {
		real[i/3], fake[i] = 0.1, 0.1
	}
	if s, e, err := discriminate(real, fake, 3, 8, 1); err != nil || s > 1e-12 || e > 1e-12 {
		t.Error(s, e, err)
	}
	fake[3] = float32(math.NaN())
	if _, _, err := discriminate(real, fake, 3, 8, 1); err != errLogistic {
		t.Error(err)
	}
}

// A forecast learnt from windows of the distribution is as good as the coefficients it
// comes from, and one from windows that move otherwise is worse.
func TestForecast(t *testing.T) {
	const length = 24
	r := rand.New(rand.NewPCG(7, 1))
	test := waves(r, 400, length, 0.5, 0)
	good, e, err := forecast(waves(r, 400, length, 0.5, 0), test, length, 2)
	if err != nil {
		t.Fatal(err)
	}
	// Mean absolute values of the noise: √(2/π) of √(1−.5²) and of .8.
	want := math.Sqrt(2/math.Pi) * (math.Sqrt(0.75) + 0.8) / 2
	if math.Abs(good-want) > 5*e || e > 0.01 {
		t.Errorf("%.4f ± %.4f, want %.4f", good, e, want)
	}
	bad, _, err := forecast(waves(r, 400, length, -0.5, 0), test, length, 2)
	if err != nil {
		t.Fatal(err)
	}
	if bad < good+20*e {
		t.Errorf("of other windows %.4f, of the same distribution %.4f ± %.4f", bad, good, e)
	}
	if _, _, err := forecast([]float32{1, float32(math.NaN()), 2}, []float32{1, 2, 3}, 3, 1); err != errRidge {
		t.Error(err)
	}
}

// How many windows are made at once changes no figure.
func TestProcessorsChangeNothing(t *testing.T) {
	args := slices.Concat(little, []string{"-heldout", "7", "-method", "cps,cop,real"})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := do(t, args...)
	runtime.GOMAXPROCS(3)
	for i, f := range do(t, args...).Methods {
		one.Methods[i].Ms = f.Ms
		if f != one.Methods[i] {
			t.Errorf("%+v, with one processor %+v", f, one.Methods[i])
		}
	}
}

func TestScoresInTheTable(t *testing.T) {
	r := do(t, slices.Concat(little, []string{"-seeds", "2", "-method", "cop,unconstrained,real"})...)
	for _, f := range r.Methods {
		if !(f.TSTR > 0 && f.TSTRError > 0 && f.Seeds.TSTR > 0 && f.Apart >= 0 && f.Apart <= 0.5 && f.ApartErr >= 0) {
			t.Errorf("%+v", f)
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"tstr_mae":`, `"discriminative":`, `"discriminative_stderr":`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	if s := r.String(); !strings.Contains(s, "TSTR") || !strings.Contains(s, "discriminative") {
		t.Error(s)
	}
}
