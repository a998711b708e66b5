package main

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// synonyms are the codons of each amino acid and of the end (*) in the standard
// genetic code.
var synonyms = map[byte]string{
	'A': "GCA GCC GCG GCT", 'C': "TGC TGT", 'D': "GAC GAT", 'E': "GAA GAG", 'F': "TTC TTT",
	'G': "GGA GGC GGG GGT", 'H': "CAC CAT", 'I': "ATA ATC ATT", 'K': "AAA AAG",
	'L': "CTA CTC CTG CTT TTA TTG", 'M': "ATG", 'N': "AAC AAT", 'P': "CCA CCC CCG CCT", 'Q': "CAA CAG",
	'R': "AGA AGG CGA CGC CGG CGT", 'S': "AGC AGT TCA TCC TCG TCT", 'T': "ACA ACC ACG ACT",
	'V': "GTA GTC GTG GTT", 'W': "TGG", 'Y': "TAC TAT", '*': "TAA TAG TGA",
}

// codons is the vocabulary: the 64 words of three bases, in alphabetical order.
var codons = func() text.Vocabulary {
	var v text.Vocabulary
	for _, a := range "ACGT" {
		for _, b := range "ACGT" {
			for _, c := range "ACGT" {
				v.Tokens = append(v.Tokens, string([]rune{a, b, c}))
			}
		}
	}
	return v
}()

// codonOf is the token of each codon.
var codonOf = func() map[string]int32 {
	m := make(map[string]int32)
	for t, codon := range codons.Tokens {
		m[codon] = int32(t)
	}
	return m
}()

// amino is what each codon stands for.
var amino = func() map[string]byte {
	m := make(map[string]byte)
	for aa, list := range synonyms {
		for _, codon := range strings.Fields(list) {
			m[codon] = aa
		}
	}
	return m
}()

// tokensOf returns the codons of an amino acid as tokens.
func tokensOf(aa byte) []int32 {
	var t []int32
	for _, codon := range strings.Fields(synonyms[aa]) {
		t = append(t, codonOf[codon])
	}
	return t
}

// iupac are the bases that a letter stands for.
var iupac = map[rune]string{
	'A': "A", 'C': "C", 'G': "G", 'T': "T", 'R': "AG", 'Y': "CT", 'S': "CG", 'W': "AT", 'K': "GT", 'M': "AC",
	'B': "CGT", 'D': "AGT", 'H': "ACT", 'V': "ACG", 'N': "ACGT",
}

// maxWords bounds what one site may stand for: four free bases and more.
const maxWords = 1 << 12

// expand returns the words of bases that a site stands for.
func expand(site string) ([]string, error) {
	words := []string{""}
	for _, c := range site {
		var longer []string
		for _, w := range words {
			for _, base := range iupac[c] {
				longer = append(longer, w+string(base))
			}
		}
		if words = longer; len(words) > maxWords {
			return nil, fmt.Errorf("-avoid: %s stands for more than %d words", site, maxWords)
		}
	}
	return words, nil
}

// opposite returns a word of bases as the other strand reads it.
func opposite(word string) string {
	pair := map[byte]byte{'A': 'T', 'C': 'G', 'G': 'C', 'T': 'A'}
	b := make([]byte, len(word))
	for i := range b {
		b[len(b)-1-i] = pair[word[i]]
	}
	return string(b)
}
