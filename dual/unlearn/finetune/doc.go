// Package finetune changes the weights of a trained network until the samples that it
// generates contain no more of a concept than a bound allows, and as much of everything
// else as before.
//
// Let r(x) ∈ [0, 1] be the share of a concept in x, for instance 1 if x has what is to be
// forgotten and 0 otherwise, and q the distribution of the data. The distribution nearest
// to q with E_p r_i ≤ ε_i is p_λ ∝ q·e^(−λᵀr) ([unlearn.LikelihoodRatio], form (7) of
// Khalafi, Ribeiro and Ding 2026). A [Tuner] trains on rows of the data drawn with
// probabilities ∝ e^(−λᵀr), that is, with the ordinary training loss and only positive
// weights. It starts from the exact λ of the data. Once the network has begun to follow, it
// moves λ by what the network itself generates, since that differs from what it was taught:
// with the λ of the data alone, a network of molecules kept up to 72 % more of a concept
// than was allowed.
//
// The paper's own steps, signed losses with an unbounded gradient and bounds on divergences
// of paths, are not implemented: in the same experiments they oscillated between all and
// nothing, or were satisfied at once.
//
//	f, err := finetune.New(ctx, net, data, []finetune.Concept[int32]{{Has: ring, Bound: 0.1}}, finetune.Config[int32]{
//		Objective: train.Masked{Mask: mask}, Model: model, Sample: sample, Train: train.Config{Steps: 200},
//	})
//	err = f.Run(ctx) // net has forgotten
//
// To measure how much of a concept remains, use fresh samples and an independent judge;
// dual.UpperBound turns the counts into a confidence limit. Differences of likelihood
// bounds certify nothing of the kind.
package finetune
