package beam_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/beam"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

func init() {
	// Every worker builds the model from these arguments.
	shard.Register("square", func(a struct{ Side, Chains int }) (shard.Run, error) {
		m, err := model.NewIsing(model.Lattice{a.Side, a.Side}, 0.1, 0.05)
		return shard.Chains{
			Model: m, Method: mcmc.Gibbs{}, Config: sampler.Config{Chains: a.Chains, Seed: 1, Warmup: 50}, Draws: 96,
			Functions: []func([]int32) float64{energy.Magnetization}, Names: []string{"m"},
		}, err
	})
}

// Chains on Prism, the engine of Beam that runs in this process; a program that runs
// on any engine calls beamx.Run.
func ExampleJob() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "beam")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "square.tally")

	p, s := sdk.NewPipelineWithRoot()
	tally, err := beam.Chains(s, beam.Job{Run: shard.Job{Target: "square", Args: []byte(`{"Side": 8, "Chains": 320}`)}})
	if err == nil {
		err = beam.Write(s, path, tally)
	}
	if err != nil {
		log.Fatal(err)
	}
	if _, err := prism.Execute(ctx, p); err != nil {
		log.Fatal(err)
	}
	t, err := beam.Read(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	sum, err := t.Summary()
	fmt.Printf("m = %.3f ± %.3f from %d chains %v\n", sum.Rows[0].Mean.Value, sum.Rows[0].MCSE.Value, sum.Chains, err)
	// Output: m = 0.078 ± 0.001 from 320 chains <nil>
}
