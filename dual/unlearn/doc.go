// Package unlearn moves a distribution q away from others q_i (Khalafi, Ribeiro and Ding
// 2026): it stays as close to q as bounds on what is left of the q_i allow. A
// [Formulation] defines the closeness and the bounds.
//
// [Problem] is the problem on a finite space, with exact solutions
// ([Problem.Solve], [Problem.Global]) and trade-off curves. On larger
// spaces the optimum is sampled: as an energy ([Experts], or a dual.Lagrangian
// with the bounds [LogRatio] and [Ratio]), by exact [Rejection], or by a masked
// diffusion ([Erasure]); a dual.Inference finds the multipliers. [Avoiding] measures what a
// masked diffusion has left of given tokens, and package finetune moves the weights of a
// network.
//
//	u, err := unlearn.New(q, away)
//	s, err := u.Solve(ctx, unlearn.LikelihoodRatio, []float64{0.1})
package unlearn
