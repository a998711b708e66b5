package mcmc

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// TestRBMTrajectoryGolden: on an RBM, too, a seed gives the same states on every machine
// and instruction set, for methods whose sums have one order or none.
func TestRBMTrajectoryGolden(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	draw := func(n int, size int32) []float32 { // dyadic fractions, without arithmetic
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(r.Int32N(2*size+1)-size) / (1 << 16)
		}
		return v
	}
	const visible, hidden = 117, 71
	m := exact.Must(model.NewRBM(draw(visible*hidden, 1<<14), draw(hidden, 1<<15), draw(visible, 1<<15)))
	var b strings.Builder
	for n, method := range []sampler.Method{DMALA{}, DMALA{StepSize: 0.3}, BlockGibbs{}} {
		for _, chains := range []int{3, 100} {
			c := runs.Run(t, m, method, sampler.Config{Chains: chains, Seed: 1, Warmup: 20}, 30)
			fmt.Fprintf(&b, "%d %T, %d chains: %016x\n", n, method, chains, runs.Hash(c.States()))
		}
	}
	exact.Golden(t, "testdata/rbm.golden", b.String())
}
