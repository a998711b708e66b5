package beam

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

func init() {
	shard.Register("lattice", func(a struct{ Chains int }) (shard.Run, error) {
		m, err := model.NewIsing(model.Lattice{32, 32}, 0.3, 0.05)
		return shard.Chains{
			Model: m, Method: mcmc.Gibbs{}, Config: sampler.Config{Chains: a.Chains, Seed: 5, Warmup: 200}, Draws: 1000,
			Functions: []func([]int32) float64{energy.Magnetization}, Names: []string{"m"},
		}, err
	})
}

// BenchmarkOverhead is the processor time of a run on Prism over that of two
// goroutines that take parts of the same size (on Linux; elsewhere time), the least
// of five rounds each, in turns, and the time of one part. The first round on Prism
// is not counted: it starts the engine.
func BenchmarkOverhead(b *testing.B) {
	for _, chains := range []int{640, 2560} {
		b.Run(fmt.Sprint("chains=", chains), func(b *testing.B) { overhead(b, chains) })
	}
}

func overhead(b *testing.B, chains int) {
	const workers, together = 2, 2 // blocks to a part
	j := Job{Run: shard.Job{Target: "lattice", Args: fmt.Appendf(nil, `{"Chains": %d}`, chains)}}
	run, err := j.Run.Build()
	require.NoError(b, err)
	n, block := run.Size()
	var want []byte
	goroutines := func() {
		parts := make([][]byte, (n-1)/(together*block)+1)
		var next atomic.Int64
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				for k := int(next.Add(1)) - 1; k < len(parts); k = int(next.Add(1)) - 1 {
					first := k * together * block
					tally, err := shard.Make(ctx, run, first, min(together*block, n-first), "")
					if err == nil {
						parts[k], err = tally.MarshalBinary()
					}
					if err != nil {
						panic(err)
					}
				}
			})
		}
		group.Wait()
		want = merge(b, parts...)
	}
	prism := func() {
		tally, err := execute(b, j, Chains)
		require.NoError(b, err)
		require.Equal(b, want, bytesOf(b, tally))
	}
	goroutines()
	prism()
	least := [2]time.Duration{1 << 62, 1 << 62}
	for b.Loop() {
		for range 5 {
			for k, f := range []func(){goroutines, prism} {
				start := exact.CPU()
				f()
				least[k] = min(least[k], exact.CPU()-start)
			}
		}
	}
	b.ReportMetric(float64(least[1])/float64(least[0]), "of-goroutines")
	b.ReportMetric(least[0].Seconds()*1e3*together*float64(block)/float64(n), "ms/part")
}
