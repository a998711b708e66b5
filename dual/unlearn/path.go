package unlearn

// pathRecord is the path divergence of one sample so far.
type pathRecord struct {
	sample  int
	alpha   float64   // at the last prediction
	pending []float64 // Σ over masked sites of the divergences then
	sum     []float64
	path    tokenPath // if terminal
}

// settle adds what the step from r.alpha to the level alpha revealed.
func (r *pathRecord) settle(alpha float64) {
	reveal := (alpha - r.alpha) / (1 - r.alpha)
	for i, k := range r.pending {
		if k != 0 { // all is revealed where α = 1
			r.sum[i] += float64(reveal * k)
		}
		r.pending[i] = 0
	}
}

// tokenPath is what one sample has been through when its tokens are revealed one
// by one: log q(x) and log q_i(x) of the tokens so far, by the chain rule, and the
// sum of the logarithms of the combined rows' totals. With p the product of
// experts q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)}, the sample came up with the probability
// p(x)·Z/∏ totals, so the totals are its weight.
type tokenPath struct {
	x       []int32   // as last seen
	rows    []float64 // sites × (1 + laws) × levels: log-probabilities then
	totals  []float64 // sites: log totals then
	logp    []float64 // q, then the laws
	weight  float64
	several bool // tokens have been revealed together
}
