package main

import (
	"math"
	"slices"
	"strings"
)

// orders is the maximum length of the word n-grams in self-BLEU.
const orders = 4

// selfBLEU returns the mean over lines of their BLEU score (Papineni et al. 2002) against all
// other lines (Zhu et al. 2018), with n-grams of up to four words. It is 1 if every line
// consists of pieces of other lines and near 0 if lines share nothing. An n-gram order without a
// match counts as half a match. A single line and lines without a word score 0.
func selfBLEU(samples []string) float64 {
	words := make([][]string, len(samples))
	grams := make([]map[string]int, len(samples)) // n-grams of a line and how often it has them
	var most, second = map[string]int{}, map[string]int{}
	for i, s := range samples {
		words[i], grams[i] = ngrams(s)
		for g, c := range grams[i] {
			if c > most[g] {
				most[g], second[g] = c, most[g]
			} else if c > second[g] {
				second[g] = c
			}
		}
	}
	if len(samples) < 2 {
		return 0
	}
	sum := 0.0
	for i := range samples {
		if len(words[i]) == 0 {
			continue
		}
		var hits, all [orders]float64
		for g, c := range grams[i] {
			n := strings.Count(g, " ")
			others := most[g]
			if others == c { // this line may be the one that has it most often
				others = second[g]
			}
			hits[n] += float64(min(c, others))
			all[n] += float64(c)
		}
		score, used := 0.0, 0.0
		for n := range orders {
			if all[n] > 0 {
				score += math.Log(max(hits[n], 0.5) / all[n])
				used++
			}
		}
		sum += math.Exp(score/used) * brevity(i, words)
	}
	return sum / float64(len(samples))
}

// ngrams returns the words of a line, and how often it has each sequence of up to four words.
func ngrams(line string) (words []string, grams map[string]int) {
	words, grams = strings.Fields(line), map[string]int{}
	for n := 1; n <= orders; n++ {
		for k := 0; k+n <= len(words); k++ {
			grams[strings.Join(words[k:k+n], " ")]++
		}
	}
	return words, grams
}

// corpusBLEU returns the BLEU score of the samples as one text, where every held-out line is a
// reference for every sample (Papineni et al. 2002). All n-grams of all samples are counted together.
// It is 1 if every sample is a held-out line, and 0 if no sequence of four words is in a held-out line.
func corpusBLEU(samples, held []string) float64 {
	most, lengths := map[string]int{}, map[int]bool{}
	for _, s := range held {
		words, grams := ngrams(s)
		lengths[len(words)] = true
		for g, c := range grams {
			most[g] = max(most[g], c)
		}
	}
	var hits, all [orders]float64
	own, near := 0, 0
	for _, s := range samples {
		words, grams := ngrams(s)
		for g, c := range grams {
			n := strings.Count(g, " ")
			hits[n] += float64(min(c, most[g]))
			all[n] += float64(c)
		}
		best := -1
		for n := range lengths {
			if d, least := abs(n-len(words)), abs(best-len(words)); best < 0 || d < least || d == least && n < best {
				best = n
			}
		}
		own, near = own+len(words), near+best
	}
	score := 0.0
	for n := range orders {
		if hits[n] == 0 {
			return 0
		}
		score += math.Log(hits[n]/all[n]) / orders
	}
	return math.Exp(score + min(0, 1-float64(near)/float64(own)))
}

// brevity returns the BLEU penalty of line i for being shorter than the other line whose length
// is nearest.
func brevity(i int, words [][]string) float64 {
	own, near := len(words[i]), -1
	for j, w := range words {
		if j == i {
			continue
		}
		if d, best := abs(len(w)-own), abs(near-own); near < 0 || d < best || d == best && len(w) < near {
			near = len(w)
		}
	}
	if own >= near {
		return 1
	}
	return math.Exp(1 - float64(near)/float64(own))
}

func abs(n int) int { return max(n, -n) }

// depth is the number of preceding bytes on which the perplexity model conditions.
const depth = 4

// judge is an n-gram model of bytes, independent of the network. Its probabilities condition on
// up to depth bytes. Each is mixed with the one for the next shorter context (Witten and Bell
// 1991).
type judge struct {
	count map[string]int // number of occurrences of a context followed by a byte
	seen  map[string]int // number of occurrences of a context
	kinds map[string]int // number of different bytes that follow a context
}

// newJudge estimates the model from lines. The end of a line counts as a byte.
func newJudge(lines []string) *judge {
	j := &judge{map[string]int{}, map[string]int{}, map[string]int{}}
	for _, s := range lines {
		s += "\n"
		for i := range len(s) {
			for d := 0; d <= min(depth, i); d++ {
				context, whole := s[i-d:i], s[i-d:i+1]
				if j.count[whole] == 0 {
					j.kinds[context]++
				}
				j.count[whole]++
				j.seen[context]++
			}
		}
	}
	return j
}

// prob returns p(b | context).
func (j *judge) prob(context string, b byte) float64 {
	p := 1.0 / 256
	for d := 0; d <= len(context); d++ {
		c := context[len(context)-d:]
		if j.seen[c] == 0 {
			break
		}
		n, k := float64(j.seen[c]), float64(j.kinds[c])
		p = (float64(j.count[c+string([]byte{b})]) + k*p) / (n + k)
	}
	return p
}

// perplexity returns exp(mean of −log p) over the bytes of the lines and their ends: the
// effective number of choices per byte.
func (j *judge) perplexity(lines []string) float64 {
	sum, bytes := 0.0, 0
	for _, s := range lines {
		s += "\n"
		for i := range len(s) {
			sum -= math.Log(j.prob(s[max(0, i-depth):i], s[i]))
			bytes++
		}
	}
	return math.Exp(sum / float64(max(1, bytes)))
}

// known returns the share of the words of samples that occur in the text, and how many different
// ones do.
func (l *lines) known(samples []string) (part float64, different int) {
	if l.corpus == nil {
		l.corpus = map[string]bool{}
		for _, s := range slices.Concat(l.train, l.held) {
			for _, w := range words(s) {
				l.corpus[w] = true
			}
		}
	}
	seen, n, all := map[string]bool{}, 0, 0
	for _, s := range samples {
		for _, w := range words(s) {
			all++
			if l.corpus[w] {
				n++
				seen[w] = true
			}
		}
	}
	return float64(n) / float64(max(1, all)), len(seen)
}

// distinct returns the number of different sequences of n words in samples, divided by the number
// of all.
func distinct(samples []string, n int) float64 {
	seen, all := map[string]bool{}, 0
	for _, s := range samples {
		w := strings.Fields(s)
		for k := 0; k+n <= len(w); k++ {
			seen[strings.Join(w[k:k+n], " ")] = true
			all++
		}
	}
	return float64(len(seen)) / float64(max(1, all))
}
