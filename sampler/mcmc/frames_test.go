package mcmc

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// mostFrames bounds the functions of the library between Run and a user's energy, those two
// left out: a stack that is read at a glance.
const mostFrames = 12

// Between Run and a user's energy lie few functions, whatever the method.
func TestFrames(t *testing.T) {
	for _, levels := range []int{2, 3} {
		for _, method := range []sampler.Method{
			DMALA{}, DULA{}, Gibbs{}, Metropolis{}, GWG{}, Paths{}, LocallyBalanced{}, BlockGibbs{Blocks: [][]int{{0, 1}}}, HammingBall{}, PairGibbs{}, Swap{}, DLMC{},
		} {
			var deepest []string
			m := energy.Func{Sites: 6, Levels: levels, E: func(x []int32) float64 {
				if stack := between(); len(stack) > len(deepest) {
					deepest = stack
				}
				return float64(x[0])
			}}
			c, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 2, Warmup: 4, Workers: 1})
			require.NoError(t, err)
			require.NoError(t, c.Run(context.Background(), 4))
			assert.NotEmpty(t, deepest, "%T", method)
			assert.LessOrEqual(t, len(deepest), mostFrames, "%T: %s", method, strings.Join(deepest, "\n"))
		}
	}
}

// between returns the functions of the library that lie between Run and its caller.
func between() (stack []string) {
	pc := make([]uintptr, 100)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	for {
		f, more := frames.Next()
		switch {
		case strings.HasSuffix(f.Function, ".Run"):
			return stack
		case !more:
			return nil // not within a Run
		case strings.Contains(f.Function, "gibbsite"):
			stack = append(stack, f.Function)
		}
	}
}
