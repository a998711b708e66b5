// Package finetune makes a trained network forget concepts. It changes the weights until the samples contain
// at most as much of a concept as a bound allows. All else should occur as often as before.
//
// Let r_i(x) ∈ [0, 1] be the share of concept i in x, for instance 1 if x shows the concept and 0 otherwise.
// Let ε_i be its bound. Let q be the distribution of the data. Of all distributions p with E_p r_i ≤ ε_i, the
// nearest to q is
//
//	p_λ ∝ q·e^(−λᵀr)
//
// ([unlearn.LikelihoodRatio], form (7) of Khalafi, Ribeiro and Ding 2026). A [Tuner] trains on rows of the
// data drawn with probabilities ∝ e^(−λᵀr). The loss is therefore the ordinary training loss, with only
// positive weights. The Tuner starts from the exact λ of the data.
//
// The samples of the network differ from these rows. When the network has begun to follow the rows,
// the Tuner therefore updates λ by the samples of the network. With the λ of the data alone, a
// network of molecules kept up to 72 % more of a concept than was allowed.
//
// The paper proposes signed losses with unbounded gradients, and bounds on divergences of paths. A Tuner uses
// neither.
//
// For example:
//
//	f, err := finetune.New(ctx, net, data, []finetune.Concept[int32]{{Has: ring, Bound: 0.1}}, finetune.Config[int32]{
//		Objective: train.Masked{Mask: mask}, Model: model, Sample: sample, Train: train.Config{Steps: 2000, Rate: 2e-3}, // as in its pre-training
//	})
//	err = f.Run(ctx) // net has forgotten
//
// To measure how much of a concept remains, use fresh samples and an independent judge. dual.UpperBound turns
// the counts into a confidence limit. Differences of likelihood bounds do not certify how much remains.
package finetune
