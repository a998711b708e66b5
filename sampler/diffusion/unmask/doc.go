// Package unmask holds samplers for masked diffusion that choose what to reveal,
// and when to take it back.
//
// Processes, for diffusion.New with any projection: [Scheduled] reveals random
// masks at a pace that [Curve.Plan] finds, [EntropyBound] as many as an entropy
// allows, [Threshold] what the denoiser is sure of, and edits it later,
// [Planned] what a planner ranks first, masking the rest again, and [Blocks] goes
// from left to right. How far each is from the denoiser's distribution p is
// either a bound that its page states or a number that the tests compute by
// enumeration; the command in CONTRIBUTING.md prints a table.
//
// Runners, which sample from p given a language: [Rejection] accepts paths of
// conditioned steps by their weights, with a bound on what that leaves wrong, and
// [Backtrack] walks on paths and takes back what turns out unlikely. Where the
// language is not very unlike p they need far fewer predictions than
// diffusion.Particles.
//
// Products are written float64(a*b) + c: a compiler may fuse them into one
// rounding otherwise, and fused bits differ between processors.
package unmask
