// Package fit learns the parameters θ of an energy from samples. Given samples x_1 … x_N, it
// minimises
//
//	L(θ) = −(1/N) Σ_n log p_θ(x_n) + λ₁·Σ_k c_k|θ_k| + (λ₂/2)·Σ_k c_k θ_k²,  p_θ ∝ exp(−E_θ).
//
// The loss L is the mean negative log-likelihood plus two optional penalties. Without the
// penalties, the gradient is a difference of moments, E_data[∂E/∂θ] − E_θ[∂E/∂θ]. For energies that
// are linear in θ, fitting is the dual ascent of package dual with equality constraints. The
// parameters are then the multipliers, and at the optimum the moments of the model equal the
// moments of the data.
//
// For example:
//
//	m, err := model.NewDenseQuadratic(n, make([]float64, n*n), model.Polynomial{})
//	p, err := m.Learn() // a copy that owns its parameters
//	chains, err := sampler.NewChains(ctx, p, mcmc.Gibbs{}, sampler.Config{Chains: 256, Warmup: -1})
//	f, err := fit.New(ctx, p, data, fit.Config{Chains: chains, L1: 0.01})
//	err = f.Run(ctx, 1000)
//	fmt.Println(f.Report())
//
// Afterwards p is the fitted model and the states of chains are samples of it.
//
// An [Objective] estimates the moments of the model. [Persistent] uses chains that continue while θ
// moves. [Contrastive] uses short chains that start from the data. [Exact] sums over all states, by
// variable elimination if the model's graph has a low tree-width. [Pseudo] replaces the likelihood
// by the product of the conditionals of the sites; its gradient needs no moments of the model.
//
// # Caveats
//
// The parameters of a site that is constant in the data have no finite maximum-likelihood estimate.
// They grow with the steps. If the data do not determine all parameters, the estimate is not
// unique, and some parameters keep their initial values. To avoid both problems, set L1 or L2.
package fit
