package main

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// tokenizer splits lines into tokens. The tokens are the 256 bytes and, if it was learned, pieces
// of words that were merged from them.
type tokenizer struct {
	tokens []string           // text of every token
	merge  map[[2]int32]int32 // token that replaces an adjacent pair; pairs of lower tokens merge first
	known  map[string][]int32 // tokens of the pieces that learnTokenizer has seen
}

// byteTokenizer returns the tokenizer whose tokens are the bytes.
func byteTokenizer() *tokenizer { return &tokenizer{tokens: text.Bytes().Tokens} }

// learnTokenizer learns a byte-pair encoding of n tokens (Sennrich, Haddow and Birch 2016): it
// merges the most frequent adjacent pair of tokens, again and again. Of several such pairs it
// takes the one with the lowest tokens. Pairs do not reach over the border of a piece (see
// pieces). If no pair occurs twice, the encoding has fewer tokens.
func learnTokenizer(lines []string, n int) *tokenizer {
	t := byteTokenizer()
	t.merge, t.known = map[[2]int32]int32{}, map[string][]int32{}
	times := map[string]int{}
	for _, s := range lines {
		for _, p := range pieces(s) {
			times[p]++
		}
	}
	var words []string
	for p := range times {
		words = append(words, p)
	}
	slices.Sort(words)
	split := make([][]int32, len(words))
	pairs := map[[2]int32]int{}
	count := func(i, sign int) {
		for k := 1; k < len(split[i]); k++ {
			pairs[[2]int32{split[i][k-1], split[i][k]}] += sign * times[words[i]]
		}
	}
	for i, p := range words {
		for _, b := range []byte(p) {
			split[i] = append(split[i], int32(b))
		}
		count(i, 1)
	}
	for len(t.tokens) < n {
		var best [2]int32
		most := 1
		for p, c := range pairs {
			if c > most || c == most && c > 1 && slices.Compare(p[:], best[:]) < 0 {
				best, most = p, c
			}
		}
		if most == 1 {
			break
		}
		token := int32(len(t.tokens))
		t.tokens = append(t.tokens, t.tokens[best[0]]+t.tokens[best[1]])
		t.merge[best] = token
		for i, x := range split {
			if has(x, best) {
				count(i, -1)
				split[i] = replace(x, best, token)
				count(i, 1)
			}
		}
		delete(pairs, best)
	}
	for i, p := range words {
		t.known[p] = split[i]
	}
	return t
}

// has reports whether the pair is adjacent in x.
func has(x []int32, pair [2]int32) bool {
	for k := 1; k < len(x); k++ {
		if x[k-1] == pair[0] && x[k] == pair[1] {
			return true
		}
	}
	return false
}

// replace replaces each occurrence of the pair in x by the token, from left to right, in place.
func replace(x []int32, pair [2]int32, token int32) []int32 {
	y := x[:0]
	for k := 0; k < len(x); k++ {
		if k+1 < len(x) && x[k] == pair[0] && x[k+1] == pair[1] {
			y = append(y, token)
			k++
		} else {
			y = append(y, x[k])
		}
	}
	return y
}

// encode returns the tokens of a line.
func (t *tokenizer) encode(line string) []int32 {
	var all []int32
	for _, p := range pieces(line) {
		x, ok := t.known[p]
		if !ok {
			for _, b := range []byte(p) {
				x = append(x, int32(b))
			}
			for {
				var first [2]int32
				token := int32(len(t.tokens))
				for k := 1; k < len(x); k++ {
					pair := [2]int32{x[k-1], x[k]}
					if m, ok := t.merge[pair]; ok && m < token {
						first, token = pair, m
					}
				}
				if int(token) == len(t.tokens) {
					break
				}
				x = replace(x, first, token)
			}
		}
		all = append(all, x...)
	}
	return all
}

// pieces divides a line into words, numbers and signs, each with the blank before it.
func pieces(line string) (all []string) {
	for line != "" {
		end := 0
		if line[0] == ' ' && len(line) > 1 {
			end = 1
		}
		kind := kindOf(line[end])
		for end++; end < len(line) && kind != blank && kindOf(line[end]) == kind; end++ {
		}
		all = append(all, line[:end])
		line = line[end:]
	}
	return all
}

// The kinds of bytes that pieces keeps apart.
const (
	blank = iota
	letter
	digit
	sign
)

func kindOf(b byte) int {
	switch {
	case b == ' ':
		return blank
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', b == '\'', b >= 0x80:
		return letter
	case '0' <= b && b <= '9':
		return digit
	}
	return sign
}

// words returns the words of a line, without the signs and blanks around them.
func words(line string) (all []string) {
	for _, p := range pieces(line) {
		if p[0] == ' ' {
			p = p[1:]
		}
		if p != "" && kindOf(p[0]) == letter {
			all = append(all, p)
		}
	}
	return all
}

// vocabulary returns the texts of the tokens, with padding after the last of them.
func (t *tokenizer) vocabulary() text.Vocabulary {
	return text.Vocabulary{Tokens: append(slices.Clip(t.tokens), ""), Padding: []int32{t.pad()}}
}

// pad is the token that follows the end of a line.
func (t *tokenizer) pad() int32 { return int32(len(t.tokens)) }

// mask is the token that hides another one.
func (t *tokenizer) mask() int32 { return t.pad() + 1 }

// levels is the number of tokens, with padding and mask.
func (t *tokenizer) levels() int { return len(t.tokens) + 2 }
