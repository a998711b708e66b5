package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
)

func do(t *testing.T, args ...string) *report {
	t.Helper()
	r, err := try(args...)
	if err != nil {
		t.Fatal(args, err)
	}
	return r
}

func try(args ...string) (*report, error) {
	o, err := parseFlags(args)
	if err != nil {
		return nil, err
	}
	return run(context.Background(), o)
}

// small trains the smallest network on the smallest corpus that has all runs.
func small(more ...string) []string {
	return append([]string{"-train", "-atoms", "4", "-width", "32", "-blocks", "1", "-steps", "20", "-batch", "8", "-n", "10"}, more...)
}

func TestRunsHoldWhatTheyPromise(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "samples.tsv")
	r := do(t, small("-dump", dump, "-run", "unconstrained,syntax,novel,count,regex,surface,cfg,cbg")...)
	if r.Steps != 20 || !(r.NLL > 0) || r.Weights == 0 || len(r.Runs) != 12 {
		t.Fatalf("%+v", r)
	}
	lines, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	want := 120
	for _, f := range r.Runs {
		want -= f.NotConverged
	}
	if got := strings.Count(string(lines), "\n"); got != want || want < 50 {
		t.Errorf("%d lines, want %d", got, want)
	}
	for _, f := range r.Runs {
		if f.Name != "unconstrained" && f.Violations > 0 {
			t.Errorf("%s: %d violations", f.Name, f.Violations)
		}
		if f.Known+f.Novel+f.NotConverged != f.N || f.ValidNovel > f.Valid || f.Unique > f.Strings || f.Strings > f.N {
			t.Errorf("%+v", f)
		}
		if len(f.samples) == 0 {
			continue // a network of twenty steps knows few molecules
		}
		if !strings.HasPrefix(strings.SplitAfter(string(lines), f.Name+"\t")[1], f.samples[0]+"\n") {
			t.Errorf("%s is not in the dump", f.Name)
		}
		if !strings.Contains(r.String(), f.samples[0]) {
			t.Errorf("%s is not in the report", f.Name)
		}
	}
	for _, f := range r.Runs {
		if strings.HasSuffix(f.Name, " novel") && f.Known != 0 {
			t.Errorf("%+v", f)
		}
	}
	if novel := r.Runs[2]; novel.Known != 0 || novel.Unique != novel.N {
		t.Errorf("%+v", novel)
	}
	follows := map[string]string{
		"unconstrained": command.Free, "syntax": command.Steps, "novel": command.Excluding(command.Steps), "surface 50 %": command.Ahead,
		"cfg": command.Changed("guidance", command.Steps), "cbg novel": command.Changed("guidance", command.Excluding(command.Steps)),
	}
	for _, f := range r.Runs {
		if text, ok := follows[f.Name]; ok && f.Exact != text || !strings.Contains(r.String(), ": "+f.Exact+"\n") {
			t.Errorf("%s says %q, want %q under the table", f.Name, f.Exact, text)
		}
	}
	if free := r.Runs[0]; free.Violations == 0 {
		t.Error("a network of twenty steps keeps to the syntax: the test cannot fail")
	}
}

// Training cut in two by a checkpoint gives the weights, and so the samples, of
// training in one piece.
func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	ckpt, whole, parts := filepath.Join(dir, "ckpt"), filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	a := do(t, small("-run", "syntax", "-weights", whole, "-out", dir)...)
	picturetest.Album(t, a.Figures(), "loss", "runs")
	first := do(t, small("-run", "syntax", "-checkpoint", ckpt, "-minutes", "1e-9")...)
	if first.Steps == 0 || first.Steps >= 20 {
		t.Fatalf("%d steps, want some of 20", first.Steps)
	}
	b := do(t, small("-run", "syntax", "-checkpoint", ckpt, "-weights", parts)...)
	x, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(parts)
	if err != nil {
		t.Fatal(err)
	}
	if string(x) != string(y) {
		t.Error("other weights")
	}
	if fmt.Sprint(a.Runs[0].samples) != fmt.Sprint(b.Runs[0].samples) {
		t.Error("other samples")
	}
	done := do(t, small("-run", "syntax", "-checkpoint", ckpt)...)
	if done.Steps != 20 || done.Loss != nil {
		t.Errorf("%+v: there was nothing left to train", done)
	}
	if _, err := try(small("-checkpoint", ckpt, "-rate", "1")...); err == nil || !strings.Contains(err.Error(), "Config.Rate") {
		t.Error(err)
	}
	c := do(t, "-weights", whole, "-atoms", "4", "-run", "syntax", "-n", "10")
	if c.Steps != 0 || c.Weights != a.Weights || c.NLL-a.NLL > 0.05 || a.NLL-c.NLL > 0.05 {
		t.Errorf("%+v: 16 bits are near 32", c)
	}
}

// The weights of the program fit its data and have learned from them; guidance makes
// what it leans towards more frequent, and nothing certain.
func TestOwnWeights(t *testing.T) {
	r := do(t, "-n", "24", "-run", "syntax,novel,surface,cfg,cbg")
	if !(r.NLL < 15) { // a chain of order 3 needs 13.4, one of order 0 more than 20
		t.Errorf("%v nats", r.NLL)
	}
	reached := make(map[string]int)
	for _, f := range r.Runs {
		if reached[f.Name] = f.Reached; f.Violations > 0 || f.Valid < f.N/3 {
			t.Errorf("%+v", f)
		}
		if strings.HasPrefix(f.Name, surface) && (f.NotConverged > 0 || f.Valid != f.N) {
			t.Errorf("%+v: what has a surface is a molecule", f)
		}
	}
	if len(r.Runs) != 9 || reached["surface 20 %"] != 24 {
		t.Errorf("%d runs, %v", len(r.Runs), reached)
	}
	for _, name := range []string{"cfg", "cbg", "cfg novel", "cbg novel"} {
		if n := reached[name]; n <= reached["syntax"] || n == 24 {
			t.Errorf("%s: %v", name, reached)
		}
	}
}

// Runs with a bound on the synthetic accessibility give molecules within the bound, and the report
// compares other runs.
func TestAccessible(t *testing.T) {
	r := do(t, small("-run", "syntax,accessible", "-accessible", "7.5,9")...)
	if len(r.Runs) != 3 {
		t.Fatalf("%d runs, want 3", len(r.Runs))
	}
	for k, f := range r.Runs {
		if f.Violations > 0 || len(f.Above) != 2 || f.Above[0] < f.Above[1] || f.Above[0] > f.Valid {
			t.Errorf("%+v", f)
		}
		if k > 0 && (f.Valid+f.NotConverged != f.N || f.NotConverged == f.N || f.Above[k-1] > 0 || !(f.Accessibility <= r.Thresholds[k-1])) {
			t.Errorf("%+v: the score is at most %v", f, r.Thresholds[k-1])
		}
		if f.Valid > 0 && !(f.Accessibility >= 1 && f.QED > 0 && f.QED < 1) {
			t.Errorf("%+v", f)
		}
	}
	if text := r.String(); !strings.Contains(text, "> 7.5") || !strings.Contains(text, "QED") {
		t.Error(text)
	}
	if c := do(t, small("-run", "regex")...).Runs[0]; c.Above != nil || c.QED != 0 {
		t.Errorf("%+v: nothing asks for the score", c)
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(do(t, small("-json", "-run", "regex")...))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	first := got["runs"].([]any)[0].(map[string]any)
	for _, key := range []string{"name", "n", "valid", "novel", "unique", "valid_novel", "known", "violations", "reached", "not_converged", "strings", "seconds"} {
		if _, ok := first[key]; !ok {
			t.Errorf("no %q in %s", key, b)
		}
	}
	if _, ok := got["nll"].(float64); !ok {
		t.Errorf("no nll in %s", b)
	}
}

func TestErrorsAreClear(t *testing.T) {
	strange := filepath.Join(t.TempDir(), "strange")
	if err := os.WriteFile(strange, []byte("strange"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"unexpected argument":        {"x"},
		"-n = 0":                     {"-n", "0"},
		"-atoms = 9":                 {"-atoms", "9"},
		"-width = 33":                {"-width", "33"},
		"-blocks = 0":                {"-blocks", "0"},
		"-rate = -1":                 {"-rate", "-1"},
		"-checkpoint without -train": {"-checkpoint", "x"},
		"for which the program's own networks were trained": {"-atoms", "5"},
		"no run \"other\"":        {"-run", "other"},
		"-surface = \"2\"":        {"-surface", "2"},
		"-accessible = \"11\"":    {"-accessible", "11"},
		"-lean = 0":               {"-lean", "0"},
		"-scale = -1":             {"-scale", "-1"},
		"-count = \"N\"":          {"-count", "N"},
		"no such file":            {"-weights", "nowhere"},
		strange + ": 7 bytes":     {"-weights", strange},
		strange + ": train: Load": small("-checkpoint", strange),
		"-regex":                  {"-regex", "("},
	} {
		if _, err := try(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// Projecting seldom leads into dead ends, which are reported as such; late enough, past
// what no projection looks at any more. What is found is still of the language if the
// last steps were projected.
func TestProjectingSeldom(t *testing.T) {
	lost := func(more ...string) int {
		r := do(t, append([]string{"-n", "60", "-run", "syntax"}, more...)...)
		if some := r.Runs[0].Exact == command.SomeSteps; some != (len(more) > 0) {
			t.Errorf("%v: the report says %q", more, r.Runs[0].Exact)
		}
		if f := r.Runs[0]; f.Violations > 0 || f.N != 60 {
			t.Errorf("%v: %+v", more, f)
		}
		return r.Runs[0].NotConverged
	}
	if always, seldom := lost(), lost("-every", "-1"); always != 0 || seldom == 0 {
		t.Errorf("%d of 60 lost with every step projected, %d with the last alone", always, seldom)
	}
	for _, args := range [][]string{{"-every", "0"}, {"-every", "-2"}, {"-start", "0"}, {"-start", "2"}} {
		if _, err := parseFlags(args); err == nil || !strings.Contains(err.Error(), "want ≥ 1 or -1, and 0 < start ≤ 1") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
