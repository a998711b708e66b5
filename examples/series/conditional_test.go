package main

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// equal are limits that are equations.
var equal = []string{"-features", "mean,change,values", "-ohlc=false", "-samples", "2", "-method", "conditional"}

// The conditional distribution is drawn from under equations, and under a few
// inequalities, by every model, within the limits; under many it is left out of all
// methods, and an error of its own.
func TestConditional(t *testing.T) {
	net := filepath.Join(t.TempDir(), "net.safetensors")
	few := slices.Concat(brief, equal, []string{"-features", "mean"})
	all := [][]string{{"-denoiser", "windows"}, {"-denoiser", "gaussian"}, {"-denoiser", "gaussian", "-bounds", "volume=-1e9:"}}
	if !testing.Short() {
		do(t, slices.Concat(brief, []string{"-method", "real", "-train", "-save", net})...)
		all = append(all, []string{"-load", net}, []string{"-load", net, "-jacobian", "-particles", "3"})
	}
	for _, more := range all {
		if more[len(more)-1] == "volume=-1e9:" { // 12 inequalities
			more = append(more, "-particles", "16")
		}
		r := do(t, slices.Concat(few, more)...)
		if f := r.Methods[0]; len(r.Methods) != 1 || f.Violation > 1e-6 || !(f.Score > 0) {
			t.Errorf("%v: %+v", more, r.Methods)
		}
	}
	for want, args := range map[string][]string{
		"inequalities, want at most 24":                {"-method", "conditional"},
		"an autocorrelation is no linear equation":     {"-method", "conditional", "-features", "acf", "-ohlc=false"},
		"-jacobian with -denoiser = \"windows\", want": {"-jacobian"},
		"-particles = 1, want ≥ 2":                     {"-particles", "1"},
	} {
		if _, err := try(slices.Concat(little, args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}

// The equations of a window are independent, and the window meets them.
func TestEquations(t *testing.T) {
	o, err := parse(slices.Concat(little, equal))
	if err != nil {
		t.Fatal(err)
	}
	p, err := load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.sets {
		rows, values, only := p.equations(i)
		// Of a channel the mean and three values: the mean change follows from two.
		if len(values) != 4*p.channels() || !only {
			t.Fatalf("%d equations, only %v, want %d", len(values), only, 4*p.channels())
		}
		real, n := p.window(p.held, i), p.sites()
		for j, y := range values {
			for k := range values {
				dot, want := 0.0, 0.0
				for at := range n {
					dot += rows[j*n+at] * rows[k*n+at]
				}
				if j == k {
					want = 1
				}
				if math.Abs(dot-want) > 1e-9 {
					t.Errorf("window %d: rows %d and %d: %v", i, j, k, dot)
				}
			}
			for at := range n {
				y -= rows[j*n+at] * float64(real[at])
			}
			if math.Abs(y) > 1e-5 {
				t.Errorf("window %d: equation %d is off by %v", i, j, y)
			}
		}
	}
}
