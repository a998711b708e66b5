package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// usage holds codon frequencies. Only ratios between codons of one amino acid matter.
type usage struct {
	name string
	of   map[string]float64 // frequency of each codon
}

// coli holds the relative synonymous codon usage in all genes of Escherichia coli K-12 MG1655
// (GenBank U00096), from table 1 of Sharp, Emery and Zeng (2010), Phil. Trans. R. Soc. B
// 365:1203, doi:10.1098/rstb.2009.0305.
var coli = mustUsage("Escherichia coli K-12 MG1655, all genes", `
	UUU 1.15  UCU 0.87  UAU 1.14  UGU 0.89
	UUC 0.85  UCC 0.89  UAC 0.86  UGC 1.11
	UUA 0.79  UCA 0.74  UAA 1.89  UGA 0.88
	UUG 0.77  UCG 0.92  UAG 0.23  UGG 1.00
	CUU 0.62  CCU 0.64  CAU 1.14  CGU 2.27
	CUC 0.63  CCC 0.50  CAC 0.86  CGC 2.39
	CUA 0.22  CCA 0.76  CAA 0.69  CGA 0.39
	CUG 2.97  CCG 2.10  CAG 1.31  CGG 0.59
	AUU 1.52  ACU 0.67  AAU 0.90  AGU 0.91
	AUC 1.26  ACC 1.74  AAC 1.10  AGC 1.66
	AUA 0.22  ACA 0.53  AAA 1.53  AGA 0.23
	AUG 1.00  ACG 1.07  AAG 0.47  AGG 0.14
	GUU 1.03  GCU 0.65  GAU 1.26  GGU 1.35
	GUC 0.86  GCC 1.08  GAC 0.74  GGC 1.61
	GUA 0.62  GCA 0.85  GAA 1.38  GGA 0.44
	GUG 1.49  GCG 1.42  GAG 0.62  GGG 0.60`)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func mustUsage(name, table string) usage {
	return must(scanUsage(name, strings.NewReader(table), must(newCode(1))))
}

func readUsage(path string, c *code) (usage, error) {
	f, err := os.Open(path)
	if err != nil {
		return usage{}, err
	}
	defer f.Close()
	u, err := scanUsage(path, f, c)
	if err != nil {
		return usage{}, fmt.Errorf("%s: %w", path, err)
	}
	return u, nil
}

// scanUsage reads a codon usage table. A record starts with a codon of A, C, G and T or U,
// optionally followed by the letter of its amino acid. One or more numbers follow, of which the
// last is used. This covers the output of the Codon Usage Database (per thousand and counts in
// brackets, with or without amino acids) and tables with one codon per line. A line may hold
// several records. Brackets, commas and semicolons count as spaces. Lines that begin with # are
// comments, and the first line may be a header without digits.
func scanUsage(name string, r io.Reader, c *code) (usage, error) {
	u := usage{name: name, of: make(map[string]float64)}
	seen := make(map[string]int) // line of each codon
	s := bufio.NewScanner(r)
	line := 0
	for s.Scan() {
		line++
		text := s.Text()
		if strings.HasPrefix(strings.TrimSpace(text), "#") || line == 1 && !strings.ContainsAny(text, "0123456789") {
			continue
		}
		if err := u.scan(text, line, seen, c); err != nil {
			return u, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := s.Err(); err != nil {
		return u, fmt.Errorf("line %d: %w", line+1, err)
	}
	var missing []string
	for _, codon := range codons.Tokens {
		if seen[codon] == 0 {
			missing = append(missing, codon)
		}
	}
	if len(missing) > 0 {
		return u, fmt.Errorf("%d of 64 codons are missing: %s", len(missing), strings.Join(missing, " "))
	}
	return u, nil
}

// scan reads the records of a line.
func (u usage) scan(text string, line int, seen map[string]int, c *code) error {
	blank := strings.NewReplacer("(", " ", ")", " ", "[", " ", "]", " ", ",", " ", ";", " ")
	fields := strings.Fields(blank.Replace(strings.ToUpper(text)))
	for len(fields) > 0 {
		codon := strings.ReplaceAll(fields[0], "U", "T")
		if _, ok := codonOf[codon]; !ok {
			return fmt.Errorf("%q is no codon, want three of A, C, G, T or U", fields[0])
		}
		if at := seen[codon]; at > 0 {
			return fmt.Errorf("codon %s is there twice, first in line %d", codon, at)
		}
		seen[codon] = line
		fields = fields[1:]
		if len(fields) > 0 && len(fields[0]) == 1 && strings.Contains(letters, fields[0]) {
			if fields[0][0] != c.amino[codon] {
				return fmt.Errorf("codon %s stands for %c, not for %s", codon, c.amino[codon], fields[0])
			}
			fields = fields[1:]
		}
		n := 0
		for ; n < len(fields); n++ {
			v, err := strconv.ParseFloat(fields[n], 64)
			if err != nil {
				break
			}
			if !(v >= 0) || math.IsInf(v, 1) {
				return fmt.Errorf("codon %s: frequency = %s, want ≥ 0 and finite", codon, fields[n])
			}
			u.of[codon] = v
		}
		if n == 0 {
			return fmt.Errorf("codon %s is not followed by a number", codon)
		}
		fields = fields[n:]
	}
	return nil
}

// weights returns log p(codon | amino acid) for the codons of an amino acid.
func (u usage) weights(list []int32, aa byte) ([]float64, error) {
	total := 0.0
	for _, t := range list {
		total += u.of[codons.Tokens[t]]
	}
	if total == 0 {
		return nil, fmt.Errorf("%s: every codon of amino acid %c has frequency 0", u.name, aa)
	}
	w := make([]float64, len(list))
	for i, t := range list {
		w[i] = math.Log(u.of[codons.Tokens[t]]) - math.Log(total)
	}
	return w, nil
}

// relative returns the frequency of a codon divided by that of the most frequent codon of the
// same amino acid.
func (u usage) relative(codon string, c *code) (float64, error) {
	most := 0.0
	for _, t := range c.tokensOf(c.amino[codon]) {
		most = max(most, u.of[codons.Tokens[t]])
	}
	if most == 0 {
		return 0, fmt.Errorf("%s: every codon of amino acid %c has frequency 0", u.name, c.amino[codon])
	}
	return u.of[codon] / most, nil
}

// harmony returns the log-probabilities of the codons in list at the position of a codon of the
// native DNA,
//
//	p(c) ∝ exp(−strength·|w(c) − w_source(native)|).
//
// Here w is the relative adaptiveness of a codon (Sharp and Li 1987) in the host and in the
// source organism. Codons that are rare in the source should be as rare in the host (Angov et
// al. 2008, PLoS ONE 3:e2189). The most probable design has the least mean difference.
func harmony(list []int32, native string, source, host usage, from, to *code, strength float64) ([]float64, error) {
	want, err := source.relative(native, from)
	if err != nil {
		return nil, err
	}
	w := make([]float64, len(list))
	total, top := 0.0, math.Inf(-1)
	for i, t := range list {
		has, err := host.relative(codons.Tokens[t], to)
		if err != nil {
			return nil, err
		}
		w[i] = -strength * math.Abs(has-want)
		top = max(top, w[i])
	}
	for _, v := range w {
		total += math.Exp(v - top)
	}
	for i := range w {
		w[i] -= top + math.Log(total)
	}
	return w, nil
}

// adaptation returns the codon adaptation index of Sharp and Li (1987), with the usage table in
// place of their set of reference genes. It is the geometric mean over codons of
//
//	w = frequency of the codon / frequency of the most frequent synonym.
//
// Codons of methionine and tryptophan, which have no synonym in most codes, and stop codons are
// excluded. A design without other codons has index 1.
func adaptation(u usage, table int, dna string) float64 {
	most := commonest(u, table)
	sum, n := 0.0, 0
	for i, aa := range translate(table, dna) {
		if strings.ContainsRune("MW*", aa) {
			continue
		}
		sum += math.Log(u.of[dna[3*i:3*i+3]] / most[byte(aa)])
		n++
	}
	return math.Exp(sum / float64(max(n, 1)))
}

// commonest returns the highest frequency of a codon of each amino acid.
func commonest(u usage, table int) map[byte]float64 {
	most := make(map[byte]float64)
	for codon, f := range u.of {
		aa := translate(table, codon)[0]
		most[aa] = max(most[aa], f)
	}
	return most
}

// discord returns the mean over codons of |w − w_source(native codon)|, the difference that
// harmonised codons keep small.
func discord(host, source usage, table, from int, dna, native string) float64 {
	own, other := commonest(host, table), commonest(source, from)
	sum, n := 0.0, len(dna)/3
	for i := range n {
		is, was := dna[3*i:3*i+3], native[3*i:3*i+3]
		sum += math.Abs(host.of[is]/own[translate(table, is)[0]] - source.of[was]/other[translate(from, was)[0]])
	}
	return sum / float64(n)
}
