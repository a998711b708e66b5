package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
	"github.com/gibbsite-go/gibbsite/internal/exact"
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

// quick is a small run of all parts.
var quick = []string{"-letters", "3", "-chains", "16", "-steps", "300"}

// The figures of the three-Gaussian grid to the digits that are known.
func TestGrid(t *testing.T) {
	r := do(t, append(quick, "-levels", "0.5,0.2,0.1,0.05,0.02")...)
	for name, want := range map[string][]float64{
		"likelihood-ratio": {0.071, 0.208, 0.284, 0.334, 0.372},
		"reverse-kl":       {0.129, 0.460, 0.725, 0.980, 1.295},
	} {
		k := 0
		for _, p := range r.Curve {
			if p.Formulation != name {
				continue
			}
			if math.Abs(p.KL-want[k]) > 5e-4 || math.Abs(p.Unlearned-r.levels[k]) > sameLevel || !(p.Lambda > 0) {
				t.Errorf("%s at %v: %+v, want KL %v", name, r.levels[k], p, want[k])
			}
			k++
		}
		if k != len(want) {
			t.Errorf("%s: %d points", name, k)
		}
	}
}

// The mixture of chains and its dialect against sums over paths.
func TestWordsAreLaws(t *testing.T) {
	w, err := newWords(3)
	if err != nil {
		t.Fatal(err)
	}
	path := func(x []int32, trans []float64) float64 {
		return start[x[0]] * trans[letters*x[0]+x[1]] * trans[letters*x[1]+x[2]]
	}
	total, share := 0.0, 0.0
	for k, x := range exact.States(3, letters) {
		p := (path(x, standard) + path(x, dialect)) / 2
		if math.Abs(p-w.q[k]) > 1e-14 {
			t.Fatalf("%v: %v, want %v", x, w.q[k], p)
		}
		total += p
		if (x[0] == 3 && x[1] == 3) || (x[1] == 3 && x[2] == 3) {
			share += p
			if !constraint.Accepts(w.double, x) {
				t.Errorf("%v has dd", x)
			}
		}
	}
	if math.Abs(total-1) > 1e-12 || math.Abs(w.share(w.q)-share) > 1e-12 {
		t.Errorf("total %v, share %v, want %v", total, w.share(w.q), share)
	}
}

// Sampling finds what the exact solver does.
func TestWordsForget(t *testing.T) {
	w := do(t, "-letters", "4", "-goal", "0.5", "-steps", "2000").Words
	// Five standard errors, besides what is left of the multiplier's.
	if math.Abs(w.Unlearned-0.5) > 5*w.UnlearnedSE+0.02 || math.Abs(w.Lambda-w.ExactLambda) > 0.1*w.ExactLambda {
		t.Errorf("%+v", w)
	}
	if w.ExactAfter >= w.Before || math.Abs(w.After-w.ExactAfter) > 5**w.AfterSE+0.01 {
		t.Errorf("%+v", w)
	}
	for _, p := range w.Curve {
		if p.Formulation == "likelihood-ratio" && p.Unlearned == 0.5 && math.Abs(p.Lambda-w.ExactLambda) > 1e-6 {
			t.Errorf("%+v, want λ = %v", p, w.ExactLambda)
		}
	}
}

// A multiplier for each of several concepts never costs more than equal weights, and usually less.
func TestSeveral(t *testing.T) {
	rows, err := several(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for k, r := range rows {
		if r.Concepts != []int{2, 3, 4, 0}[k] || r.NoDearer != r.Problems || !(r.Least > -1e-6 && r.Median > 0.05 && r.Most < 1) {
			t.Errorf("%+v", r)
		}
	}
	if last := rows[len(rows)-1]; last.Problems != problems || rows[0].Problems+rows[1].Problems+rows[2].Problems != problems {
		t.Errorf("%+v", last)
	}
}

func TestText(t *testing.T) {
	text := do(t, append(quick, "-levels", "0.2,0.02")...).String()
	for _, want := range []string{follows, "0.208", "0.460", "no distribution of forward-kl leaves less than", "before"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(do(t, quick...))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Curve []map[string]any `json:"curve"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Curve) != 39 { // 13 levels, all of which every formulation reaches
		t.Errorf("%d points", len(got.Curve))
	}
	for _, key := range []string{"formulation", "unlearned", "kl", "lambda"} {
		if got.Curve[0][key] == nil {
			t.Errorf("no %q in %v", key, got.Curve[0])
		}
	}
}

func TestPicture(t *testing.T) {
	r := do(t, append(quick, "-out", t.TempDir())...)
	picturetest.Album(t, r.Figures(), "unlearn")
}

// A network of a few steps: what is exact is right, the density that it is given sums to 1,
// and the forgotten part is less likely afterwards.
func TestNetwork(t *testing.T) {
	exact.SkipUnderRace(t)
	o, err := parse([]string{"-network", "-training", "150", "-levels", "0.5", "-goal", "0.95", "-out", t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r, err := networks(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	picturetest.Album(t, r.Figures(), "points")
	methods := []string{"before", "exact likelihood-ratio", "exact reverse-kl", "exact forward-kl", "primal-dual", "dual only"}
	if len(r.Rows) != len(methods) || r.Steps != 45 || r.Before != 150 {
		t.Fatalf("%+v", r)
	}
	for k, row := range r.Rows {
		if row.Method != methods[k] || !(row.KL > 0) {
			t.Errorf("%+v, want %s", row, methods[k])
		}
		if strings.HasPrefix(row.Method, "exact") && (math.Abs(row.Unlearned-0.5) > 1e-3 || math.Abs(row.Optimum-0.070) > 1e-3) {
			t.Errorf("%+v", row)
		}
	}
	if before := r.Rows[0]; r.Rows[4].Forgotten >= before.Forgotten || r.Rows[4].Lambda <= 0 {
		t.Errorf("%+v, before %+v", r.Rows[4], before)
	}
	for k, method := range []string{"before", "exact", "primal-dual", "dual only"} {
		w := r.Words[k]
		if len(r.Words) != 4 || w.Method != method || !(w.KL >= 0) || !(w.Network > 0) || !(w.Double > 0 && w.Double < 1) {
			t.Errorf("%+v, want %s", w, method)
		}
	}
	if w := r.Words; math.Abs(w[1].Unlearned-0.95) > 1e-6 || !(w[2].Unlearned < w[0].Unlearned) || !(w[2].Lambda > 0) {
		t.Errorf("%+v", w)
	}
	if text := r.String(); !strings.Contains(text, "forgets a dialect") || !strings.Contains(text, "primal-dual") || !strings.Contains(text, "45 steps after 150") {
		t.Error(text)
	}
	net, err := neural.New(neural.Config{Length: 1, Channels: 2, Width: 8, Heads: 1, Hidden: 8, Blocks: 1, Cond: 8}, rand.NewPCG(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFlow(net)
	if err != nil {
		t.Fatal(err)
	}
	logp, err := f.logDensity(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	mass := 0.0
	for _, l := range logp {
		mass += math.Exp(l) * cell
	}
	if math.Abs(mass-1) > 1e-3 {
		t.Errorf("the density has the mass %v", mass)
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		`-levels: "2"`:          {"-levels", "0.5,2"},
		`-levels: "x"`:          {"-levels", "x"},
		"-goal = 1":             {"-goal", "1"},
		"-letters = 9":          {"-letters", "9"},
		"-chains = 1":           {"-chains", "1"},
		"-training = 9":         {"-network", "-training", "9"},
		"unexpected argument":   {"extra"},
		"no distribution meets": {"-goal", "0.0001", "-letters", "2"},
	} {
		o, err := parse(args)
		if err == nil {
			_, err = run(context.Background(), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o, err := parse(quick)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}
