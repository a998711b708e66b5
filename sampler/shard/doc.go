// Package shard cuts a run into parts that run anywhere and puts them together to
// the bits of the whole: as tasks of an array job of Slurm or Kubernetes, with a
// shared folder and nothing else.
//
// Every task makes the same [Run], does its part and leaves a file:
//
//	task, err := shard.Environment(0) // SLURM_ARRAY_TASK_ID and its like
//	err = task.Do(ctx, dir, run, shard.Options{})
//
// When all have ended, one process puts them together:
//
//	tally, err := shard.Merge(ctx, dir, run)
//	fmt.Println(tally.Summary())
//
// A file takes its place when it is whole. A task that is killed leaves none and is
// done again; one that is done twice gives the same bits; Merge names the tasks that
// are missing and refuses parts that are damaged, overlap or are of another run.
//
// A run is of [Chains], of [Samples] such as those of a diffusion, or of [AIS].
//
// A [Job] names a run by a registered builder and arguments in JSON, for engines that
// send work to other machines, such as those of Apache Beam (package sampler/beam, a
// module of its own).
package shard
