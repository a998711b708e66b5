package main

import (
	"math"
	"testing"
)

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
