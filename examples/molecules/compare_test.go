package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// A comparison of a few steps: what it states of every method, and that gradient ascent leaves
// fewer rings.
func TestCompare(t *testing.T) {
	exact.SkipUnderRace(t)
	if testing.Short() {
		t.Skip("some seconds of processor time")
	}
	o, err := parseFlags([]string{"-forget", "rings", "-share", "0.3", "-steps", "20", "-judge", "200", "-method", "ascent,esd,siss0.5,without"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := compare(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Methods) != 4 || r.Seeds != 1 || !(r.Before > 0.4 && r.Before < 0.7) {
		t.Fatalf("%+v", r)
	}
	for i, name := range []string{"ascent", "esd", "siss0.5", "without"} {
		m := r.Methods[i]
		steps := 2
		if name == "without" {
			steps = 20
		}
		if m.Method != name || m.Steps != steps || m.Error != 0 || m.Least != m.Share || m.Most != m.Share || m.Held > 1 || m.Upper < m.Share || m.Relearned < 1 || m.Relearned > 2 || !(m.NELBO > 0.9) {
			t.Errorf("%+v", m)
		}
		// Counts and letters' probabilities are two estimates of one share.
		if d := 4.9 * math.Sqrt(0.5/200); math.Abs(m.Second-m.Share) > d {
			t.Errorf("%s: %v by counts and %v by letters", name, m.Share, m.Second)
		}
		if !strings.Contains(r.String(), name+":") {
			t.Errorf("no %s in\n%s", name, r)
		}
	}
	if a := r.Methods[0]; !(a.Share < r.Before) {
		t.Errorf("%v before, %+v", r.Before, a)
	}
	if w := r.Methods[3]; w.Collapsed != 1 || w.NELBO < 1.1 {
		t.Errorf("20 steps from random weights are no training: %+v", w)
	}
}

// The gradient of MDU is that of its loss, by finite differences, and vanishes where the network
// is its anchor.
func TestAnchored(t *testing.T) {
	const mask, tau, weight, h = 2, 0.5, 0.7, 1e-3
	p, a := []float32{0.3, -1.2, 5, 0.8}, []float32{1.1, 0.2, -3, -0.4}
	loss := func(p []float32) float64 {
		var sp, sa, kl float64
		for j := range p {
			if j != mask {
				sp += math.Exp(float64(p[j]))
				sa += math.Exp(tau * float64(a[j]))
			}
		}
		for j := range p {
			if q := math.Exp(float64(p[j])) / sp; j != mask {
				kl += q * (math.Log(q) - tau*float64(a[j]) + math.Log(sa))
			}
		}
		return weight * kl
	}
	g := slices.Clone(p)
	anchored(g, slices.Clone(a), tau, weight, mask)
	for j := range p {
		up, down := slices.Clone(p), slices.Clone(p)
		up[j] += h
		down[j] -= h
		want := (loss(up) - loss(down)) / float64(up[j]-down[j])
		if j == mask {
			want = 0
		}
		if math.Abs(float64(g[j])-want) > 1e-4 {
			t.Errorf("gradient %d: %v, want %v", j, g[j], want)
		}
	}
	same := slices.Clone(a)
	anchored(same, slices.Clone(a), 1, weight, mask)
	for j, v := range same {
		if math.Abs(float64(v)) > 1e-6 {
			t.Errorf("at the anchor, gradient %d: %v, want 0", j, v)
		}
	}
}

// The weights of SISS are those of a mixture of what a state may have been masked from:
// their mean over states is 1, whatever λ is, for a row as for the other.
func TestMixtureWeights(t *testing.T) {
	const mask = 9
	x, a := []int32{1, 2, 3}, []int32{1, 5, 3}
	for _, lambda := range []float64{0.25, 0.5, 0.75} {
		r := rand.New(rand.NewPCG(1, 1))
		var sum [2]float64
		const n = 20000
		for range n {
			from := x
			if r.Float64() < lambda {
				from = a
			}
			y := append([]int32(nil), from...)
			for i := range y {
				if r.IntN(2) == 0 {
					y[i] = mask
				}
			}
			w := mixture(lambda, agrees(y, x, mask), agrees(y, a, mask))
			sum[0] += w[0] / n
			sum[1] += w[1] / n
		}
		for _, s := range sum {
			if math.Abs(s-1) > 4.9*1.8/math.Sqrt(n) { // weights are in 0 … 4
				t.Errorf("λ = %v: mean weights %v", lambda, sum)
			}
		}
	}
}

// What is asked of a state has the weights of training, and its gradient is that of the loss.
func TestLessons(t *testing.T) {
	o, err := parseFlags([]string{"-forget", "rings", "-batch", "2"})
	if err != nil {
		t.Fatal(err)
	}
	c, own, err := o.load()
	if err != nil {
		t.Fatal(err)
	}
	net, err := own.network("")
	if err != nil {
		t.Fatal(err)
	}
	k := &task{options: o, c: c, rows: flat(c, c.Train[:2])}
	l := k.lessons(net)
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 2 {
		l.hide(i, k.row(i), 0.5, r)
		l.ask(i, k.row(i), float64(1-2*i)) // the second with the other sign
	}
	// Half of the positions and one more are hidden; the weights of a row sum to ± L/(2·L).
	sum := map[bool]float64{}
	for j, w := range l.weight {
		sum[int(l.asked[j]) < c.Sites] += w
	}
	if len(l.asked) != 2*(1+c.Sites/2) || math.Abs(sum[true]-0.5) > 1e-12 || math.Abs(sum[false]+0.5) > 1e-12 {
		t.Fatalf("%d asked, weights %v", len(l.asked), sum)
	}
	loss := func() (v float64) {
		y := l.answer(l.pass, l.y)
		for j, w := range l.weight {
			row := y[j*(c.Levels+1) : (j+1)*(c.Levels+1)]
			p := append([]float32(nil), row...)
			softmax(p)
			v -= w * math.Log(float64(p[l.target[j]]))
		}
		return v
	}
	clear(l.pass.Gradient())
	l.teach()
	g := append([]float32(nil), l.pass.Gradient()...)
	w := net.Weights()
	const h = 1e-3
	norm := norm(g)
	before := append([]float32(nil), w...)
	along := func(s float64) float64 {
		for i := range w {
			w[i] = before[i] + float32(s*float64(g[i])/norm)
		}
		return loss()
	}
	if slope := (along(h) - along(-h)) / (2 * h); math.Abs(slope-norm) > 0.01*norm {
		t.Errorf("slope along the gradient %v, its norm %v", slope, norm)
	}
}

func TestCompareErrors(t *testing.T) {
	for want, args := range map[string][]string{
		`-method = "magic"`:              {"-forget", "rings", "-method", "magic"},
		"-seeds = 0":                     {"-forget", "rings", "-seeds", "0"},
		"a comparison needs -forget and": {"-forget", "rings", "-method", "all", "-save", "x"},
		"-method = esd, -seeds = 1":      {"-method", "esd"},
	} {
		if _, err := parseFlags(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
}
