package prior

// HMM is a hidden Markov model of tokens 0 … k−1 over h hidden states,
//
//	p(x) = Σ_z start(z_0)·emit(z_0; x_0)·∏_{i≥1} trans(z_{i−1}; z_i)·emit(z_i; x_i).
type HMM struct {
	Start []float64 // h probabilities
	Trans []float64 // h × h, one row of probabilities per hidden state
	Emit  []float64 // h × k, one row of token probabilities per hidden state
}

// Markov returns a Markov chain of order 1 as the model whose hidden state is
// the token: start holds k probabilities, trans k rows of them.
func Markov(start, trans []float64) HMM {
	k := len(start)
	emit := make([]float64, k*k)
	for l := range k {
		emit[l*k+l] = 1
	}
	return HMM{Start: start, Trans: trans, Emit: emit}
}
