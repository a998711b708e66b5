package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
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
	(&problem{law: l}).measure(f, []float64{0.5, 0.5, 0.5, 0.5})
	if math.Abs(f.Return-2) > 1e-15 || math.Abs(f.Largest-0.25) > 1e-15 || math.Abs(f.Mean-0.125) > 1e-15 || f.Feasible != 0.5 || math.Abs(f.Holdings-2) > 1e-15 {
		t.Errorf("%+v", f)
	}
}

var few = []string{"-assets", "30", "-samples", "16", "-steps", "60", "-cold", "120", "-candidates", "4", "-rounds", "1"}

// Every method runs; multipliers keep budgets better than nothing does and return
// more than equal weights.
func TestMethods(t *testing.T) {
	args := append(slices.Clone(few), "-method", strings.Join(names, ","), "-out", t.TempDir())
	r := do(t, args...)
	picturetest.Album(t, r.Figures(), "budgets", "weights", "course")
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
	for _, key := range []string{"method", "return", "largest_violation", "mean_violation", "feasible", "effective_assets", "effective_candidates", "processor_seconds"} {
		if !strings.Contains(string(b), `"`+key+`"`) {
			t.Errorf("no %q in %s", key, b)
		}
	}
}

// Every study runs, and what it is about makes a difference.
func TestStudies(t *testing.T) {
	for name, want := range map[string][]string{
		"schedules":    {"cosine", "linear", "snr2", "snr4"},
		"multipliers":  {"pdi", "last", "last20", "last40", "last60", "last80", "last100"},
		"temperatures": {"cold0.25", "cold0.5", "cold1", "cold2", "cold4"},
	} {
		r := do(t, "-assets", "12", "-samples", "8", "-steps", "20", "-study", name)
		var got []string
		seen := map[float64]bool{}
		for _, f := range r.Methods {
			got = append(got, f.Method)
			seen[f.Largest+f.Return] = true
		}
		if !slices.Equal(got, want) || len(seen) != len(want) || r.Question == "" || !strings.Contains(r.String(), r.Question) {
			t.Errorf("%s: %v, %d different, %s", name, got, len(seen), r)
		}
	}
}

// The network is trained once. At the budget of its training it is the method pdi-net, and it answers
// at others, too.
func TestBudgets(t *testing.T) {
	o, err := parse([]string{"-assets", "12", "-samples", "8", "-steps", "20", "-rounds", "1", "-budgets", "2, 3", "-study", "budgets"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(o)
	if err != nil {
		t.Fatal(err)
	}
	own, err := p.solve(t.Context(), variant{name: "pdi-net", method: "pdi-net"})
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.all(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]figures{}
	for _, f := range all {
		by[f.Method] = f
	}
	if same, other := by["pdi-net@3"], by["pdi-net@2"]; len(by) != 6 || same.Return != own.Return || same.Largest != own.Largest || other.Return == own.Return {
		t.Errorf("%+v, %+v and as a method %+v", same, other, own)
	}
	if !(by["equal@2"].Largest > by["equal@3"].Largest) {
		t.Errorf("equal weights: %+v", by)
	}
}

// file writes a file.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A file of returns: dates are skipped, moments are those of its columns.
func TestReturns(t *testing.T) {
	path := file(t, "\ufeffdate,A,B\n2024-01-02,0.01,-0.02\n2024-01-03,0.03,0.02\n2024-01-04,0.02, 0.03\n")
	h, err := openHistory(path, "auto")
	if err != nil {
		t.Fatal(err)
	}
	m, held, err := h.split(0)
	if err != nil || len(held) != 0 {
		t.Fatal(held, err)
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
	r := do(t, "-csv", path, "-samples", "4", "-steps", "10", "-holdout", "0")
	if r.Assets != 2 || len(r.Methods) != len(read) || r.Methods[0].Realised != nil || strings.Contains(r.String(), "held out") {
		t.Errorf("%+v", r)
	}
}

// The same periods as prices, from the newest to the oldest, with an index instead of dates
// and without either, give the same returns.
func TestPrices(t *testing.T) {
	want := [][]float64{{0.1, -0.5}, {-0.1, 1}, {0.2, 0.25}}
	for _, text := range []string{
		"date,A,B\n2024-01-02,10,4\n2024-01-03,11,2\n2024-01-04,9.9,4\n2024-01-05,11.88,5\n",
		"Date,A,B\n05.01.2024,11.88,5\n04.01.2024,9.9,4\n03.01.2024,11,2\n02.01.2024,10,4\n",
		",A,B\n0,10,4\n1,11,2\n2,9.9,4\n3,11.88,5\n",
		"A,B\r\n10,4\r\n11,2\r\n9.9,4\r\n11.88,5\r\n",
	} {
		h, err := readHistory(strings.NewReader(text), "auto")
		if err != nil {
			t.Fatal(text, err)
		}
		for k, row := range want {
			for i, v := range row {
				if math.Abs(h.rows[k][i]-v) > 1e-14 {
					t.Errorf("%q: %v", text, h.rows)
				}
			}
		}
		if turned := len(h.notes) > 0; turned != strings.HasPrefix(text, "Date") || !slices.Equal(h.names, []string{"A", "B"}) {
			t.Errorf("%q: notes %q, names %q", text, h.notes, h.names)
		}
	}
	h, err := readHistory(strings.NewReader("d,A,B\nx,100,50\ny,25,51\nz,26,51\nu,130,50\nv,20,50\nw,100,50\n"), "auto")
	if err != nil || len(h.notes) != 4 || h.notes[0] != "line 3: A changes by -75 %: is it adjusted for splits?" || h.notes[3] != "1 more changes like these" {
		t.Errorf("%q %v", h.notes, err)
	}
}

func TestHostileTables(t *testing.T) {
	days := func(s ...string) string { return "date,A,B\n" + strings.Join(s, "\n") + "\n" }
	for text, want := range map[string]string{
		"":                                  "no header",
		"A,B\n":                             "no rows",
		"A;B\n1;2\n":                        "separated by commas",
		"A,B\n.1,.2\n.1,-.3\n":              "2 periods of returns, want ≥ 3",
		"A,B\n11,20\n12,21\n13,22\n":        "2 periods of returns, want ≥ 3",
		"A\n.1\n.2\n-.3\n":                  "1 columns of assets",
		"A,B\n.1,x\n":                       `line 2, column "B": "x"`,
		"A,B\n.1,.2\n.1,\n":                 `line 3, column "B": ""`,
		"A,B\n,.2\n.1,\n":                   `line 2, column "A": ""`,
		"A,B\n.1,.2\n.1,-1.5\n0,0\n":        `line 3, column "B": -1.5, want a return: a finite number > −1`,
		"A,B\n10,20\n11,0\n11,21\n":         `line 3, column "B": 0, want a price: a finite number > 0`,
		"A,B\n10,20\n11,-20\n11,21\n":       `line 3, column "B": -20`,
		"A,B\n.1,.2\n.1,NaN\n":              "finite",
		"A,B\n.1,.2\n.1,1e999\n":            "finite",
		"A,B\n.1,.2\n.1\n":                  "line 3",
		".1,.2\n.1,.2\n.1,.2\n.1,.3\n":      "header, column 1",
		"A,A\n.1,.2\n":                      `header, columns 1 and 2: both are "A"`,
		"date,A,\n1,2,3\n":                  "header, column 3",
		"A,B\n.1,.2\n.3,.2\n.1,.2\n":        "say which by -kind",
		"A,B\n0,.2\n0,.2\n0,.2\n":           "variance of equal weights = 0",
		"A,B\n.1,-.1\n0,0\n-.1,.1\n0,0\n":   "mean returns are all 0",
		"date,A\n2024-01-02,1\n2024-01-03,": "line 3",
		days("2024-01-02,1,2", "2024-01-04,1,3", "2024-01-03,2,2", "2024-01-05,2,2"): `line 4: the date "2024-01-03" comes after "2024-01-04"`,
		days("2024-01-02,1,2", "2024-01-02,1,3", "2024-01-03,2,2", "2024-01-05,2,2"): `line 3: the date "2024-01-02" comes after "2024-01-02"`,
		days("2024-01-04,1,2", "2024-01-03,1,3", "2024-01-05,2,2", "2024-01-05,2,2"): "sorted by date",
	} {
		h, err := readHistory(strings.NewReader(text), "auto")
		if err == nil {
			m, _, e := h.split(0)
			if err = e; err == nil {
				_, err = newLaw(m, 3, 1)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that contains %q", text, err, want)
		}
	}
}

// What makes a covariance singular is said: periods that are fewer than assets, and an asset
// that does not move, which the least variance consists of. All methods go on.
func TestSingular(t *testing.T) {
	text := "A,B,C,cash\n10,20,30,1\n11,21,29,1\n12,19,31,1\n11,22,30,1\n13,22,33,1\n12,23,32,1\n"
	r := do(t, "-csv", file(t, text), "-kind", "prices", "-samples", "8", "-steps", "20", "-seeds", "2")
	if len(r.Notes) != 2 || !strings.HasPrefix(r.Notes[0], "only 4 periods are fitted, for 4 assets") || !strings.HasPrefix(r.Notes[1], "cash has the same return") {
		t.Errorf("%q", r.Notes)
	}
	for k, f := range r.Methods {
		if f.Method == "minimum-variance" && math.Abs(f.Weights[3]-1) > 1e-3 {
			t.Errorf("least variance at %v", f.Weights)
		}
		s := r.Spread[k]
		if s.Method != f.Method || s.Return.SE < 0 || f.Method != "pdi" && (s.Return.SE > 1e-12 || math.Abs(s.Return.Mean-252*f.Return) > 1e-9) {
			t.Errorf("%+v of %+v", s, f)
		}
		if first := r.Spread[0].Return.Mean; (s.Ahead != nil) != (k > 0) || k > 0 && math.Abs(s.Ahead.Mean-(s.Return.Mean-first)) > 1e-9 {
			t.Errorf("ahead %+v of %+v", s.Ahead, s)
		}
	}
	if text := r.String(); !strings.Contains(text, "means and standard errors over seeds") || !strings.Contains(text, "return of equal weights less that of ") {
		t.Error(r)
	}
}

// Means and standard errors, by hand.
func TestEstimated(t *testing.T) {
	if e := estimated([]float64{1, 2, 6}); math.Abs(e.Mean-3) > 1e-15 || math.Abs(e.SE-math.Sqrt(7.0/3)) > 1e-15 {
		t.Errorf("%+v", e)
	}
}

// prices makes a file of a market that moves, with so many assets and days.
func prices(t *testing.T, assets, days int) string {
	r := rand.New(rand.NewPCG(uint64(assets), uint64(days)))
	var b strings.Builder
	p := make([]float64, assets)
	b.WriteString("day")
	for i := range p {
		p[i] = 20 + 80*r.Float64()
		fmt.Fprintf(&b, ",A%d", i)
	}
	for d := range days {
		fmt.Fprintf(&b, "\n%d", d)
		all := 0.01 * r.NormFloat64()
		for i := range p {
			fmt.Fprintf(&b, ",%.3f", p[i])
			p[i] *= 1 + 0.0002*float64(i%5) + all + 0.01*r.NormFloat64()
		}
	}
	return file(t, b.String()+"\n")
}

// From prices to weights in one command: the file of weights has a row per asset, weights
// that sum to 1, and the figures of the report.
func TestWeights(t *testing.T) {
	dir := t.TempDir()
	r := do(t, "-csv", prices(t, 8, 200), "-samples", "32", "-steps", "60", "-out", filepath.Join(dir, "new", "page"), "-weights", filepath.Join(dir, "w.csv"))
	one, err := os.ReadFile(filepath.Join(dir, "w.csv"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(dir, "new", "page", "weights.csv"))
	if err != nil || string(one) != string(other) {
		t.Errorf("%v\n%s\n%s", err, one, other)
	}
	rows, err := csv.NewReader(strings.NewReader(string(one))).ReadAll()
	if err != nil || len(rows) != 9 || len(rows[0]) != 1+3*len(read) || rows[0][1] != "pdi weight" || rows[8][0] != "A7" {
		t.Fatalf("%v %q", err, rows)
	}
	for k := range read {
		sum, risk := 0.0, 0.0
		for _, row := range rows[1:] {
			w, err := strconv.ParseFloat(row[1+3*k], 64)
			if err != nil || w < 0 {
				t.Error(row, err)
			}
			part, err := strconv.ParseFloat(row[2+3*k], 64)
			if err != nil {
				t.Error(err)
			}
			sum += w
			risk = max(risk, part-1)
		}
		if math.Abs(sum-1) > 1e-7 || math.Abs(risk-r.Methods[k].Largest) > 1e-5 {
			t.Errorf("%s: weights sum to %v, largest violation %v, want %v", r.Methods[k].Method, sum, risk, r.Methods[k].Largest)
		}
	}
	by := map[string]figures{}
	for _, f := range r.Methods {
		by[f.Method] = f
		if f.Realised.Periods != 50 || !(f.Realised.Volatility > 0) || !(f.Realised.Turnover >= 0) {
			t.Errorf("%+v", f.Realised)
		}
	}
	if !(by["minimum-variance"].Volatility < by["equal"].Volatility) || !(by["convex"].Return > by["pdi"].Return) || *by["convex"].Bound < by["convex"].Return || *by["convex"].Bound > by["convex"].Return*1.01 {
		t.Errorf("%+v", by)
	}
	for _, want := range []string{"returns are those of a year", "50 periods held out", "minimum variance: A", "whatever the method"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("no %q in\n%s", want, r)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// Weights of ½ that are set again after one of two periods, by hand.
func TestRealise(t *testing.T) {
	rows := [][]float64{{1, 0}, {0, 0.5}, {-0.5, 0}}
	f := realise([]float64{0.5, 0.5}, rows, 2, 6, 0.01)
	// 1 → 1.5 with ⅔ in the first; → 1.75 with 1/1.75, set back; → 1.3125.
	near := func(got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%v, want %v", got, want)
		}
	}
	near(f.Return, math.Pow(1.3125, 2)-1)
	near(f.Turnover, (1/1.75-0.5)*2)
	r := []float64{0.5, 0.25 / 1.5, -0.25}
	mean := (r[0] + r[1] + r[2]) / 3
	near(f.Volatility, math.Sqrt((math.Pow(r[0]-mean, 2)+math.Pow(r[1]-mean, 2)+math.Pow(r[2]-mean, 2))/2*6))
	// Covariances with the portfolio of fixed weights, (.5, .25, −.25): mean 1/6.
	near(f.parts[0], 0.5*((1-1.0/6)*(1.0/3)+(0-1.0/6)*(1.0/12)+(-0.5-1.0/6)*(-5.0/12))/2/0.01)
}

// The optimum of the quadratic problem against a grid of three weights, and its bound.
func TestQuadratic(t *testing.T) {
	m := &market{mean: []float64{0.05, 0.1, 0.2}, cov: &dense{3, []float64{0.02, 0.01, 0, 0.01, 0.05, 0.02, 0, 0.02, 0.3}}}
	q := newQuadratic(m)
	least, highest := math.Inf(1), 0.0
	const grid, most = 400, 0.06
	for i := range grid + 1 {
		for j := range grid + 1 - i {
			x := []float64{float64(i) / grid, float64(j) / grid, float64(grid-i-j) / grid}
			v := q.variance(x)
			least = min(least, v)
			if v <= most {
				highest = max(highest, dot(m.mean, x))
			}
		}
	}
	x, err := q.least(context.Background())
	if err != nil || q.variance(x) > least || q.variance(x) < least-1e-5 {
		t.Errorf("least variance %v, by the grid %v, %v", q.variance(x), least, err)
	}
	x, bound, err := q.within(context.Background(), most)
	if err != nil || q.variance(x) > most || dot(m.mean, x) < highest-1e-6 || dot(m.mean, x) > highest+1e-3 || bound < dot(m.mean, x) || bound > dot(m.mean, x)+1e-6 {
		t.Errorf("%v returns %v, at most %v, by the grid %v, %v", x, dot(m.mean, x), bound, highest, err)
	}
	if _, _, err := q.within(context.Background(), 0.001); err == nil || !strings.Contains(err.Error(), "raise -budget") {
		t.Error(err)
	}
	sum := 0.0
	y := []float64{3, -1, 0.5}
	onto(y)
	for _, v := range y {
		sum += v
	}
	if !slices.Equal(y, []float64{1, 0, 0}) || sum != 1 {
		t.Error(y)
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		`no method "gibbs"`:   {"-method", "gibbs"},
		"-assets = 1":         {"-assets", "1"},
		"-samples = 0":        {"-samples", "0"},
		"-budget = NaN":       {"-budget", "NaN"},
		"-seeds = 0":          {"-seeds", "0"},
		"-cold = -1":          {"-cold", "-1"},
		`no question "all"`:   {"-study", "all"},
		`-budgets: "x"`:       {"-budgets", "2,x"},
		"-rounds = 0":         {"-rounds", "0"},
		`-kind = "x"`:         {"-kind", "x"},
		"-holdout = 1":        {"-holdout", "1"},
		"-rebalance = 0":      {"-rebalance", "0"},
		"-year = 0":           {"-year", "0"},
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
	if o, err = parse(append(slices.Clone(few), "-weights", filepath.Join(t.TempDir(), "no", "w.csv"))); err != nil {
		t.Fatal(err)
	}
	if _, err := run(context.Background(), o); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, m := range []string{"pdi", "pdl", "minimum-variance"} {
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
