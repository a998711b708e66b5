// Package diagnose records the draws of chains and judges them.
//
// A [Trace] is told of every draw of functions of the state, and its [Summary] is
// a table of means, Monte Carlo standard errors, quantiles, effective sample sizes
// and R-hat, with a warning where they speak against using the draws:
//
//	mag := diagnose.NewTrace(energy.Magnetization)
//	ch, err := sampler.NewChains(ctx, m, method, sampler.Config{Chains: 64, Observe: mag.Observe})
//	err = ch.Run(ctx, 5000)
//	fmt.Println(mag.Summary())
//
// [Record] does all of it in one call, [NewStreamingTrace] in constant memory,
// [RealTrace] for states of reals, and [Replicas] for every rung of a tempered run.
// [Replay] reads the draws that chains write to a file while they run. Draws export
// to .npy files, to CSV in the layout of CmdStan and to InferenceData JSON for ArviZ.
//
// The figures themselves ([RHat], [ESSBulk], [ESSTail], [MCSEMean]) follow Vehtari,
// Gelman, Simpson, Carpenter and Bürkner (2021) and take draws[chain][draw] from
// any source. A figure that is not defined is an error that says why, never NaN.
//
// Figures decide no sample: they are the same on every processor up to rounding,
// not bit for bit as the draws are.
package diagnose
