package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
)

// brief is a training of a second.
var brief = slices.Concat(little, []string{"-heldout", "2", "-training", "64", "-steps", "4", "-method", "cps,pcfm", "-train.steps", "8"})

// A network that was read makes the samples of the one that was written, for the same
// windows only, and a training that was interrupted ends as one that was not.
func TestTrain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.safetensors")
	first := do(t, slices.Concat(brief, []string{"-train", "-save", path})...)
	if first.Denoiser != "trained" || first.Network.Weights < 100_000 || first.Network.Weights > 300_000 || first.Network.Steps != 8 {
		t.Fatalf("%+v", first.Network)
	}
	same := func(r *report) {
		t.Helper()
		for i, f := range r.Methods {
			w := first.Methods[i]
			if f.Ms = w.Ms; f != w || f.Violation > 1e-6 {
				t.Errorf("%+v, want %+v", f, w)
			}
		}
		if r.Network.HeldOut != first.Network.HeldOut || r.Network.Training != first.Network.Training {
			t.Errorf("%+v, want %+v", r.Network, first.Network)
		}
	}
	second := do(t, slices.Concat(brief, []string{"-load", path})...)
	same(second)
	if s := second.String(); !strings.Contains(s, "squared error of the velocity") || !strings.Contains(s, "denoiser trained") {
		t.Error(s)
	}
	if !testing.Short() {
		same(checkpointtest.Interrupted(t, parse, run, slices.Concat(brief, []string{"-train"}), "-seed", "2"))
		longer := do(t, slices.Concat(brief, []string{"-train", "-train.steps", "24"})...)
		if !(longer.Network.Training < first.Network.Training) {
			t.Errorf("three times the steps: %+v, want less than %+v", longer.Network, first.Network)
		}
	}
	for want, args := range map[string][]string{
		"a network for windows of 12 rows":              {"-load", path, "-length", "13"},
		"no such file":                                  {"-load", path + "x"},
		"-train with -load":                             {"-train", "-load", path},
		"without -train":                                {"-save", path},
		"-minutes = 3 without -train":                   {"-minutes", "3"},
		"-minutes = -1, want 0":                         {"-train", "-minutes", "-1"},
		"-denoiser trained without a network":           {"-denoiser", "trained"},
		`-denoiser = "windows" with a network`:          {"-train", "-denoiser", "windows"},
		"-train.steps = 0, want ≥ 1":                    {"-train", "-train.steps", "0"},
		"-seeds = 0, want ≥ 1":                          {"-seeds", "0"},
		"-fill = \"x\" draws from the windows of the f": {"-train", "-csv", path, "-fill", "x"},
	} {
		if _, err := try(slices.Concat(brief, args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	for want, l := range map[string]lesson{
		"network of 5 weights; ":                                      {Weights: 5},
		"weights, trained for 8 steps in 2 s; ":                       {Steps: 8, Made: 8, Seconds: 2},
		"weights, trained for 8 steps, 3 of them now in 2 s; squared": {Steps: 8, Made: 3, Seconds: 2},
	} {
		if s := l.String(); !strings.Contains(s, want) {
			t.Errorf("%q, want %q in it", s, want)
		}
	}
	// Networks of other windows, and of windows that the file does not name, are read with a warning.
	noted := func(want string, args ...string) {
		t.Helper()
		r := do(t, slices.Concat(brief, args)...)
		if !strings.Contains(strings.Join(r.Warnings(), "\n"), want) || r.Methods[0].Violation > 1e-6 {
			t.Errorf("%v: warnings %q, want one that contains %q", args, r.Warnings(), want)
		}
	}
	if w := second.Warnings(); strings.Contains(strings.Join(w, ""), "trained on") {
		t.Errorf("warnings %q of the network's own windows", w)
	}
	noted("was trained on other windows", "-load", path, "-seed", "2", "-split", "random")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(b), `"windows":"`, `"widnows":"`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	noted("does not name the windows", "-load", path)
}

// A training stops in time.
func TestMinutes(t *testing.T) {
	r := do(t, slices.Concat(brief, []string{"-train", "-train.steps", "100000", "-minutes", "0.001"})...)
	if r.Network.Steps < 1 || r.Network.Steps > 1000 {
		t.Errorf("%+v", r.Network)
	}
}

// Several seeds have a spread; the first is that of one alone.
func TestSeeds(t *testing.T) {
	args := slices.Concat(little, []string{"-samples", "2", "-method", "cop,real"})
	one, two := do(t, args...), do(t, slices.Concat(args, []string{"-seeds", "3"})...)
	for i, f := range two.Methods {
		if !(f.Seeds.Frechet > 0 && f.Seeds.DTW > 0 && f.Seeds.Score > 0) || f.Frechet == one.Methods[i].Frechet || one.Methods[i].Seeds != (spread{}) {
			t.Errorf("%+v, with one seed %+v", f, one.Methods[i])
		}
	}
	if !(two.Methods[0].Violation <= 1e-6 && two.Methods[1].Violation > 1e-2) {
		t.Errorf("%+v", two.Methods)
	}
	if s := two.String(); !strings.Contains(s, "means over 3 seeds") {
		t.Error(s)
	}
	each := []figures{{DTW: 1}, {DTW: 2}, {DTW: 6}}
	if v := stderr(each, figures{DTW: 3}, func(f figures) float64 { return f.DTW }); v < 1.5275 || v > 1.5276 { // √(14/2/3)
		t.Error(v)
	}
}
