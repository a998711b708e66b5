// Package dual enforces constraints that must hold on average. It solves
//
//	min_p E_p[f0] − βH(p)  subject to  E_p[g_j] ≤ 0, j = 1…m,
//
// over distributions p of discrete states x. Here f0 is the energy of a base model, g_j are the
// violations of the constraints, β is a temperature, and H is the entropy. The optimum is a Gibbs
// distribution,
//
//	p_λ(x) ∝ exp(−(f0(x) + Σ_j λ_j g_j(x))/β).
//
// Finding the multipliers λ ≥ 0 is a concave problem. The dual function D(λ) = −β log Z(λ) has the
// gradient E_λ[g] and the Hessian −Cov_λ(g)/β. Primal–dual inference samples at the present λ,
// measures how much the samples violate the constraints, and moves λ in that direction (Hadou, Uslu
// and Ribeiro 2026).
//
// # What most programs need
//
// [NewLagrangian] combines f0 and the constraints into an energy.Model. Any sampler of such models
// can be the [Primal], and [NewInference] returns the loop that moves λ:
//
//	lag, err := dual.NewLagrangian(base, constraint.Count{Levels: []int32{1}, Max: 3})
//	chains, err := sampler.NewChains(ctx, lag, mcmc.Gibbs{}, sampler.Config{Chains: 64})
//	inf, err := dual.NewInference(ctx, lag, chains, dual.Config{})
//	err = inf.Solve(ctx, 10000, 0.01)
//	fmt.Println(inf.Certificate())
//
// You can build your own constraints from models or from functions of a state. Errors and reports
// print their names:
//
//	load := dual.AtMost(dual.Statistic(kilowatts), 3).Named("load", "kW", 0.1)
//	lag, err := dual.NewLagrangian(base, load, dual.Between(temperature, 18, 22).Named("heat", "°C", 0))
//	…
//	fmt.Println(inf.Certificate().Report(0.1))
//
// A model that can be enumerated needs no sampling: [Solve] returns the optimum λ* and the dual
// value, exact up to rounding.
//
// For constraints that every single sample must satisfy, see package constraint and the option
// Within of kernels in package mcmc.
//
// [RealLagrangian] is the counterpart of [Lagrangian] on reals. Package dual/pdi moves λ inside one
// run of a diffusion. Package dual/unlearn moves a distribution away from others. Multipliers are
// the same on every GOARCH, bit for bit.
package dual
