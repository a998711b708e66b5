package main

import (
	"fmt"
	"math"
	"strings"
)

// The judge reads designs as strings of bases and shares no code with what made
// them: its own genetic code, its own reading of sites and strands.

// standardCode is translation table 1 of NCBI: the amino acid of the codon whose
// bases are digits of base 4 in the order T, C, A, G.
const standardCode = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"

// translate reads the protein off a DNA string, ? where there is no codon.
func translate(dna string) string {
	var b strings.Builder
	for ; len(dna) >= 3; dna = dna[3:] {
		index := 0
		for i := range 3 {
			digit := strings.IndexByte("TCAG", dna[i])
			if digit < 0 {
				index = -1
				break
			}
			index = 4*index + digit
		}
		if index < 0 {
			b.WriteByte('?')
		} else {
			b.WriteByte(standardCode[index])
		}
	}
	return b.String() + strings.Repeat("?", len(dna))
}

// gcContent is the share of G and C.
func gcContent(dna string) float64 {
	return float64(strings.Count(dna, "G")+strings.Count(dna, "C")) / float64(len(dna))
}

// longestRun is the length of the longest homopolymer.
func longestRun(dna string) int {
	longest, length := 0, 0
	for i := range dna {
		if i > 0 && dna[i] == dna[i-1] {
			length++
		} else {
			length = 1
		}
		longest = max(longest, length)
	}
	return longest
}

// strand2 is the other strand, in its own direction.
func strand2(dna string) string {
	other := []byte(strings.NewReplacer("A", "T", "T", "A", "C", "G", "G", "C").Replace(dna))
	for i, j := 0, len(other)-1; i < j; i, j = i+1, j-1 {
		other[i], other[j] = other[j], other[i]
	}
	return string(other)
}

// ambiguity lists, for each base, the letters of a site that it satisfies.
var ambiguity = map[byte]string{'A': "ARWMDHVN", 'C': "CYSMBHVN", 'G': "GRSKBDVN", 'T': "TYWKBDHN"}

// occurs reports whether a site occurs on one strand.
func occurs(site, dna string) bool {
	if strings.Trim(site, "ACGT") == "" {
		return strings.Contains(dna, site)
	}
	for at := 0; at+len(site) <= len(dna); at++ {
		i := 0
		for i < len(site) && strings.IndexByte(ambiguity[dna[at+i]], site[i]) >= 0 {
			i++
		}
		if i == len(site) {
			return true
		}
	}
	return false
}

// judge asks of a design what the options ask. The tests go by the names that
// demands returns, in its order.
func judge(o options, p protein, dna string) []bool {
	gc := gcContent(dna)
	ok := []bool{translate(dna) == p.letters, o.low <= gc && gc <= o.high}
	back := strand2(dna)
	for _, site := range o.avoid {
		ok = append(ok, !occurs(site, dna) && !occurs(site, back))
	}
	if o.run > 0 {
		ok = append(ok, longestRun(dna) <= o.run)
	}
	return ok
}

// demands names what judge tests.
func demands(o options) []string {
	names := []string{"encodes the protein", fmt.Sprintf("GC content in [%v, %v]", o.low, o.high)}
	for _, site := range o.avoid {
		names = append(names, "no "+site+" on either strand")
	}
	if o.run > 0 {
		names = append(names, fmt.Sprintf("no run longer than %d", o.run))
	}
	return names
}

// adaptation is the codon adaptation index of Sharp and Li (1987), with the
// usage table for their set of reference genes: the geometric mean over codons of
//
//	w = frequency of the codon / frequency of the commonest synonym.
//
// Methionine, tryptophan and the end, which leave no choice or count nothing, are
// left out; a design without any other codon has index 1.
func adaptation(u usage, dna string) float64 {
	most := make(map[byte]float64)
	for codon, f := range u.of {
		aa := translate(codon)[0]
		most[aa] = max(most[aa], f)
	}
	sum, n := 0.0, 0
	for i, aa := range translate(dna) {
		if strings.ContainsRune("MW*", aa) {
			continue
		}
		sum += math.Log(u.of[dna[3*i:3*i+3]] / most[byte(aa)])
		n++
	}
	return math.Exp(sum / float64(max(n, 1)))
}
