// Package unlearn changes an original distribution q so that little remains of unwanted
// distributions q_i (Khalafi, Ribeiro and Ding 2026). Bounds limit how much may remain of the q_i,
// and the result stays as close to q as these bounds permit. A [Formulation] defines the measure of
// closeness and the bounded quantities.
//
// On a finite space, [Problem] has exact solutions ([Problem.Solve], [Problem.Global]) and
// trade-off curves. On larger spaces a dual.Inference finds the multipliers. The optimum can then
// be sampled in three ways: as an energy, by exact [Rejection], or by a masked diffusion
// ([Erasure]). The energy is an [Experts], or a dual.Lagrangian with the bounds [LogRatio] and
// [Ratio]. [RealErasure] is the counterpart of Erasure for reals.
//
// [Avoiding] measures how often a masked diffusion still draws unwanted tokens. Package finetune
// changes the weights of a network instead.
//
// For example, on a finite space:
//
//	u, err := unlearn.New(q, away)
//	s, err := u.Solve(ctx, unlearn.LikelihoodRatio, []float64{0.1})
package unlearn
