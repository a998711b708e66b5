package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every kind of data gives windows that lie within a series, whose limits hold.
func TestGenerators(t *testing.T) {
	for name := range generators {
		r := do(t, slices.Concat(little, []string{"-data", name, "-method", "cps,cop-critic"})...)
		for _, f := range r.Methods {
			if f.Violation > 1e-6 {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if r.Data != "synthetic "+name {
			t.Errorf("data %q, want that of %s", r.Data, name)
		}
	}
	if w := waveforms(100, 24, 1); w.rows() != 96 || !slices.Equal(w.breaks, []int{24, 48, 72}) || w.whole(23, 24) || !w.whole(24, 24) {
		t.Errorf("%d rows, series begin at %v", w.rows(), w.breaks)
	}
	a := air(1000, 1)
	for row := range a.rows() {
		if a.at(row, 1) <= 0 || a.at(row, 2) < 0 || math.Abs(a.at(row, 0)) > 60 {
			t.Fatalf("row %d: %v", row, a.values[row*3:row*3+3])
		}
	}
	if err := failure(t, "-data", "weather"); !strings.Contains(err, "air, market, waveforms") {
		t.Error(err)
	}
}

// FTSD is about 0 for the held-out windows themselves. J-FTSD sees that windows do not
// belong to their conditions, which FTSD cannot.
func TestEmbedding(t *testing.T) {
	p := smallProblem(t, "-data", "waveforms", "-rows", "2400", "-heldout", "30")
	ftsd, joint, err := p.embed.distances(p.held, p.held, 1, false)
	if err != nil || ftsd > 1e-6 || joint > 1e-6 {
		t.Fatal(ftsd, joint, err)
	}
	n := p.sites()
	turned := slices.Concat(p.held[n:], p.held[:n]) // every window under another's condition
	ftsd, joint, err = p.embed.distances(turned, p.held, 1, false)
	if err != nil || ftsd > 1e-6 || joint < 1 {
		t.Fatal(ftsd, joint, err)
	}
}

// The mean cost of transport to the training windows falls along the critic's steps, and the
// critic has Lipschitz constant 1.
func TestCritic(t *testing.T) {
	p := smallProblem(t, "-data", "waveforms", "-rows", "2400", "-heldout", "30")
	n := p.sites()
	x := slices.Clone(p.held)
	for i := range x {
		x[i] += 2
	}
	c := newCritic(p, x)
	if !(c.apart > 1) {
		t.Fatalf("mean cost %v of windows that are 2 too high", c.apart)
	}
	v := make([]float64, n)
	for at := 0; at < len(x); at += n {
		for k := range v {
			v[k] = float64(x[at+k])
		}
		c.descend(v, 1)
		moved := 0.0
		for k := range v {
			moved += (v[k] - float64(x[at+k])) * (v[k] - float64(x[at+k]))
			x[at+k] = float32(v[k])
		}
		if math.Sqrt(moved) > 1+1e-5 {
			t.Fatalf("a step of 1 moved by %v", math.Sqrt(moved))
		}
	}
	if after := newCritic(p, x); !(after.apart < c.apart-0.5) {
		t.Errorf("mean cost %v, after a step of 1 %v", c.apart, after.apart)
	}
}

func TestHide(t *testing.T) {
	r := do(t, slices.Concat(little, []string{"-hide", "0.5", "-method", "cps"})...)
	if f := r.Methods[0]; f.Violation > 1e-6 || !(f.RMSE > 0) || !strings.Contains(r.String(), "but 50 % at random") {
		t.Errorf("%+v\n%v", f, r)
	}
	p := smallProblem(t, "-data", "waveforms", "-hide", "0.5")
	hidden := 0
	for _, mask := range p.hides {
		for _, h := range mask {
			if h {
				hidden++
			}
		}
	}
	if share := float64(hidden) / float64(len(p.held)); math.Abs(share-0.5) > 0.05 {
		t.Errorf("share %v hidden", share)
	}
	if err := failure(t, "-hide", "1"); !strings.Contains(err, "-hide = 1") {
		t.Error(err)
	}
}

// failure returns the error of a run that must fail.
func failure(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := try(args...); err != nil {
		return err.Error()
	}
	t.Fatalf("%v: no error", args)
	return ""
}

// smallProblem prepares the problem of a command line of small windows.
func smallProblem(t *testing.T, args ...string) *problem {
	t.Helper()
	o, err := parse(slices.Concat(little, args))
	if err != nil {
		t.Fatal(err)
	}
	p, err := load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Prices of every method are written as multiples of the tick, without digits of rounding.
func TestTick(t *testing.T) {
	path := filepath.Join(t.TempDir(), "samples.csv")
	do(t, slices.Concat(little, []string{"-method", "cps,cop,guided,unconstrained,real", "-tick", "0.01", "-write", path})...)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")[1:]
	if len(lines) != 5*8*12 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		for _, price := range strings.Split(line, ",")[4:8] {
			if _, digits, _ := strings.Cut(price, "."); len(digits) > 2 {
				t.Fatalf("price %s in %s, want a multiple of 0.01", price, line)
			}
		}
	}
}
