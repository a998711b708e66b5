package main

import (
	"fmt"
	"slices"
	"strings"
)

// standard maps each amino acid, and the stop (*), to its codons in the standard genetic code.
var standard = map[byte]string{
	'A': "GCA GCC GCG GCT", 'C': "TGC TGT", 'D': "GAC GAT", 'E': "GAA GAG", 'F': "TTC TTT",
	'G': "GGA GGC GGG GGT", 'H': "CAC CAT", 'I': "ATA ATC ATT", 'K': "AAA AAG",
	'L': "CTA CTC CTG CTT TTA TTG", 'M': "ATG", 'N': "AAC AAT", 'P': "CCA CCC CCG CCT", 'Q': "CAA CAG",
	'R': "AGA AGG CGA CGC CGG CGT", 'S': "AGC AGT TCA TCC TCG TCT", 'T': "ACA ACC ACG ACT",
	'V': "GTA GTC GTG GTT", 'W': "TGG", 'Y': "TAC TAT", '*': "TAA TAG TGA",
}

// changes maps an NCBI translation table to its differences from the standard code: pairs of a
// codon and its amino acid.
var changes = map[int]string{
	1: "", 11: "", // table 11, of bacteria, differs only in its start codons
	2:  "AGA * AGG * ATA M TGA W",
	3:  "ATA M CTA T CTC T CTG T CTT T TGA W",
	4:  "TGA W",
	5:  "AGA S AGG S ATA M TGA W",
	6:  "TAA Q TAG Q",
	9:  "AAA N AGA S AGG S TGA W",
	10: "TGA C",
	12: "CTG S",
	13: "AGA G AGG G ATA M TGA W",
	14: "AAA N AGA S AGG S TAA Y TGA W",
	16: "TAG L",
	21: "TGA W ATA M AGA S AGG S AAA N",
	22: "TCA * TAG L",
	23: "TTA *",
	24: "AGA S AGG K TGA W",
	25: "TGA G",
}

// code is a genetic code: it maps codons to amino acids.
type code struct {
	table int
	amino map[string]byte // amino acid of each codon
}

// newCode returns the genetic code of an NCBI translation table.
func newCode(table int) (*code, error) {
	list, ok := changes[table]
	if !ok {
		return nil, fmt.Errorf("translation table %d, want 1 … 6, 9 … 14 or 16, 21 … 25 of NCBI", table)
	}
	c := &code{table, make(map[string]byte)}
	for aa, list := range standard {
		for _, codon := range strings.Fields(list) {
			c.amino[codon] = aa
		}
	}
	for pair := range slices.Chunk(strings.Fields(list), 2) {
		c.amino[pair[0]] = pair[1][0]
	}
	return c, nil
}

// tokensOf returns the codons of an amino acid as tokens, in ascending order.
func (c *code) tokensOf(aa byte) []int32 {
	var all []int32
	for t, codon := range codons.Tokens {
		if c.amino[codon] == aa {
			all = append(all, int32(t))
		}
	}
	return all
}

// begins reports whether a codon can be a start codon, which encodes M. Start codons are NTG and
// ATN in the tables of bacteria and organelles, and CTG, TTG and ATG in the others.
func (c *code) begins(codon string) bool {
	if slices.Contains([]int{1, 6, 10, 12, 16, 22}, c.table) {
		return codon == "ATG" || codon == "CTG" || codon == "TTG"
	}
	return strings.HasSuffix(codon, "TG") || strings.HasPrefix(codon, "AT")
}

// read returns the protein that a coding sequence of A, C, G and T encodes.
func (c *code) read(dna string) string {
	var b strings.Builder
	for ; len(dna) >= 3; dna = dna[3:] {
		b.WriteByte(c.amino[dna[:3]])
	}
	return b.String()
}
