package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
)

func do(t *testing.T, args ...string) *report {
	t.Helper()
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Figures worked out by hand: 59 dB at 10 m, 79 dB at the corner, 91.04 dB at
// 200 m.
func TestLoss(t *testing.T) {
	for d, want := range map[float64]float64{0.5: 39, 1: 39, 10: 59, 100: 79, 200: 79 + 12.0412, 1000: 119} {
		if math.Abs(loss(d)-want) > 1e-4 {
			t.Errorf("loss(%v) = %v, want %v", d, loss(d), want)
		}
	}
}

// Rates of two users by hand: 10·½/(1+1·1) and 6·1/(1+2·½).
func TestRates(t *testing.T) {
	w := &network{n: 2, gain: [][]float64{{10, 1, 2, 6}}}
	x := []float32{0, 1}
	for i, want := range []float64{math.Log2(3.5), math.Log2(4)} {
		if got := w.rate(i, x); math.Abs(got-want) > 1e-12 {
			t.Errorf("user %d: %v, want %v", i, got, want)
		}
	}
	if power(-3) != 0 || power(7) != 1 {
		t.Error("powers are from 0 to their most")
	}
}

// Scores against central differences of energies.
func TestScores(t *testing.T) {
	w, err := newNetwork(5, 3, 100, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 10)
	for i := range x {
		x[i] = float32(1.8*r.Float64() - 0.9)
	}
	x[9] = 1.5 // flat there
	const h = 1.0 / 1024
	for _, m := range []interface {
		Energy(e []float64, x []float32)
		Score(s, x []float32)
	}{utility{w}, service{w, 2, 0.6}} {
		s := make([]float32, 10)
		m.Score(s, x)
		up, down := make([]float64, 2), make([]float64, 2)
		for i := range x {
			y := slices.Clone(x)
			y[i] = x[i] + h
			m.Energy(up, y)
			z := slices.Clone(x)
			z[i] = x[i] - h
			m.Energy(down, z)
			want := (down[i/5] - up[i/5]) / (float64(y[i]) - float64(z[i]))
			// Differences are off by h²/6 of the third derivative.
			if math.Abs(want-float64(s[i])) > 1e-3*(1+math.Abs(want)) {
				t.Errorf("%T: score %d = %v, want %v", m, i, s[i], want)
			}
		}
	}
}

// Power control meets what can be met, and leaves alone what is.
func TestRaise(t *testing.T) {
	p := &problem{options: options{users: 2, least: 1}, net: &network{n: 2, gain: [][]float64{{4, 0.5, 0.5, 8}}}}
	x := []float32{-1, 0.5}
	p.raise(x)
	if p.net.rate(0, x) < 1-1e-5 || x[1] != 0.5 {
		t.Errorf("%v: rates %v and %v", x, p.net.rate(0, x), p.net.rate(1, x))
	}
	y := slices.Clone(x)
	p.raise(y)
	if math.Abs(float64(y[0]-x[0])) > 1e-5 {
		t.Errorf("%v, again %v", x, y)
	}
	p.net.gain = [][]float64{{0.1, 1, 1, 0.1}} // nobody can
	p.raise(x)
	if x[0] != 1 || x[1] != 1 {
		t.Errorf("%v, want full powers", x)
	}
}

func TestMeasure(t *testing.T) {
	p := &problem{options: options{users: 2, least: 1.5}, net: &network{n: 2, gain: [][]float64{{1, 0, 0, 3}}}}
	f := p.measure([]float32{1, 1, 1, 1}) // rates 1 and 2
	if f.MeanRate != 1.5 || f.SumViolation != 0.5 || f.Feasible != 0.5 || math.Abs(f.P5-1.05) > 1e-12 || math.Abs(f.P1-1.01) > 1e-12 {
		t.Errorf("%+v", f)
	}
}

// Means and standard errors over networks, by hand.
func TestSummary(t *testing.T) {
	one, two := figures{Method: "pdl"}, figures{Method: "pdl", Warning: "w"}
	one.MeanRate, two.MeanRate, two.Feasible = 1, 3, 1
	f := summary([]figures{one, two})
	if f.MeanRate != 2 || f.SE.MeanRate != 1 || f.Feasible != 0.5 || f.SE.Feasible != 0.5 || f.Warning != "w" {
		t.Errorf("%+v, %+v", f, f.SE)
	}
	if a := compare([]figures{one, two}, []figures{one, one}); a.MeanRate != 1 || a.SE != 1 {
		t.Errorf("%+v", a)
	}
	r := &report{Methods: []figures{f, f}}
	r.Methods[1].Ahead = &ahead{1, 1}
	if text := r.String(); !strings.Contains(text, "2.000 ± 1.000") || !strings.Contains(text, "50.0 ± 50.0 %") || !strings.Contains(text, "+1.000 ± 1.000 from") || !strings.Contains(text, "WARNING: ") {
		t.Error(text)
	}
}

// Networks as they are placed: receivers near their own transmitter, transmitters apart.
func TestNetwork(t *testing.T) {
	for spacing, want := range map[float64]string{1: "there is no place 50 m from all", 40: "-spacing = 40"} {
		if _, err := newNetwork(30, 1, spacing, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("spacing %v: %v, want %q", spacing, err, want)
		}
	}
	w, err := newNetwork(20, 3, 290, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.gain) != 3 || reflect.DeepEqual(w.gain[0], w.gain[1]) {
		t.Errorf("%d draws of the fading, which must differ", len(w.gain))
	}
}

// Methods that move multipliers serve more users than none.
func TestMethods(t *testing.T) {
	r := do(t, "-users", "10", "-samples", "16", "-steps", "200", "-fades", "2", "-seeds", "2", "-out", t.TempDir())
	picturetest.Album(t, r.Figures(), "rates")
	by := map[string]figures{}
	for _, f := range r.Methods {
		by[f.Method] = f
		if !(f.MeanRate > 0) || f.P1 > f.P5 || f.Feasible < 0 || f.Feasible > 1+1e-12 || !(f.Seconds > 0) {
			t.Errorf("%+v", f)
		}
	}
	if len(by) != 6 || !(by["pdi"].SumViolation < by["unconstrained"].SumViolation) || !(by["pdl"].SumViolation < by["unconstrained"].SumViolation) || by["pdl-shared"].SE == nil {
		t.Errorf("%+v", by)
	}
	again := do(t, "-users", "10", "-samples", "16", "-steps", "200", "-fades", "2", "-seeds", "2", "-method", "pdi").Methods[0]
	again.Seconds = by["pdi"].Seconds
	if !reflect.DeepEqual(again, by["pdi"]) {
		t.Errorf("%+v, then %+v", by["pdi"], again)
	}
	if text := r.String(); !strings.Contains(text, "primal–dual inference") || !strings.Contains(text, "5th percentile") {
		t.Error(text)
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(do(t, "-users", "3", "-samples", "2", "-steps", "5", "-seeds", "1", "-method", "pdi, unconstrained"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Methods []map[string]any `json:"methods"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"method", "mean_rate", "p5_rate", "p1_rate", "sum_violation", "feasible", "seconds"} {
		if len(got.Methods) != 2 || got.Methods[0][key] == nil {
			t.Errorf("no %q in %s", key, b)
		}
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		`no method "gibbs"`:   {"-method", "gibbs"},
		"-users = 0":          {"-users", "0"},
		"-samples = 0":        {"-samples", "0"},
		"-seeds = 0":          {"-seeds", "0"},
		"-fades = 0":          {"-fades", "0"},
		"-spacing = NaN":      {"-spacing", "NaN"},
		"-least = -1":         {"-least", "-1"},
		"unexpected argument": {"extra"},
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, m := range []string{"pdi", "pdl"} {
		o, err := parse([]string{"-users", "3", "-method", m})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled run of %s: %v", m, err)
		}
	}
}

// One op is a whole run of a method with 50 users.
func BenchmarkPower(b *testing.B) {
	for _, m := range names {
		b.Run("method="+m+"/users=50/samples=8/steps=100", func(b *testing.B) {
			o, err := parse([]string{"-method", m, "-samples", "8", "-steps", "100"})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := run(b.Context(), o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
