package model

import "fmt"

// maxFit bounds the entries of an estimated table: 1 GiB of float64.
const maxFit = 1 << 27

// maxSmoothing is where adding 1 to a float64 stops to change it: counts would
// be lost.
const maxSmoothing = 1 << 53

// FitMarkov estimates a chain from sequences of tokens by counting:
//
//	trans(c; l) = (N(c, l) + a) / Σ_l' (N(c, l') + a),  a = smoothing,
//
// where N(c, l) is how often token l follows the context c of order tokens in
// any sequence, and likewise start from the first order tokens of each. With
// a = 0 it is the maximum-likelihood estimate; a = 1 is Laplace's rule. The row
// of a context that nothing followed is uniform, the limit of small a.
//
// Sequences may have different lengths, also other than sites, which is the
// length of the chain that is returned; those with fewer than order tokens say
// nothing.
//
// It returns an error if sites < max(1, order), levels < 1 or order < 0, if the
// table would have more than 2²⁷ entries, if smoothing is not in
// 0 … 2⁵³, if a token is out of range, or if a = 0 and no sequence has order
// tokens.
func FitMarkov(sites, levels, order int, sequences [][]int32, smoothing float64) (*Markov, error) {
	m, err := newMarkov("FitMarkov", sites, levels, order, maxFit)
	if err != nil {
		return nil, err
	}
	if !(smoothing >= 0 && smoothing <= maxSmoothing) {
		return nil, fmt.Errorf("model: FitMarkov: smoothing = %v, want 0 … 2^53", smoothing)
	}
	contexts := m.pow[order]
	start, trans := make([]float64, contexts), make([]float64, contexts*levels)
	starts := 0
	for s, seq := range sequences {
		for i, v := range seq {
			if v < 0 || int(v) >= levels {
				return nil, fmt.Errorf("model: FitMarkov: sequences[%d][%d] = %d, want 0 … %d", s, i, v, levels-1)
			}
		}
		if len(seq) < order {
			continue
		}
		starts++
		count(start, trans, seq, order, levels)
	}
	if starts == 0 && smoothing == 0 {
		return nil, fmt.Errorf("model: FitMarkov: no sequence of ≥ %d tokens among %d, want one or smoothing > 0", order, len(sequences))
	}
	share(start, smoothing)
	for r := 0; r < len(trans); r += levels {
		share(trans[r:r+levels], smoothing)
	}
	if err := m.take(start, trans); err != nil {
		return nil, err
	}
	return m, nil
}

// count adds the contexts and transitions of one sequence.
func count(start, trans []float64, seq []int32, order, levels int) {
	c := 0
	for _, v := range seq[:order] {
		c = c*levels + int(v)
	}
	start[c]++
	for _, v := range seq[order:] {
		f := c*levels + int(v)
		trans[f]++
		c = f % len(start)
	}
}

// share turns counts into shares of counts + a.
func share(counts []float64, a float64) {
	total := 0.0
	for _, n := range counts {
		total += n
	}
	if total+a == 0 {
		a = 1 // the limit of small a
	}
	all := total + float64(float64(len(counts))*a)
	for l, k := range counts {
		counts[l] = (k + a) / all
	}
}
