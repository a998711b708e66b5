package main

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
)

// The pseudo-energy is that of the conditionals of single states, whose differences are
// the table; a state in a batch has the numbers that it has alone.
func TestPseudoEnergy(t *testing.T) {
	const pad, mask = 256, 257
	net, err := neural.New(neural.Config{Length: 6, Levels: mask + 1, Width: 32, Heads: 1, Blocks: 1, Positions: true}, rand.NewPCG(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range net.Weights() { // the last layer begins at zero
		net.Weights()[i] += 0.3 * float32(math.Sin(float64(i)))
	}
	model, err := neural.NewMasked(net, mask, neural.Options{TimeFree: true})
	if err != nil {
		t.Fatal(err)
	}
	p := &pseudo{t.Context(), model, 6, mask}
	x := []int32{'a', 'b', 'c', 'a', pad, pad, 'z', 'z', 'z', 'q', 'b', 'a'}
	e, g := make([]float64, 2), make([]float32, len(x)*(pad+1))
	p.Gradient(e, g, x)
	alone := make([]float64, 1)
	for s := range e {
		state := x[s*6 : (s+1)*6]
		p.Energy(alone, state)
		if alone[0] != e[s] {
			t.Errorf("state %d: %v alone, %v in a batch", s, alone[0], e[s])
		}
		want := 0.0
		for i, l := range state {
			v := make([]float32, 6*(mask+1))
			y := append([]int32(nil), state...)
			y[i] = mask
			q := energy.Noised[int32]{X: y, Time: []float64{0.5}, Alpha: []float64{0.5}, Sample: []int{0}, Src: []rand.Source{nil}}
			if err := model.Denoise(context.Background(), v, q); err != nil {
				t.Fatal(err)
			}
			w := v[i*(mask+1):][:mask]
			total := 0.0
			for _, a := range w {
				total += math.Exp(float64(a))
			}
			want -= math.Log(math.Exp(float64(w[l])) / total)
			for k := range w {
				if d := float64(w[l]) - float64(w[k]); math.Abs(d-float64(g[(s*6+i)*(pad+1)+k])) > 1e-5 {
					t.Fatalf("state %d, site %d, level %d: %v, want %v", s, i, k, g[(s*6+i)*(pad+1)+k], d)
				}
			}
		}
		if math.Abs(want-e[s]) > 1e-4 {
			t.Errorf("state %d: %v, want %v", s, e[s], want)
		}
	}
	if e[0] == e[1] {
		t.Error("two states have the same energy: the test cannot fail")
	}
}

// All runs keep what is shown of the same lines; what they put in need not be the same.
func TestShownBytesStay(t *testing.T) {
	r := do(t, small("-run", "infill,gibbs,gwg,dula,dlp", "-n", "6", "-hide", "0.5", "-moves", "4")...)
	if len(r.Runs) != 5 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Runs {
		if f.Violations > 0 || f.N != 6 || len(f.Samples) != 6 || f.Different < 2 || f.Recovered < 0 || f.Recovered > 1 {
			t.Errorf("%+v", f)
		}
	}
	if r.Runs[0].Samples[0] == r.Runs[1].Samples[0] {
		t.Error("a network of twenty steps puts in the same bytes twice")
	}
	if len(r.Runs[0].Samples[0]) == 0 || !(r.HeldPerplexity > 1) || !strings.Contains(r.String(), "self-BLEU") {
		t.Errorf("%+v", r)
	}
	for _, args := range [][]string{{"-hide", "0"}, {"-hide", "1.5"}, {"-moves", "1"}} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), "want 0 < hide ≤ 1 and ≥ 2") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestSelfBLEU(t *testing.T) {
	same := []string{"a b c d e", "a b c d e", "a b c d e"}
	if v := selfBLEU(same); v != 1 {
		t.Errorf("equal lines: %v, want 1", v)
	}
	other := []string{"a b c d", "e f g h", "i j k l"}
	// Half a match of 4, 3, 2 and 1.
	if v, want := selfBLEU(other), math.Pow(1.0/8*1/6*1/4*1/2, 0.25); math.Abs(v-want) > 1e-12 {
		t.Errorf("lines without a word in common: %v, want %v", v, want)
	}
	// The second has 2 of its 3 words, 1 of 2 pairs and no triple in the first, and the
	// first as long as itself.
	pair := []string{"a b c", "a b x"}
	want := math.Cbrt(2.0 / 3 * 1 / 2 * 0.5)
	if v := selfBLEU(pair); math.Abs(v-want) > 1e-12 {
		t.Errorf("%v, want %v", v, want)
	}
	// A word counts no more often than another line has it; shorter lines pay.
	if v, want := selfBLEU([]string{"a a", "a"}), (math.Sqrt(0.5*0.5)+math.Exp(1-2))/2; math.Abs(v-want) > 1e-12 {
		t.Errorf("%v, want %v", v, want)
	}
	for _, none := range [][]string{nil, {"a b"}, {"", ""}} {
		if v := selfBLEU(none); v != 0 {
			t.Errorf("%q: %v, want 0", none, v)
		}
	}
}

func TestPerplexity(t *testing.T) {
	j := newJudge([]string{"abab", "abab"})
	total := 0.0
	for b := range 256 {
		total += j.prob("ab", byte(b))
	}
	if math.Abs(total-1) > 1e-12 {
		t.Errorf("probabilities add up to %v", total)
	}
	// p(a) without context: 4 of 10 bytes are a, 3 kinds, mixed with 1/256.
	if want := (4 + 3.0/256) / 13; math.Abs(j.prob("", 'a')-want) > 1e-15 {
		t.Errorf("p(a) = %v, want %v", j.prob("", 'a'), want)
	}
	known, strange := j.perplexity([]string{"abab"}), j.perplexity([]string{"zzzz"})
	if !(known > 1 && known < 2 && strange > 20) {
		t.Errorf("perplexity of a known line %v, of a strange one %v", known, strange)
	}
}

func TestCorpusBLEU(t *testing.T) {
	held := []string{"a b c d e", "f g"}
	if v := corpusBLEU([]string{"f g", "a b c d e"}, held); v != 1 {
		t.Errorf("held-out lines: %v, want 1", v)
	}
	// 5 of 6 words, 4 of 5 pairs, 3 of 4 triples and 2 of 3 quadruples, of a longer line
	if v, want := corpusBLEU([]string{"a b c d e x"}, held), math.Pow(5.0/6*4/5*3/4*2/3, 0.25); math.Abs(v-want) > 1e-12 {
		t.Errorf("%v, want %v", v, want)
	}
	// all matches, of a line that lacks one of five words
	if v, want := corpusBLEU([]string{"a b c d"}, held[:1]), math.Exp(1-5.0/4); math.Abs(v-want) > 1e-12 {
		t.Errorf("%v, want %v", v, want)
	}
	if v := corpusBLEU([]string{"x y z u"}, held); v != 0 {
		t.Errorf("nothing in common: %v, want 0", v)
	}
}
