// Package beam makes runs of package shard on any engine of Apache Beam: in this
// process, on a server of Prism, on Flink, Spark or Dataflow.
//
// A pipeline has the run by name, from a builder that every worker registers:
//
//	func init() {
//		shard.Register("spins", func(a args) (shard.Run, error) { … })
//	}
//
//	sdk.Init() // of github.com/apache/beam/sdks/v2/go/pkg/beam
//	p, s := sdk.NewPipelineWithRoot()
//	tally, err := beam.Chains(s, beam.Job{Run: shard.Job{Target: "spins", Args: []byte(`{"Side": 10}`)}})
//	err = beam.Write(s, "gs://bucket/spins.tally", tally)
//	err = beamx.Run(ctx, p)
//	t, err := beam.Read(ctx, "gs://bucket/spins.tally")
//
// Only tallies go through the runner, some 5 KB for each function and 50 ms of work.
// The tally has the bits of the run in one piece, whatever the runner does: split,
// move or repeat its parts.
//
// This is a module of its own, so that the library does not depend on Beam.
package beam
