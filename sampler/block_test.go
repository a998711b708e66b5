package sampler_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Blocks are part of what a run is: these sizes are a promise.
func TestBlockSizes(t *testing.T) {
	for chains, want := range map[int]int{
		0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 2, 8: 2, 16: 4, 32: 8, 33: 9, 40: 10, 63: 16,
		64: 32, 65: 17, 96: 24, 100: 25, 128: 32, 129: 22, 1000: 32, 1_000_000: 32,
	} {
		assert.Equal(t, want, sampler.Config{Chains: chains}.Block(), "%d chains", chains)
	}
	for chains := 1; chains < 5000; chains++ {
		size := sampler.Config{Chains: chains}.Block()
		require.LessOrEqual(t, size, sampler.BlockSize)
		blocks := (chains-1)/size + 1
		if chains >= 4 {
			require.Greater(t, blocks, 1)
		}
		// Two workers share the chains to within a block of half.
		require.LessOrEqual(t, (blocks+1)/2*size, chains/2+size)
	}
}

// together kernels step once so many of them are in a step at the same time.
type together struct{ meet *meeting }

type meeting struct {
	sync.Mutex
	all    sync.Cond
	want   int
	inside int
	rounds int
}

func (m *meeting) arrive() {
	m.Lock()
	defer m.Unlock()
	if m.inside++; m.inside == m.want {
		m.inside = 0
		m.rounds++
		m.all.Broadcast()
		return
	}
	for round := m.rounds; round == m.rounds; {
		m.all.Wait()
	}
}

func (f together) Kernel(context.Context, energy.Model, int) (sampler.Kernel, error) {
	return &togetherKernel{meet: f.meet}, nil
}

func (together) Settings(func(string, any)) {}

type togetherKernel struct {
	brokenKernel
	meet *meeting
}

func (k *togetherKernel) Step(sampler.Control, []sampler.Info, []int32, []sampler.Stream) int {
	k.meet.arrive()
	return 1
}

// Four chains are at work at the same time on four workers, and so are the
// blocks of 16 and 32 chains: every step waits for the three others.
func TestFewChainsKeepWorkersBusy(t *testing.T) {
	for _, chains := range []int{4, 16, 32} {
		meet := &meeting{want: 4}
		meet.all.L = meet
		c := exact.Must(sampler.NewChains(context.Background(), exact.NewQuadratic(3, 1), together{meet}, sampler.Config{Chains: chains, Workers: 4, Warmup: -1}))
		require.Len(t, c.Kernels(), 4)
		for range 5 { // rounds of one step: no block can be ahead of the others
			require.NoError(t, c.Run(t.Context(), 1))
		}
		assert.Equal(t, 5, meet.rounds)
	}
}

// BenchmarkFewChains runs 4 chains on a lattice from one worker and from two.
func BenchmarkFewChains(b *testing.B) {
	for name, workers := range map[string]int{"workers=1": 1, "workers=2": 2} {
		b.Run(name, func(b *testing.B) {
			c, err := sampler.NewChains(context.Background(), exact.NewQuadratic(200, 1), mcmc.Gibbs{}, sampler.Config{Chains: 4, Workers: workers, Warmup: -1})
			require.NoError(b, err)
			for b.Loop() {
				require.NoError(b, c.Run(b.Context(), 20))
			}
		})
	}
}
