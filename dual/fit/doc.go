// Package fit learns the parameters of an energy from samples: it minimises
//
//	L(θ) = −(1/N) Σ_n log p_θ(x_n) + λ₁·Σ_k c_k|θ_k| + (λ₂/2)·Σ_k c_k θ_k²,  p_θ ∝ exp(−E_θ),
//
// whose gradient is a difference of moments, E_data[∂E/∂θ] − E_θ[∂E/∂θ]. For energies
// that are linear in θ this is the dual ascent of package dual with equality constraints:
// the parameters are the multipliers, and at the optimum the model has the moments of the
// data.
//
//	m, err := model.NewDenseQuadratic(n, make([]float64, n*n), model.Polynomial{})
//	p, err := m.Learn() // a copy that owns its parameters
//	chains, err := sampler.NewChains(ctx, p, mcmc.Gibbs{}, sampler.Config{Chains: 256, Warmup: -1})
//	f, err := fit.New(ctx, p, data, fit.Config{Chains: chains, L1: 0.01})
//	err = f.Run(ctx, 1000)
//	fmt.Println(f.Report())
//
// Afterwards p is the fitted model and chains are samples of it.
//
// An [Objective] estimates the moments of the model: by chains that continue while θ moves
// ([Persistent]), by short chains that start from the data ([Contrastive]), or by the sum
// over all states ([Exact]). [Pseudo] replaces the likelihood by the product of its
// conditionals, which needs no such moments.
//
// # Caveats
//
// A site that is constant in the data has no finite likelihood estimate: its parameters
// grow with the steps. If the data do not determine all parameters, the estimate is not
// unique, and some parameters keep their initial values. L1 or L2 makes the problem well
// posed.
package fit
