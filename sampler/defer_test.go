package sampler_test

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// counter is a kernel whose state, one number in binary digits, is the number of
// its steps. It holds that elsewhere than in x.
type counter struct {
	steps, shown, workers int
}

func (c *counter) Kernel(context.Context, energy.Model, int) (sampler.Kernel, error) { return c, nil }
func (c *counter) Reset(sampler.Control, []int32) error                              { return nil }

func (c *counter) Show(x []int32) {
	c.shown++
	for i := range x {
		x[i] = int32(c.steps >> i & 1)
	}
}

func (c *counter) Step(ctl sampler.Control, info []sampler.Info, x []int32, _ []sampler.Stream) int {
	c.steps++
	c.workers = ctl.Workers
	clear(info)
	for i := range x {
		x[i] = 1 // wrong
	}
	if !ctl.Unread {
		c.Show(x)
	}
	return 1
}

func (c *counter) AppendBinary(b []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(b, uint64(c.steps)), nil
}

func (c *counter) UnmarshalBinary(b []byte) error {
	c.steps = int(binary.LittleEndian.Uint64(b))
	return nil
}

func number(x []int32) (n int) {
	for i, v := range x {
		n += int(v) << i
	}
	return n
}

// TestStatesAreShownWhereTheyAreRead: observers, draws, callers and a run that its
// context ends see the states of a kernel that defers them; between, it may.
func TestStatesAreShownWhereTheyAreRead(t *testing.T) {
	m, err := model.NewIsing(model.Lattice{20}, 0, 0)
	require.NoError(t, err)
	for _, observed := range []bool{true, false} {
		k := &counter{}
		var seen []int
		cfg := sampler.Config{Chains: 1, Warmup: 7, Thin: 5, Workers: 3}
		if observed {
			cfg.Observe = func(_, _ int, x []int32, _ *sampler.Info) { seen = append(seen, number(x)) }
		}
		c, err := sampler.NewChains(context.Background(), m, k, cfg)
		require.NoError(t, err)
		require.NoError(t, c.Run(context.Background(), 3))
		assert.Equal(t, 3, k.workers)
		assert.Equal(t, 22, number(c.States()))
		if observed {
			assert.Equal(t, []int{12, 17, 22}, seen)
		}
		assert.Less(t, k.shown, 15, "most steps are not read")
		for x := range c.Draws(context.Background(), 2) {
			assert.Equal(t, k.steps, number(x))
		}
		assert.Equal(t, 32, k.steps)

		ctx, cancel := context.WithCancel(context.Background())
		k = &counter{}
		cfg.Observe = func(chain, draw int, x []int32, _ *sampler.Info) {
			if draw == 200 {
				cancel()
			}
		}
		c, err = sampler.NewChains(context.Background(), m, k, cfg)
		require.NoError(t, err)
		require.ErrorIs(t, c.Run(ctx, 10000), context.Canceled)
		assert.Equal(t, k.steps, number(c.States()))
	}
	two, err := sampler.NewChains(context.Background(), m, &counter{}, sampler.Config{Chains: 2, Workers: 3})
	require.NoError(t, err)
	assert.Len(t, two.States(), 40)
}

// TestReserve: groups of a stream are those that its words come from.
func TestReserve(t *testing.T) {
	words := make([]uint32, 64*12)
	sampler.NewStream(5, 6).Uint32s(words)
	s := sampler.NewStream(5, 6)
	_, seed, chain, group := s.Reserve(2)
	assert.Equal(t, []uint64{5, 6, 0}, []uint64{seed, chain, group})
	assert.Equal(t, words[128], s.Uint32())
	_, _, _, group = s.Reserve(1) // the rest of group 2 is skipped
	assert.EqualValues(t, 3, group)
	got := make([]uint32, 70)
	s.Uint32s(got)
	assert.Equal(t, words[256:326], got)
	_, _, _, group = s.Reserve(0)
	assert.EqualValues(t, 6, group)
	assert.Equal(t, words[384], s.Uint32())
}
