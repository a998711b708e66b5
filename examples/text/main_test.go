package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
)

func try(args ...string) (*report, error) {
	o, err := parse(args)
	if err != nil {
		return nil, err
	}
	return run(context.Background(), o)
}

func do(t *testing.T, args ...string) *report {
	t.Helper()
	r, err := try(args...)
	if err != nil {
		t.Fatal(args, err)
	}
	return r
}

// small is a short training of the smallest network.
func small(more ...string) []string {
	return append([]string{"-width", "32", "-blocks", "1", "-steps", "20", "-batch", "8", "-n", "5", "-length", "40"}, more...)
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEverySampleIsOfItsLanguage(t *testing.T) {
	dump := filepath.Join(t.TempDir(), "samples.tsv")
	r := do(t, small("-dump", dump)...)
	if len(r.Runs) != 3 || r.Steps != 20 || !(r.NLL > 0) || r.Weights == 0 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Runs {
		if f.Violations > 0 || f.N != 5 || len(f.Samples) != 5 || !(f.Distinct > 0) {
			t.Errorf("%+v", f)
		}
	}
	for k, want := range []string{command.Free, command.Steps, command.Steps} {
		if r.Runs[k].Exact != want || !strings.Contains(r.String(), ": "+want+"\n") {
			t.Errorf("%s says %q, want %q under the table", r.Runs[k].Name, r.Runs[k].Exact, want)
		}
	}
	pattern := regexp.MustCompile(`\A(?:` + ownRegex + `)\z`)
	for _, s := range r.Runs[0].Samples {
		if pattern.MatchString(s) {
			t.Error("a network of twenty steps keeps to the pattern: the test cannot fail")
		}
	}
	for _, s := range r.Runs[2].Samples {
		var v struct{ Level, Text string }
		if err := json.Unmarshal([]byte(s), &v); err != nil || len(v.Text) < 4 || !strings.Contains("info warn error", v.Level) {
			t.Errorf("%q: %v", s, err)
		}
	}
	lines, err := os.ReadFile(dump)
	if err != nil || strings.Count(string(lines), "\n") != 15 || !strings.Contains(string(lines), "regex\t"+r.Runs[1].Samples[4]+"\n") {
		t.Error(err, string(lines))
	}
	if !strings.Contains(r.String(), fmt.Sprintf("%q", r.Runs[1].Samples[0])) {
		t.Error(r)
	}
}

// Runs that differ in what their samples follow say so.
func TestWhatSamplesFollow(t *testing.T) {
	seen := map[string]string{}
	for _, run := range []string{"free", infill, dlp, "regex"} {
		seen[exact(run, 1)] = run
	}
	if len(seen) != 4 || exact("free", 0.5) != command.Tempered || exact("regex", 0.5) == exact("regex", 1) || exact(left, 1) != command.Free {
		t.Error(seen)
	}
}

// The lines of a user's file, a pattern and a schema of their own.
func TestFiles(t *testing.T) {
	data := file(t, strings.Repeat("Der Mond scheint über das Dorf und den alten Wald.\nKurz.\n\n", 4))
	schema := file(t, `{"type":"array","items":{"type":"integer","minimum":0},"minItems":2}`)
	r := do(t, small("-data", data, "-regex", "(Ü|D).{3,9}[!.]", "-schema", schema, "-temperature", "0.7")...)
	if r.Train+r.Held != 12 {
		t.Errorf("%d lines, want 12: 8, of which four are cut in two", r.Train+r.Held)
	}
	for _, s := range r.Runs[1].Samples {
		if !regexp.MustCompile(`\A(Ü|D).{3,9}[!.]\z`).MatchString(s) {
			t.Errorf("%q", s)
		}
	}
	for _, s := range r.Runs[2].Samples {
		var v []float64 // 3.00 is an integer, too
		if err := json.Unmarshal([]byte(s), &v); err != nil || len(v) < 2 {
			t.Errorf("%q: %v", s, err)
		}
		for _, x := range v {
			if x < 0 || x != math.Trunc(x) {
				t.Errorf("%q: %v", s, x)
			}
		}
	}
}

// Training cut in two by a checkpoint gives the weights of training in one piece.
func TestCheckpoint(t *testing.T) {
	dir := t.TempDir()
	ckpt, whole, parts := filepath.Join(dir, "ckpt"), filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	a := do(t, small("-run", "regex", "-train", "-weights", whole, "-out", dir)...)
	picturetest.Album(t, a.Figures(), "loss")
	first := do(t, small("-run", "regex", "-checkpoint", ckpt, "-minutes", "1e-9")...)
	if first.Steps == 0 || first.Steps >= 20 {
		t.Fatalf("%d steps, want some of 20", first.Steps)
	}
	b := do(t, small("-run", "regex", "-checkpoint", ckpt, "-train", "-weights", parts)...)
	x, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(parts)
	if err != nil {
		t.Fatal(err)
	}
	if string(x) != string(y) || fmt.Sprint(a.Runs[0].Samples) != fmt.Sprint(b.Runs[0].Samples) {
		t.Error("other weights or samples")
	}
	c := do(t, "-weights", whole, "-length", "40", "-run", "regex", "-n", "5")
	if c.Steps != 0 || c.Weights != a.Weights || c.NLL-a.NLL > 0.05 || a.NLL-c.NLL > 0.05 {
		t.Errorf("%+v: 16 bits are near 32", c)
	}
	if _, err := try("-weights", whole, "-length", "41"); err == nil || !strings.Contains(err.Error(), "want -length 41 sites") {
		t.Error(err)
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		"unexpected argument":         {"x"},
		"-n = 0":                      {"-n", "0"},
		"-length = 1":                 {"-length", "1"},
		"-width = 33":                 {"-width", "33"},
		"-blocks = 0":                 {"-blocks", "0"},
		"-temperature = 0":            {"-temperature", "0"},
		"-checkpoint with -weights":   {"-checkpoint", "x", "-weights", "y"},
		"no run \"other\"":            {"-run", "other"},
		"-regex":                      {"-regex", "("},
		"no such file":                {"-data", "nowhere"},
		"open nothing":                {"-weights", "nothing"},
		"-schema":                     {"-schema", file(t, `{"type":"colour"}`)},
		"1 lines with text, want ≥ 5": {"-data", file(t, "one\n\n")},
		"want at most":                {"-weights", file(t, "no weights at all")},
		"the pattern":                 small("-run", "regex", "-regex", "[a-z]{41}"),
	} {
		if _, err := try(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
