package diagnose

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// Where the streaming mode states an error, 95 % intervals cover the mean of first-order
// autoregressions at least at 92 %, less what chance takes at a rate of 1e-6 in all; slow
// chains that are too short get no error.
func TestStreamingErrorsCover(t *testing.T) {
	exact.SkipRepeated(t)
	const runs = 200
	stated := 0
	for _, chains := range []int{1, 4, 16} {
		for _, n := range []int{500, 1000, 4000} {
			for _, phi := range []float64{.5, .9, .97, .99, .996} {
				given, covered := 0, 0
				for seed := range uint64(runs) {
					r := rand.New(rand.NewPCG(seed, uint64(n)))
					x := newDraws(chains, n)
					sum := 0.0
					for c := range x {
						v := r.NormFloat64() / math.Sqrt(1-phi*phi)
						for i := range x[c] {
							x[c][i] = v
							sum += v
							v = phi*v + r.NormFloat64()
						}
					}
					m := stream(x).Summary().Rows[0].MCSE
					if m.Err != nil {
						require.True(t, errors.Is(m.Err, ErrTooFew), m.Err)
						continue
					}
					given++
					if math.Abs(sum/float64(n*chains)) < 1.96*m.Value {
						covered++
					}
				}
				share := float64(covered) / float64(max(given, 1))
				t.Logf("%d chains of %d draws, φ = %v: %d of %d stated, %.3f cover", chains, n, phi, given, runs, share)
				if given == 0 {
					continue
				}
				stated++
				require.Greater(t, share, .92-5.3*math.Sqrt(.92*.08/float64(given)), "%d chains of %d draws, φ = %v", chains, n, phi)
			}
		}
	}
	require.Greater(t, stated, 20)
}
