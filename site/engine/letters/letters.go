// Package letters estimates a hidden Markov model of characters from lines of text.
package letters

import (
	"strings"

	"github.com/gibbsite-go/gibbsite/projection/prior"
)

// Learn estimates a model from lines of text. It has len(alphabet) + 1 tokens: one per rune of
// the alphabet, and a last one that pads short texts. A hidden state is a group of runes.
// Frequent runes have a hidden state of their own; others share one. The argument average is the
// mean length of a text in runes.
func Learn(lines []string, alphabet []rune, groups []string, average float64) prior.HMM {
	group := map[rune]int{}
	names := map[string]int{}
	for _, r := range alphabet {
		name := "other"
		for _, g := range groups {
			if strings.ContainsRune(g, r) {
				name = g
			}
		}
		if _, ok := names[name]; !ok {
			names[name] = len(names)
		}
		group[r] = names[name]
	}
	h, k := len(names)+1, len(alphabet)+1 // the last of each: the end
	start, emit, trans, often := make([]float64, h), make([]float64, h*k), make([]float64, h*h), make([]float64, h)
	index := map[rune]int{}
	for i, r := range alphabet {
		index[r] = i
		emit[group[r]*k+i] = 0.05 // so that no rune is impossible
		often[group[r]] += 0.05
	}
	for _, line := range lines {
		last := -1
		for _, r := range line {
			i, ok := index[r]
			if !ok {
				last = -1
				continue
			}
			g := group[r]
			emit[g*k+i]++
			often[g]++
			if last < 0 {
				start[g]++
			} else {
				trans[last*h+g]++
			}
			last = g
		}
	}
	normalise(often)
	for g := range h - 1 {
		start[g] += 0.5
		row := trans[g*h : (g+1)*h]
		for j := range h - 1 {
			row[j] += often[j] // groups that were never seen in a row
		}
		normalise(row)
		for j := range row {
			row[j] *= 1 - 1/average
		}
		row[h-1] = 1 / average
		normalise(emit[g*k : (g+1)*k])
	}
	trans[h*h-1], emit[h*k-1] = 1, 1
	normalise(start)
	return prior.HMM{Start: start, Trans: trans, Emit: emit}
}

// WithoutEnd returns the model without its last hidden state and its last token, which mark the
// end of the text. Its texts do not end.
func WithoutEnd(m prior.HMM) prior.HMM {
	h := len(m.Start)
	k := len(m.Emit) / h
	n := prior.HMM{Start: m.Start[:h-1]}
	for g := range h - 1 {
		left := 1 - m.Trans[g*h+h-1]
		for j := range h - 1 {
			n.Trans = append(n.Trans, m.Trans[g*h+j]/left)
		}
		n.Emit = append(n.Emit, m.Emit[g*k:(g+1)*k-1]...)
	}
	return n
}

func normalise(p []float64) {
	sum := 0.0
	for _, v := range p {
		sum += v
	}
	for i := range p {
		p[i] /= sum
	}
}
