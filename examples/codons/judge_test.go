package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The judge's genetic code and strands are written down apart from those that
// designs are made with; they must agree.
func TestTwoGeneticCodesAgree(t *testing.T) {
	for _, codon := range codons.Tokens {
		if got := translate(codon); got != string(amino[codon]) {
			t.Errorf("%s is %s and %c", codon, got, amino[codon])
		}
		if opposite(codon) != strand2(codon) {
			t.Errorf("the other strand of %s is %s and %s", codon, opposite(codon), strand2(codon))
		}
	}
	for letter, bases := range iupac {
		for _, base := range []byte("ACGT") {
			if strings.IndexByte(bases, base) >= 0 != occurs(string(letter), string(base)) {
				t.Errorf("%c and %c", letter, base)
			}
		}
	}
}

// Designs that break one demand each must be found out.
func TestJudgeFindsEveryViolation(t *testing.T) {
	o := options{low: 0.3, high: 0.7, avoid: []string{"GAATTC", "GGTCTC", "GANTC"}, run: 4}
	p := protein{letters: "EFGLG"}
	good := "GAGTTTGGTTTAGGC"
	for _, c := range []struct {
		dna   string
		wrong []int // demands
	}{
		{good, nil},
		{"GAGTTTGGTTTAGAC", []int{0}},    // the last G is a D
		{"GAGTTTGGTTTAGG", []int{0}},     // a base is missing
		{"GAATTCGGTTTAGGC", []int{2}},    // a site in frame
		{"GAGTTTGGTCTCGGA", []int{3}},    // another
		{"GAGTTTGGTTTAGGA", nil},         // GAGTTTG is no GANTC
		{"GAGTTTGGGGGAGGC", []int{0, 5}}, // five G, and L is a G
		{"GAATTTGGTTTAGGC", nil},
		{"GAATTTGGACTCGGC", []int{4}}, // GACTC
		{"GAGTTTGGTTTAGGG", nil},
		{"GAGTTCGGCCTCGGC", []int{1}}, // eleven of 15
	} {
		verdict := judge(o, p, c.dna)
		for i, ok := range verdict {
			if ok == slices.Contains(c.wrong, i) {
				t.Errorf("%s, %s: %v", c.dna, demands(o)[i], ok)
			}
		}
		if len(verdict) != len(demands(o)) {
			t.Error("a demand has no name")
		}
	}
	if occurs("GAATTC", "GAATT") || !occurs("GAATTC", "AGAATTCA") {
		t.Error("occurs")
	}
	back := options{high: 1, avoid: []string{"GGTCTC"}}
	if judge(back, protein{letters: "ET"}, "GAGACC")[2] {
		t.Error("GAGACC is GGTCTC on the other strand")
	}
	if longestRun("") != 0 || longestRun("AACCCG") != 3 || gcContent("GGAT") != 0.5 || translate("ATGNNNA") != "M??" {
		t.Error("readings of strings")
	}
}

// Sharp and Li's index of Phe UUC and Leu CUA by hand: (0.85/1.15 · 0.22/2.97)^½;
// Met and Trp do not count.
func TestAdaptationIndex(t *testing.T) {
	want := math.Sqrt(0.85 / 1.15 * 0.22 / 2.97)
	if got := adaptation(coli, "ATGTTCCTATGG"); math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := adaptation(coli, "ATGTGGTAA"); got != 1 {
		t.Errorf("a design without a choice: %v", got)
	}
	if got := adaptation(coli, "TTTCTG"); got != 1 {
		t.Errorf("the commonest codons: %v", got)
	}
}

// Relative synonymous usage averages 1 over the codons of an amino acid; the
// table is rounded to 0.005.
func TestTableOfUsage(t *testing.T) {
	for aa, list := range synonyms {
		sum, n := 0.0, 0
		for _, codon := range strings.Fields(list) {
			sum += coli.of[codon]
			n++
		}
		if math.Abs(sum-float64(n)) > 0.005*float64(n)+1e-9 {
			t.Errorf("%c: %v", aa, sum)
		}
	}
}
