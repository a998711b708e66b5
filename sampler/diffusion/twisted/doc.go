// Package twisted draws real-valued samples of a diffusion given linear equations
// and inequalities, from the conditional distribution itself.
//
// Projections move every prediction to the feasible set, and that is exact for
// Gaussian data and linear equations only: where the data have several modes, the
// modes get wrong weights, whatever the projection. A [Sampler] instead runs
// particles whose reverse steps are twisted by what the denoiser says about the
// constraint (Wu, Trippe, Naesseth, Blei, Cunningham 2023), weighs them by what
// that leaves out, and resamples. It needs the covariance of the clean state given
// the noisy one along the rows: from a model that knows it, a [Posterior], by
// vector–Jacobian products from an denoise.Differentiable such as a network
// (neural.Reals), or by differences of predictions, for any other.
//
// On mixtures of five Gaussians in eight dimensions given two equations, the energy
// distance to the conditional distribution, in units of that of exact draws, is
//
//	closed form 1.9 ± .7   ancestral .8 ± .5   particles 1.5 ± .1
//	cps 13   pdm 31   prodigy 31   cps-metric 33   noise-corrected 34   cop-ft 37
//
// (go test -run Table -table 8 -samples 2000 -seeds 2 -v, which names the settings).
// With 10 000 samples, -inequalities as many as named, and 8 seeds of the particles, 8 to
// 32 of the others:
//
//	dimensions, inequalities   closed form   ancestral     particles
//	8, 0                       0.86 ± .07    1.25 ± .16    0.92 ± .16
//	8, 1                       1.12 ± .17    1.10 ± .15    0.82 ± .10
//	8, 2                       0.75 ± .10    0.79 ± .08
//	16, 0                      1.09 ± .16    1.10 ± .22    0.98 ± .11
//	16, 1                      1.07 ± .10    1.04 ± .16
//	2, 1                       0.97 ± .12    1.40 ± .27    1.25 ± .56
//	2, 2                       1.78 ± .39    1.36 ± .19
//
// and weights of modes within .011 in total variation everywhere. The closed form is
// exact, so that its figures say what chance does: with two modes, as in two dimensions,
// it is most of the distance.
//
// Where the distribution is known in closed form there is a shorter way:
// [github.com/gibbsite-go/gibbsite/energy/continuous.Mixture.Where] and
// [github.com/gibbsite-go/gibbsite/energy/denoise.Windows.Where] draw from a
// mixture or a kernel density given equations, without any diffusion.
//
// # Caveats
//
// A network knows its covariance badly near pure noise: what is indefinite is made
// definite, and weights correct it, at the price of particles. A covariance from
// elsewhere, such as that of Gaussian data, in a Posterior around the network can
// cost far less: the examples' series program does that.
//
// The distribution is reached as both the particles and the steps become many: 64
// particles and 200 steps are usual, and one more row of a narrow inequality can
// need more of both. Projections (package projection/proximal) handle hundreds of
// inequalities; here a few dozen are many.
//
// Products are written float64(a*b) + c: a compiler may fuse them otherwise, and
// fused bits differ between processors.
package twisted
