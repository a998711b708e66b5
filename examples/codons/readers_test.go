package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestProteins(t *testing.T) {
	for text, want := range map[string]string{
		">sp|P1| name\nMKV\nLL*\n":    "MKVLL*",
		"; old comment\n>x\nmk v\r\n": "MKV",
		"MKV":                         "MKV",
	} {
		p, err := scanRecord(strings.NewReader(text), letters, "amino acids")
		if err != nil || p.letters != want {
			t.Errorf("%q: %q, %v", text, p.letters, err)
		}
	}
	for text, want := range map[string]string{
		"":                         "line 1: no amino acids",
		">only\n":                  "line 2: no amino acids",
		">a\nMK\n>b\nMK\n":         "line 3: a second record",
		">a\nMK1\n":                "line 2, column 3: '1' is none of",
		">a\nM*\nK\n":              "line 3, column 1: 'K' after the end",
		">a\nMÄ\n":                 "line 2, column 2: 'Ä'",
		strings.Repeat("M", 2<<20): "token too long",
	} {
		if _, err := scanRecord(strings.NewReader(text), letters, "amino acids"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	if len(gfp.letters) != 238 {
		t.Errorf("GFP has 238 amino acids, not %d", len(gfp.letters))
	}
}

// plain is a table with one codon per line.
func plain() string {
	var b strings.Builder
	for i, codon := range codons.Tokens {
		fmt.Fprintf(&b, "%s,%d\n", codon, i)
	}
	return b.String()
}

func TestUsageTables(t *testing.T) {
	kazusa, withAmino := "", ""
	for i, codon := range codons.Tokens {
		rna := strings.ReplaceAll(codon, "T", "U")
		kazusa += fmt.Sprintf("%s %4.1f(%6d)  ", rna, float64(i)/10, i)
		withAmino += fmt.Sprintf("%s %c %.2f %4.1f (%6d)  ", rna, must(newCode(1)).amino[codon], 0.5, 1.0, i)
		if i%4 == 3 {
			kazusa += "\n"
			withAmino += "\n"
		}
	}
	for _, text := range []string{plain(), kazusa, withAmino, "codon,usage\n# comment\n\n" + strings.ToLower(plain())} {
		u, err := scanUsage("x", strings.NewReader(text), must(newCode(1)))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		for i, codon := range codons.Tokens {
			if u.of[codon] != float64(i) {
				t.Fatalf("%s: %v, want %d", codon, u.of[codon], i)
			}
		}
	}
	for text, want := range map[string]string{
		plain()[:24]:               "are missing: ",
		"AAA 1\nAAX 2\n":           `line 2: "AAX" is no codon`,
		"AAA 1\nAAC x\n":           "line 2: codon AAC is not followed by a number",
		"AAA 1\n\nAAA 2\n":         "line 3: codon AAA is there twice, first in line 1",
		"AAA 1\nAAC K 0.5\n":       "line 2: codon AAC stands for N, not for K",
		"AAA -1\n":                 "line 1: codon AAA: frequency = -1",
		"AAA 1 AAC Inf\n":          "line 1: codon AAC: frequency = INF",
		strings.Repeat("A", 1<<17): "line 1: bufio.Scanner: token too long",
		"1,2\n":                    `line 1: "1" is no codon`,
	} {
		if _, err := scanUsage("x", strings.NewReader(text), must(newCode(1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

// Codons of frequency 0 do not occur; an amino acid without any other is an
// error.
func TestRareCodons(t *testing.T) {
	none := strings.Replace(plain(), "AAG,2\n", "AAG,0\n", 1) // AAA has 0 anyway
	path := write(t, none)
	o, err := parse([]string{"-usage", path, "-trials", "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "every codon of amino acid K has frequency 0") {
		t.Error(err)
	}
	r := do(t, "-usage", write(t, plain()), "-protein", write(t, "KKKKK"), "-gc", "0,1", "-trials", "5", "-designs", "5")
	for _, f := range r.Designs {
		if f.DNA != "AAGAAGAAGAAGAAG" || f.CAI != 1 || f.LogProb != 0 {
			t.Errorf("%+v", f)
		}
	}
}

func FuzzReaders(f *testing.F) {
	f.Add(">a\nMK*\n")
	f.Add(plain())
	f.Add("AAA K 0.5 1 (7)")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := scanRecord(strings.NewReader(text), letters, "amino acids"); err == nil && strings.Trim(p.letters, letters) != "" {
			t.Errorf("%q", p.letters)
		}
		if u, err := scanUsage("x", strings.NewReader(text), must(newCode(1))); err == nil && len(u.of) != 64 {
			t.Errorf("%d codons", len(u.of))
		}
	})
}
