package main

import (
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// codons is the vocabulary of the 64 codons, in alphabetical order.
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

// codonOf maps each codon to its token.
var codonOf = func() map[string]int32 {
	m := make(map[string]int32)
	for t, codon := range codons.Tokens {
		m[codon] = int32(t)
	}
	return m
}()

// iupac maps an IUPAC letter to the bases that it denotes.
var iupac = map[rune]string{
	'A': "A", 'C': "C", 'G': "G", 'T': "T", 'R': "AG", 'Y': "CT", 'S': "CG", 'W': "AT", 'K': "GT", 'M': "AC",
	'B': "CGT", 'D': "AGT", 'H': "ACT", 'V': "ACG", 'N': "ACGT",
}

// maxWords is the maximum number of words that one site may denote. It allows for more than four
// free bases.
const maxWords = 1 << 12

// expand returns the words of bases that a site denotes. The option is named in errors.
func expand(option, site string) ([]string, error) {
	words := []string{""}
	for _, c := range site {
		var longer []string
		for _, w := range words {
			for _, base := range iupac[c] {
				longer = append(longer, w+string(base))
			}
		}
		if words = longer; len(words) > maxWords {
			return nil, fmt.Errorf("%s: %s stands for more than %d words", option, site, maxWords)
		}
	}
	return words, nil
}

// opposite returns the reverse complement of a word. Characters other than A, C, G and T are
// kept.
func opposite(word string) string {
	pair := map[byte]byte{'A': 'T', 'C': 'G', 'G': 'C', 'T': 'A'}
	b := make([]byte, len(word))
	for i := range b {
		c := word[i]
		if other, ok := pair[c]; ok {
			c = other
		}
		b[len(b)-1-i] = c
	}
	return string(b)
}

// strong returns the number of G and C in a word.
func strong(word string) int { return strings.Count(word, "G") + strings.Count(word, "C") }
