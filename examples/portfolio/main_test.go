package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
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

// Multipliers answer relative violations in proportion, and no more than fully.
func TestRelative(t *testing.T) {
	u, err := relative{2, 10}.Bind(context.Background(), 4)
	if err != nil {
		t.Fatal(err)
	}
	lambda := []float64{1, 1, 1, 3}
	if err := u.Update(lambda, &dual.Batch{Step: 5, Mean: []float64{9, -0.25, 0, 9}, Max: 3}); err != nil {
		t.Fatal(err)
	}
	eta := 2 * travel / 10 / 2
	for j, want := range []float64{math.Exp(eta), math.Exp(-eta * fall / 8), 1, 3} {
		if math.Abs(lambda[j]-want) > 1e-15 {
			t.Errorf("λ_%d = %v, want %v", j, lambda[j], want)
		}
	}
	if u.UnmarshalBinary([]byte{1}) == nil || u.UnmarshalBinary(nil) != nil {
		t.Error("want no state")
	}
}

// The projection ends where all keep their budgets and stays there.
func TestWithin(t *testing.T) {
	l := tiny(t)
	z := []float32{3, 0, -1}
	l.within(z)
	g := make([]float64, 3)
	l.Violation(g, z)
	if slices.Max(g) > 1e-5*l.budget {
		t.Errorf("violations %v", g)
	}
	again := slices.Clone(z)
	if l.within(again); !slices.Equal(again, z) {
		t.Errorf("%v, again %v", z, again)
	}
}

// Half the weight in each of two independent assets of variance 1 and 3: parts ¼ and
// ¾ of the variance, mean ½ of the budget's unit.
func TestMeasure(t *testing.T) {
	l, err := newLaw(&market{mean: []float64{1, 3}, cov: &dense{2, []float64{1, 0, 0, 3}}}, 1.2, 1)
	if err != nil {
		t.Fatal(err)
	}
	f := &figures{}
	(&problem{law: l}).measure(f, []float32{7, 7, 0, 0})
	if math.Abs(f.Return-2) > 1e-15 || math.Abs(f.Largest-0.25) > 1e-15 || math.Abs(f.Mean-0.125) > 1e-15 || f.Feasible != 0.5 || math.Abs(f.Holdings-2) > 1e-15 {
		t.Errorf("%+v", f)
	}
}

var few = []string{"-assets", "30", "-samples", "16", "-steps", "60", "-cold", "120", "-candidates", "4"}

// Every method runs; multipliers keep budgets better than nothing does and return
// more than equal weights.
func TestMethods(t *testing.T) {
	args := append(slices.Clone(few), "-method", strings.Join(names, ","), "-out", t.TempDir())
	r := do(t, args...)
	picturetest.Album(t, r.Figures(), "budgets", "course")
	by := map[string]figures{}
	for _, f := range r.Methods {
		by[f.Method] = f
		if !(f.Return > 0) || !(f.Holdings >= 1 && f.Holdings <= 30+1e-9) || f.Mean > f.Largest || f.Feasible < 0 || f.Feasible > 1 || (f.Candidates > 0) != (f.Method == "pdi-mc") {
			t.Errorf("%+v", f)
		}
	}
	if len(by) != len(names) || !(by["pdi"].Largest < by["unconstrained"].Largest/10) || !(by["pdi"].Return > by["equal"].Return) || by["pdm"].Largest > 1e-5 {
		t.Errorf("%+v", by)
	}
	again := do(t, append(slices.Clone(few), "-method", "pdi")...).Methods[0]
	again.Seconds = by["pdi"].Seconds
	if !reflect.DeepEqual(again, by["pdi"]) {
		t.Errorf("%+v, then %+v", by["pdi"], again)
	}
	if text := r.String(); !strings.Contains(text, "primal–dual inference") || !strings.Contains(text, "largest violation") {
		t.Error(text)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"method", "return", "largest_violation", "mean_violation", "feasible", "effective_assets", "effective_candidates", "seconds"} {
		if !strings.Contains(string(b), `"`+key+`"`) {
			t.Errorf("no %q in %s", key, b)
		}
	}
}

// A file of returns: dates are skipped, moments are those of its columns.
func TestReturns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "returns.csv")
	if err := os.WriteFile(path, []byte("\ufeffdate,A,B\n2024-01-02,0.01,-0.02\n2024-01-03,0.03,0.02\n2024-01-04,0.02, 0.03\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := openReturns(path)
	if err != nil {
		t.Fatal(err)
	}
	// Deviations −.01, .01, 0 and −.03, .01, .02.
	want := []float64{1e-4, 2e-4, 2e-4, 7e-4}
	for i, c := range m.cov.(*dense).c {
		if math.Abs(c-want[i]) > 1e-17 {
			t.Errorf("covariance %d = %v, want %v", i, c, want[i])
		}
	}
	if !slices.Equal(m.names, []string{"A", "B"}) || math.Abs(m.mean[0]-0.02) > 1e-17 || math.Abs(m.mean[1]-0.01) > 1e-17 {
		t.Errorf("%+v", m)
	}
	r := do(t, "-csv", path, "-samples", "4", "-steps", "10", "-cold", "20")
	if r.Assets != 2 || len(r.Methods) != 6 {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]string{
		"":                                  "no header",
		"A,B\n.1,.2\n.1,.3\n":               "2 rows of returns, want ≥ 3",
		"A\n.1\n.2\n.3\n":                   "1 columns of assets",
		"A,B\n.1,x\n":                       `line 2, column "B": "x"`,
		"A,B\n.1,.2\n.1,\n":                 `line 3, column "B": ""`,
		"A,B\n.1,.2\n.1,-1.5\n":             "> −1",
		"A,B\n.1,.2\n.1,NaN\n":              "finite",
		"A,B\n.1,.2\n.1\n":                  "line 3",
		".1,.2\n.1,.2\n.1,.2\n.1,.3\n":      "header, column 1",
		"A,B\n101,20\n102,21\n103,20\n":     "these are prices",
		"A,B\n.1,.2\n.1,.2\n.1,.2\n":        "variance of equal weights = 0",
		"A,B\n.1,-.1\n0,0\n-.1,.1\n0,0\n":   "mean returns are all 0",
		"date,A\n2024-01-02,1\n2024-01-03,": "line 3",
	} {
		m, err := readReturns(strings.NewReader(text))
		if err == nil {
			_, err = newLaw(m, 3, 1)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that contains %q", text, err, want)
		}
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		`no method "gibbs"`:   {"-method", "gibbs"},
		"-assets = 1":         {"-assets", "1"},
		"-samples = 0":        {"-samples", "0"},
		"-budget = NaN":       {"-budget", "NaN"},
		"-cold = -1":          {"-cold", "-1"},
		"unexpected argument": {"extra"},
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	o, err := parse([]string{"-csv", filepath.Join(t.TempDir(), "none.csv")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(context.Background(), o); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, m := range []string{"pdi", "pdl"} {
		o, err := parse(append(slices.Clone(few), "-method", m))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled run of %s: %v", m, err)
		}
	}
}

// One op is one prediction of a portfolio of 500 assets.
func BenchmarkPredict(b *testing.B) {
	l, err := newLaw(newMarket(500, 1), 3, 1.0/2000)
	if err != nil {
		b.Fatal(err)
	}
	f := &fit{l, 1}
	p := &problem{law: l}
	z, v := make([]float32, 500), make([]float32, 500)
	for b.Loop() {
		if err := f.Predict(v, z, []float64{0.5}, p.prices(), nil); err != nil {
			b.Fatal(err)
		}
	}
}
