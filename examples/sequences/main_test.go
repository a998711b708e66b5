package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

func do(t *testing.T, args ...string) *report {
	t.Helper()
	o, err := parseFlags(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// write makes a data file.
func file(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRunsHoldWhatTheyPromise(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "dump.tsv")
	r := do(t, "-atoms", "5", "-n", "80", "-order", "2", "-dump", dump, "-out", t.TempDir())
	if len(r.Runs) != 6 {
		t.Fatalf("%d runs", len(r.Runs))
	}
	for _, f := range r.Runs {
		switch {
		case f.Name == "unconstrained" && f.Violations == 0:
			t.Error("the unconstrained run breaks nothing: the judge is blind")
		case f.Name != "unconstrained" && f.Violations != 0:
			t.Errorf("%s: %d violations", f.Name, f.Violations)
		case f.Name == "novel" && (f.Novel != f.N || f.Unique != f.N):
			t.Errorf("novel: %d novel and %d different of %d", f.Novel, f.Unique, f.N)
		}
		if f.N != 80 || f.Valid == 0 || math.IsInf(f.NLL, 0) || f.NLL <= 0 || len(f.samples) != 80 {
			t.Errorf("%+v", f)
		}
	}
	if r.Runs[2].Recovered == 0 {
		t.Error("nothing that was held out is found")
	}
	if r.Runs[1].Valid <= r.Runs[0].Valid {
		t.Errorf("the syntax makes %d valid, without it %d are", r.Runs[1].Valid, r.Runs[0].Valid)
	}
	b, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != 6*80 || lines[0] != "unconstrained\t"+r.Runs[0].samples[0] || lines[479] != "score\t"+r.Runs[5].samples[79] {
		t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	picturetest.Album(t, r.Figures(), "runs", "polarity")
	for _, want := range []string{"violations", "novel %", "exactly 2 N"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, r)
		}
	}
}

func TestJSON(t *testing.T) {
	r := do(t, "-atoms", "3", "-n", "3", "-run", "syntax, count", "-count", "N=0", "-order", "1")
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Runs []map[string]any }
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Runs) != 2 || got.Runs[1]["name"] != "count" {
		t.Fatalf("%s", b)
	}
	for _, key := range []string{"name", "n", "valid", "novel", "unique", "violations", "nll", "seconds"} {
		if _, ok := got.Runs[0][key]; !ok {
			t.Errorf("no %q in %s", key, b)
		}
	}
	for _, s := range r.Runs[1].samples {
		if strings.Contains(s, "N") {
			t.Errorf("%s has an N", s)
		}
	}
}

// Every run says which distribution its samples follow.
func TestWhatSamplesFollow(t *testing.T) {
	all := []string{command.Free, command.Steps, command.Excluding(command.Steps), command.Steps, command.Steps, command.Ahead}
	for args, want := range map[string][]string{
		"-particles 1":                         all,
		"-particles 2 -run syntax,count,regex": {command.Weighted, command.Weighted, command.Weighted},
		"-process uniform -run score -steps 4": {command.Moved},
	} {
		r := do(t, append([]string{"-atoms", "4", "-n", "4", "-order", "1"}, strings.Fields(args)...)...)
		var got []string
		for _, f := range r.Runs {
			got = append(got, f.Exact)
			if !strings.Contains(r.String(), ": "+f.Exact+"\n") {
				t.Errorf("%s: %s is not under the table:\n%s", args, f.Name, r)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// With particles the runs within a language still violate nothing; what they do
// to the distribution is tested in package diffusion.
func TestParticles(t *testing.T) {
	r := do(t, "-atoms", "4", "-order", "1", "-n", "40", "-particles", "8", "-run", "syntax,count,regex")
	for _, f := range r.Runs {
		if f.Violations != 0 {
			t.Errorf("%+v", f)
		}
	}
	plain := do(t, "-atoms", "4", "-order", "1", "-n", "40", "-run", "syntax")
	if strings.Join(plain.Runs[0].samples, " ") == strings.Join(r.Runs[0].samples, " ") {
		t.Error("particles change nothing")
	}
}

func TestDataOfOtherKinds(t *testing.T) {
	var lines []string
	for _, a := range []string{"an", "be", "cor", "du", "ed"} {
		for _, b := range []string{"na", "lla", "ra", "win", "gar", "bert"} {
			lines = append(lines, a+b+",1")
		}
	}
	r := do(t, "-data", file(t, append([]string{"smiles"}, lines...)...), "-n", "20", "-order", "2")
	if r.Judge != "syntax" || r.Train != 24 || r.Held != 6 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Runs[1:] {
		if f.Violations != 0 {
			t.Errorf("%+v", f)
		}
	}
	if f := r.Runs[2]; f.Novel != f.N {
		t.Errorf("%+v", f)
	}
	// What is balanced is not called valid, as strings are that are no molecules for us:
	// aromatic atoms, stereochemistry.
	zinc := do(t, "-data", file(t, "c1ccccc1C[C@@H](N)C(=O)O", "Cc1ccc(cc1)S(=O)(=O)N", "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O", "O=C(O)c1ccccc1"), "-n", "3", "-order", "1", "-run", "syntax")
	for _, r := range []*report{r, zinc} {
		if s := r.String(); r.Judge != "syntax" || strings.Contains(s, "valid") || !strings.Contains(s, "balanced %") || !strings.Contains(s, "not chemistry") {
			t.Errorf("%s", s)
		}
	}
	r = do(t, "-data", file(t, "CC1CC1,x", "C(C)O", "CCO", "[NH3+]C", "CC(=O)N"), "-n", "5", "-order", "1", "-run", "syntax")
	if r.Judge != "smiles" || r.Runs[0].Violations != 0 {
		t.Errorf("%+v", r)
	}
}

// The gradient of the property is that of its value, a polynomial of degree two
// for which central differences are exact but for rounding to float32.
func TestPropertyGradient(t *testing.T) {
	o, err := parseFlags([]string{"-atoms", "4"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load(o.data, o.atoms, o.seed)
	if err != nil {
		t.Fatal(err)
	}
	p, err := fitProperty(c)
	if err != nil {
		t.Fatal(err)
	}
	if p.fit < 0.8 {
		t.Errorf("the model explains %v of the variance", p.fit)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	v, d := make([]float32, c.Sites*c.Levels), make([]float32, c.Sites*c.Levels)
	for i := range v {
		v[i] = rng.Float32()
	}
	const h = 0.25
	p.gradient(d, v, 2)
	for i := range v {
		at := v[i]
		v[i] = at + h
		up := p.value(v)
		v[i] = at - h
		down := p.value(v)
		v[i] = at
		if want := (up - down) / h; math.Abs(want-float64(d[i])) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("derivative %d: %v, want %v", i, d[i], want)
		}
	}
	score := p.score(c, 0.3)
	for _, s := range c.Train[:50] {
		if got := score.Decide(c.Tokens(s)); got != -corpus.Polarity(s) {
			t.Errorf("%s: decided %v, judged %v", s, got, corpus.Polarity(s))
		}
	}
}

// Every process leads to the score.
func TestProcesses(t *testing.T) {
	for _, process := range processes {
		o, err := parseFlags([]string{"-atoms", "4", "-run", "score", "-n", "20", "-process", process, "-order", "1"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := run(context.Background(), o)
		if err != nil {
			t.Fatal(process, err)
		}
		if f := r.Runs[0]; f.Violations > 0 || f.NotConverged > 0 || f.N != 20 || len(f.samples) != 20 {
			t.Errorf("%s: %+v", process, f)
		}
	}
}

// unlucky is a projector that finds nothing for every fifth sample.
type unlucky struct{ diffusion.Projector }

type loses struct{ diffusion.Projection }

func (u unlucky) Bind(ctx context.Context, sites, levels, samples int) (diffusion.Projection, error) {
	p, err := u.Projector.Bind(ctx, sites, levels, samples)
	return loses{p}, err
}

func (l loses) Project(ctx context.Context, slot int, v []float32, from, to float64, src rand.Source) (float64, error) {
	if slot%5 == 0 && to == 0 {
		return 1, &projection.NotConverged{Method: "test", Residual: 1}
	}
	return l.Projection.Project(ctx, slot, v, from, to, src)
}

// A string that was not found is counted, and not printed.
func TestStringsThatAreNotFoundAreCounted(t *testing.T) {
	const n = 40
	dump := filepath.Join(t.TempDir(), "strings")
	o, err := parseFlags([]string{"-atoms", "4", "-run", "score", "-n", fmt.Sprint(n), "-order", "1", "-process", uniform, "-steps", "4", "-dump", dump})
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load(o.data, o.atoms, o.seed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.FitMarkov(c.Sites, c.Levels, o.order, c.TrainX, o.smoothing)
	if err != nil {
		t.Fatal(err)
	}
	all, err := jobs(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	j := all[len(all)-1]
	whole, _, failed, _, err := generate(t.Context(), c, m, j, o)
	if err != nil || failed > 0 || len(whole) != n {
		t.Fatal(len(whole), failed, err)
	}
	j.projector = unlucky{j.projector}
	out, x, failed, seconds, err := generate(t.Context(), c, m, j, o)
	if err != nil || failed != n/5 || len(out) != n-n/5 || len(x) != len(out)*c.Sites {
		t.Fatal(len(out), failed, err)
	}
	for i := range n {
		if i%5 != 0 && out[i-i/5-1] != whole[i] {
			t.Errorf("sample %d is %q, want %q", i, out[i-i/5-1], whole[i])
		}
	}
	r := newReport(c, o)
	r.add(c, m, j, out, x, failed, seconds)
	if err := r.write(c, o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(dump)
	if err != nil || strings.Count(string(text), "\n") != n-n/5 {
		t.Error(string(text), err)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), fmt.Sprintf(`"not_converged":%d`, n/5)) || r.Runs[0].Violations > 0 {
		t.Error(string(b), err)
	}
}

// Long strings of many letters are learned by a chain of lower order, unless the user
// sets the order.
func TestOrderIsWhatCanBeAfforded(t *testing.T) {
	for _, c := range []struct{ sites, levels, want int }{{29, 24, 3}, {105, 34, 2}, {128, 500, 1}, {1024, 50_257, 0}} {
		if got := affordable(c.sites, c.levels); got != c.want {
			t.Errorf("%d sites of %d levels: order %d, want %d", c.sites, c.levels, got, c.want)
		}
	}
	long := make([]string, 30)
	for i := range long {
		long[i] = strings.Repeat(string(rune('a'+i%26))+"b", 60) + string(rune('A'+i))
	}
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"-atoms", "3"}, 3},
		{[]string{"-data", file(t, long...)}, 2},
		{[]string{"-data", file(t, long...), "-order", "1"}, 1},
	} {
		if got := do(t, append(c.args, "-n", "1", "-run", "unconstrained")...).Order; got != c.want {
			t.Errorf("%v: order %d, want %d", c.args, got, c.want)
		}
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		"unexpected argument":      {"extra"},
		"-n = 0":                   {"-n", "0"},
		"-atoms = 9":               {"-atoms", "9"},
		"-order = -1":              {"-order", "-1"},
		"-process = \"x\", want":   {"-process", "x"},
		"-smoothing = 0":           {"-smoothing", "0"},
		"no such file":             {"-data", "missing.txt"},
		"want ≥ 2":                 {"-data", file(t, "C", "C")},
		`no run "all"`:             {"-run", "all", "-atoms", "3"},
		`-count = "two"`:           {"-count", "two", "-atoms", "3"},
		"no S in the data":         {"-count", "S=1", "-atoms", "3"},
		"-regex:":                  {"-regex", "(", "-atoms", "3"},
		"no string of that polari": {"-threshold", "1.5", "-atoms", "3", "-run", "score", "-n", "1", "-order", "1"},
		"lagrange: polarity":       {"-threshold", "1.5", "-atoms", "3", "-run", "score", "-n", "1", "-order", "1", "-process", "uniform"},
		"count: projection":        {"-count", "N=9", "-atoms", "3", "-n", "1", "-order", "1", "-run", "count"},
		"-order = 9":               {"-order", "9", "-atoms", "3"},
	} {
		o, err := parseFlags(args)
		if err == nil {
			_, err = run(context.Background(), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	o, _ := parseFlags([]string{"-atoms", "3"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

// A run that is interrupted again and again ends with the samples of one that is
// not, also where samples must differ from each other.
func TestResume(t *testing.T) {
	args := []string{"-atoms", "4", "-n", "40", "-order", "2", "-run", "syntax,novel"}
	whole := do(t, args...)
	r := checkpointtest.Interrupted(t, parseFlags, run, args, "-steps", "9")
	for i, f := range r.Runs {
		if !slices.Equal(f.samples, whole.Runs[i].samples) {
			t.Errorf("%s: other samples than in one piece", f.Name)
		}
	}
}
