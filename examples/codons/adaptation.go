package main

import (
	"math"
	"strings"
)

// adaptation is the codon adaptation index of Sharp and Li (1987), with the
// usage table for their set of reference genes: the geometric mean over codons of
//
//	w = frequency of the codon / frequency of the commonest synonym.
//
// Methionine, tryptophan and the end, which leave no choice or count nothing, are
// left out; a design without any other codon has index 1.
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

// discord is the mean over codons of |w − w_source(native codon)|, the difference
// that harmonised codons keep small.
func discord(host, source usage, table, from int, dna, native string) float64 {
	own, other := commonest(host, table), commonest(source, from)
	sum, n := 0.0, len(dna)/3
	for i := range n {
		is, was := dna[3*i:3*i+3], native[3*i:3*i+3]
		sum += math.Abs(host.of[is]/own[translate(table, is)[0]] - source.of[was]/other[translate(from, was)[0]])
	}
	return sum / float64(n)
}
