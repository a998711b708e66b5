package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The judge's genetic codes and strands are written down apart from those that
// designs are made with; they must agree.
func TestTwoGeneticCodesAgree(t *testing.T) {
	if len(tables) != len(changes) {
		t.Fatalf("%d and %d tables", len(tables), len(changes))
	}
	for table := range tables {
		c := must(newCode(table))
		for _, codon := range codons.Tokens {
			if got := translate(table, codon); got != string(c.amino[codon]) {
				t.Errorf("table %d: %s is %s and %c", table, codon, got, c.amino[codon])
			}
		}
	}
	for _, codon := range codons.Tokens {
		if opposite(codon) != strand2(codon) {
			t.Errorf("the other strand of %s is %s and %s", codon, opposite(codon), strand2(codon))
		}
	}
	for letter, bases := range iupac {
		for _, base := range []byte("ACGT") {
			if strings.IndexByte(bases, base) >= 0 != fits(string(letter), string(base)) {
				t.Errorf("%c and %c", letter, base)
			}
		}
	}
}

// plainTask is what judge reads, without any language.
func plainTask(letters string, o options) *task {
	o.code = must(newCode(1))
	return &task{options: o, gene: gene{protein: protein{letters: letters}}}
}

// Designs that break one demand each must be found out.
func TestJudgeFindsEveryViolation(t *testing.T) {
	k := plainTask("EFGLG", options{low: 0.3, high: 0.7, avoid: []string{"GAATTC", "GGTCTC", "GANTC"}, run: 4})
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
		met := judge(k, c.dna)
		for i, ok := range met {
			if ok == slices.Contains(c.wrong, i) {
				t.Errorf("%s, %s: %v", c.dna, demands(k)[i], ok)
			}
		}
		if len(met) != len(demands(k)) {
			t.Error("a demand has no name")
		}
	}
	if occurrences("GAATTC", "GAATT", 0, 5) != 0 || occurrences("GAATTC", "AGAATTCA", 0, 8) != 1 {
		t.Error("occurrences")
	}
	if judge(plainTask("ET", options{high: 1, avoid: []string{"GGTCTC"}}), "GAGACC")[2] {
		t.Error("GAGACC is GGTCTC on the other strand")
	}
	if longestRun("", 0, 0) != 0 || longestRun("AACCCG", 0, 6) != 3 || gcContent("GGAT") != 0.5 || translate(1, "ATGNNNA") != "M??" {
		t.Error("readings of strings")
	}
}

// What has a base of the design in it is its doing, what lies in the flanks is not.
func TestJudgeLooksAcrossFlanks(t *testing.T) {
	o := options{high: 1, avoid: []string{"GAATTC"}, require: []required{{"CATATG", 1}}, run: 3,
		windows: &window{size: 6, step: 2, low: 0.1, high: 0.9}, keep: "1", unique: 7}
	k := plainTask("MFK", o)
	k.kept = map[int]string{0: "ATG"}
	for _, c := range []struct {
		before, dna, after string
		wrong              []int // demands: protein, GC, avoid, require, run, windows, keep, unique
	}{
		{"CCAT", "ATGTTCAAG", "CC", nil},
		{"GAATTCCCAT", "ATGTTCAAG", "CC", nil},            // the site is in the flank alone
		{"CCAT", "ATGTTCAAG", "AATTC", []int{2}},          // GAATTC across the end
		{"CCAT", "ATGTTCAAG", "GG", nil},                  // GGG
		{"CCAT", "ATGTTCAAG", "GGG", []int{4}},            // one more
		{"CCAG", "ATGTTCAAG", "CC", []int{3}},             // no CATATG
		{"CATATGCAT", "ATGTTCAAG", "CC", nil},             // once, and once in the flank
		{"CCAT", "ATGTTTAAG", "CATATG", nil},              // ATGTTT has one of six
		{"CCAT", "ATGTTTAAA", "AT", []int{4, 5}},          // TTAAAA none
		{"CCAT", "ATCTTCAAG", "CC", []int{0, 3, 6}},       // no ATG
		{"GTTCAAGCCAT", "ATGTTCAAG", "CC", []int{7}},      // GTTCAAG again
		{"GGCAGGCAGGCAGGCACAT", "ATGTTCAAG", "CC", nil},   // repeats in the flank
		{"CCAT", "ATGTTCAAG", "GGCGCGCG", []int{5}},       // GGGCGC
		{"CCAT", "ATGTTCAAG", "ACTACTGCGGGCCC", nil},      // the same out of reach
		{"CATATCAT", "ATGTTCAAG", "CATATGCCCATATGC", nil}, // not of the design
		{"CCAT", "ATGTTCAAA", "CATATG", nil},
	} {
		k.gene.before, k.gene.after = c.before, c.after
		met := judge(k, c.dna)
		for i, ok := range met {
			if ok == slices.Contains(c.wrong, i) {
				t.Errorf("%s %s %s, %s: %v", c.before, c.dna, c.after, demands(k)[i], ok)
			}
		}
		if len(met) != len(demands(k)) {
			t.Error("a demand has no name")
		}
	}
}

// Sharp and Li's index of Phe UUC and Leu CUA by hand: (0.85/1.15 · 0.22/2.97)^½;
// Met and Trp do not count.
func TestAdaptationIndex(t *testing.T) {
	want := math.Sqrt(0.85 / 1.15 * 0.22 / 2.97)
	if got := adaptation(coli, 1, "ATGTTCCTATGG"); math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	if got := adaptation(coli, 1, "ATGTGGTAA"); got != 1 {
		t.Errorf("a design without a choice: %v", got)
	}
	if got := adaptation(coli, 1, "TTTCTG"); got != 1 {
		t.Errorf("the commonest codons: %v", got)
	}
}

// Relative synonymous usage averages 1 over the codons of an amino acid; the
// table is rounded to 0.005.
func TestTableOfUsage(t *testing.T) {
	for aa, list := range standard {
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
