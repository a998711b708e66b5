// Package diagnose records the draws of Markov chains and computes convergence diagnostics from
// them.
//
// A [Trace] records functions of the state at every draw. Its [Summary] is a table of means, Monte
// Carlo standard errors, quantiles, effective sample sizes and R-hat. It warns if the draws should
// not be used:
//
//	mag := diagnose.NewTrace(energy.Magnetization)
//	ch, err := sampler.NewChains(ctx, m, method, sampler.Config{Chains: 64, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// [Record] does all of this in one call. [NewStreamingTrace] needs constant memory, and [RealTrace]
// is for states of reals. [Tally] merges statistics from many machines, and [Replicas] records
// every temperature of a run of mcmc.Tempering. [Replay] reads the draws that chains write to a
// file while they run. Draws can be exported to .npy files, to CSV in the layout of CmdStan and to
// InferenceData JSON for ArviZ.
//
// The functions [RHat], [ESSBulk], [ESSTail] and [MCSEMean] follow Vehtari, Gelman, Simpson,
// Carpenter and Bürkner (2021) and accept draws[chain][draw] from any source. If a diagnostic is
// not defined, the result is an error that states the reason, never NaN.
//
// Draws are bit-identical on every processor. Diagnostics are identical only up to rounding.
package diagnose
