// Package prior conditions hidden Markov models on languages. It computes exact draws,
// log-probabilities and marginals of the distribution
//
//	P(x) ∝ p(x)·∏_i exp(v[i,x_i])·1[x ∈ C],
//
// where p is a hidden Markov model, v a table of log-weights and C a language. All computations use
// one dynamic program over pairs of a hidden state and a state of the automaton. A Markov chain is
// the model in which the hidden state is the token.
//
// With v = 0, P is the tractable model of GeLaTo (Zhang et al. 2023) and Ctrl-G (Zhang et al.
// 2024). These methods weight the next token of a language model by probabilities that
// [Conditional.Advance] computes.
//
// Package prior can also serve as a projection. If the prediction of a diffusion is multiplied by
// the prior p, the projection computes the exact step. The sites depend on each other under p,
// whereas projection.Path treats sites as independent.
package prior
