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

	"github.com/gibbsite-go/gibbsite/energy"
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

// two is a network of two users with the gains of one draw of the fading.
func two(gain []float32) *radio {
	return &radio{n: 2, own: [][]float32{{gain[0], gain[3]}}, cross: [][]float32{{0, gain[1], gain[2], 0}}}
}

// Rates of two users by hand: 10·½/(1+1·1) and 6·1/(1+2·½).
func TestRates(t *testing.T) {
	w := two([]float32{10, 1, 2, 6})
	r := make([]float64, 2)
	w.rates(r, []float32{0, 0.5})
	for i, want := range []float64{math.Log2(3.5), math.Log2(4)} {
		if math.Abs(r[i]-want) > 1e-6 {
			t.Errorf("user %d: %v, want %v", i, r[i], want)
		}
	}
	if power(-3) != 0 || power(7) != 1 {
		t.Error("powers are from 0 to their most")
	}
}

// Rates in float64 by their formula, over more fades than are multiplied at a time.
func TestRatesOverFading(t *testing.T) {
	w, err := newRadio(6, 2*together+3, 100, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	x := make([]float32, 3*6)
	for i := range x {
		x[i] = float32(r.Float64() - 0.5)
	}
	got := make([]float64, len(x))
	w.rates(got, x)
	for k := range x {
		s, i, want := k/6*6, k%6, 0.0
		for f := range w.own {
			rest := 1.0
			for j := range 6 {
				rest += float64(w.cross[f][i*6+j]) * float64(x[s+j]+0.5)
			}
			want += math.Log2(1+float64(w.own[f][i])*float64(x[k]+0.5)/rest) / float64(len(w.own))
		}
		if math.Abs(got[k]-want) > 1e-5*(1+want) {
			t.Errorf("rate %d = %v, want %v", k, got[k], want)
		}
	}
}

// Scores against central differences of energies.
func TestScores(t *testing.T) {
	w, err := newRadio(5, 3, 100, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 10)
	for i := range x {
		x[i] = float32(0.9*r.Float64() - 0.45)
	}
	x[9] = 0.75 // flat there
	const h = 1.0 / 1024
	priced := newTarget(w, 0.6, 2)
	if err := priced.SetLambda([]float64{0, 1, 2, 0.5, 7}); err != nil {
		t.Fatal(err)
	}
	for _, m := range []energy.Scored{newTarget(w, 0.6, 1), priced, shortfall{newTarget(w, 3, 1)}} {
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
			// Differences are off by h²/6 of the third derivative, and by the rounding of
			// float32.
			if math.Abs(want-float64(s[i])) > 3e-3*(1+math.Abs(want)) {
				t.Errorf("%T: score %d = %v, want %v", m, i, s[i], want)
			}
		}
	}
	s := make([]float32, 5)
	if (shortfall{newTarget(w, 0, 1)}).Score(s, x[:5]); slices.ContainsFunc(s, func(v float32) bool { return v != 0 }) {
		t.Errorf("nobody misses anything, but the penalty has the slope %v", s)
	}
}

// Power control meets what can be met, and leaves alone what is.
func TestRaise(t *testing.T) {
	p := &problem{options: options{users: 2, least: 1}, net: two([]float32{4, 0.5, 0.5, 8})}
	x, r := []float32{-0.5, 0.25}, make([]float64, 2)
	p.raise(x)
	if p.net.rates(r, x); r[0] < 1-1e-5 || x[1] != 0.25 {
		t.Errorf("%v: rates %v", x, r)
	}
	y := slices.Clone(x)
	p.raise(y)
	if math.Abs(float64(y[0]-x[0])) > 1e-5 {
		t.Errorf("%v, again %v", x, y)
	}
	p.net = two([]float32{0.1, 1, 1, 0.1}) // nobody can
	p.raise(x)
	if x[0] != 0.5 || x[1] != 0.5 {
		t.Errorf("%v, want full powers", x)
	}
}

func TestMeasure(t *testing.T) {
	p := &problem{options: options{users: 2, least: 1.5}, net: two([]float32{1, 0, 0, 3})}
	f := p.measure([]float32{0.5, 0.5, 0.5, 0.5}, 1.5) // rates 1 and 2
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
	for spacing, want := range map[float64]string{1: "no place is 50 m from all", 40: "-spacing = 40"} {
		if _, err := newRadio(30, 1, spacing, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("spacing %v: %v, want %q", spacing, err, want)
		}
	}
	w, err := newRadio(20, 3, 290, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.own) != 3 || len(w.cross) != 3 || reflect.DeepEqual(w.own[0], w.own[1]) {
		t.Errorf("%d draws of the fading, which must differ", len(w.own))
	}
}

// Methods that move multipliers serve more users than none.
func TestMethods(t *testing.T) {
	r := do(t, "-users", "10", "-samples", "16", "-steps", "200", "-fades", "2", "-slots", "0", "-seeds", "2", "-out", t.TempDir())
	picturetest.Album(t, r.Figures(), "rates", "powers", "multipliers")
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
	again := do(t, "-users", "10", "-samples", "16", "-steps", "200", "-fades", "2", "-slots", "0", "-seeds", "2", "-method", "pdi").Methods[0]
	again.Seconds = by["pdi"].Seconds
	if !reflect.DeepEqual(again, by["pdi"]) {
		t.Errorf("%+v, then %+v", by["pdi"], again)
	}
	if text := r.String(); !strings.Contains(text, "primal–dual inference") || !strings.Contains(text, "5th percentile") {
		t.Error(text)
	}
}

// Every network is trained once on a problem, whichever method uses it first, and answers at
// bounds that it was not trained for; dual training has the same samples at all of them.
func TestNetworks(t *testing.T) {
	small := []string{"-users", "3", "-samples", "4", "-chain", "2", "-steps", "6", "-fades", "1", "-slots", "3", "-warmup", "3", "-rounds", "1", "-seeds", "1"}
	r := do(t, append(small, "-method", "all")...)
	if len(r.Methods) != len(methods) {
		t.Errorf("%d methods, want %d", len(r.Methods), len(methods))
	}
	for _, f := range r.Methods {
		if !(f.MeanRate > 0) || f.SE != nil {
			t.Errorf("%+v", f)
		}
	}
	by := map[string]figures{}
	for _, f := range do(t, append(small, "-study", "bounds", "-bounds", "0.6, 9")...).Methods {
		by[f.Method] = f
	}
	for k, m := range r.Methods {
		same := by[m.Method+"@0.6"]
		if slices.Contains([]string{"pdi", "pdi-net", "dt", "dt+"}, m.Method) && same.numbers != m.numbers {
			t.Errorf("%s at its own bound: %+v, want %+v", m.Method, same.numbers, r.Methods[k].numbers)
		}
	}
	if a, b := by["dt@0.6"], by["dt@9"]; len(by) != 8 || a.MeanRate != b.MeanRate || !(a.SumViolation < b.SumViolation) {
		t.Errorf("%+v, %+v", a, b)
	}
}

// The other studies run, and what they are about makes a difference.
func TestStudies(t *testing.T) {
	for name, variants := range map[string]int{"schedules": 4, "multipliers": 7, "temperatures": 5} {
		r := do(t, "-users", "3", "-samples", "2", "-steps", "20", "-fades", "1", "-slots", "2", "-seeds", "1", "-study", name)
		if len(r.Methods) != variants || r.Question == "" || !strings.Contains(r.String(), r.Question) {
			t.Errorf("%s: %+v", name, r)
		}
		if first, last := r.Methods[0], r.Methods[variants-1]; first.numbers == last.numbers {
			t.Errorf("%s: %s and %s have the same figures", name, first.words, last.words)
		}
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
	for _, key := range []string{"method", "mean_rate", "p5_rate", "p1_rate", "sum_violation", "feasible", "processor_seconds"} {
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
		"-slots = -1":         {"-slots", "-1"},
		"-chain = 0":          {"-chain", "0"},
		"-rounds = 0":         {"-rounds", "0"},
		"-cold = 0":           {"-cold", "0"},
		"-cold = +Inf":        {"-cold", "Inf"},
		`"pdi" twice`:         {"-method", "pdi,pdl,pdi"},
		`no method ""`:        {"-method", ""},
		`no question "all"`:   {"-study", "all"},
		`-bounds: "x"`:        {"-bounds", "0.6,x"},
		`-bounds: "-1"`:       {"-bounds", "-1"},
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
	for _, m := range usual {
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
