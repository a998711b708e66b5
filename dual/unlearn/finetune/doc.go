// Package finetune moves the weights of a trained network until what the network generates
// has no more of a concept than a bound allows, and as much of everything else as before.
//
// With r(x) ∈ [0, 1] the part of a concept in x, such as 1 where x has what is to be
// forgotten and 0 elsewhere, the distribution nearest to that of the data q with
// E_p r_i ≤ ε_i is p_λ ∝ q·e^(−λᵀr) ([unlearn.LikelihoodRatio], form (7) of Khalafi,
// Ribeiro and Ding 2026). A [Tuner] trains on rows of the data that are drawn with
// probabilities ∝ e^(−λᵀr): the loss of training, with positive weights alone. It starts
// from the exact λ of the data. Once the network has begun to follow, it moves λ by what the
// network itself generates, since that is not what it was taught: with λ of the data alone a
// network of molecules kept up to 72 % more of a concept than it was allowed.
//
// The paper's own steps, signed losses with an unbounded gradient and bounds on
// divergences of paths, are not here: in the same experiments they oscillated between all
// and nothing, or were met at once.
//
//	f, err := finetune.New(ctx, net, data, []finetune.Concept[int32]{{Has: ring, Bound: 0.1}}, finetune.Config[int32]{
//		Objective: train.Masked{Mask: mask}, Model: model, Sample: sample, Train: train.Config{Steps: 200},
//	})
//	err = f.Run(ctx) // net has forgotten
//
// What a network has left is for fresh samples and another judge to say:
// dual.UpperBound turns their counts into a limit. Differences of likelihood bounds are no
// such certificate.
package finetune
