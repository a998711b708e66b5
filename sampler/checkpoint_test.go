package sampler

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

func TestLoadRefusesOtherSettings(t *testing.T) {
	m := newQuadratic(3, 1)
	cfg := Config{Warmup: 5}
	for _, pair := range [][2]Method{
		{DMALA{StepSize: 0.2}, DMALA{StepSize: 0.3}},
		{DMALA{}, DMALA{Target: 0.4}},
		{DULA{Preconditioner: []float32{1, 1, 1}}, DULA{Preconditioner: []float32{1, 1, 2}}},
		{Gibbs{}, Gibbs{Scan: Random}},
		{BlockGibbs{Blocks: [][]int{{0, 1}, {2}}}, BlockGibbs{Blocks: [][]int{{0}, {1, 2}}}},
	} {
		var file bytes.Buffer
		require.NoError(t, run(t, m, pair[0], cfg, 2).Save(&file))
		other, err := NewChains(m, pair[1], cfg)
		require.NoError(t, err)
		assert.ErrorContains(t, other.Load(bytes.NewReader(file.Bytes())), "settings", "%+v", pair)
		same, err := NewChains(m, pair[0], cfg)
		require.NoError(t, err)
		assert.NoError(t, same.Load(bytes.NewReader(file.Bytes())), "%+v", pair[0])
	}
}

// What is digested must tell values apart, and equal values must agree.
func TestSettings(t *testing.T) {
	seen := map[uint64]any{}
	f := func() {}
	for _, m := range []Method{
		probe{}, probe{1}, probe{int8(1)}, probe{uint(1)}, probe{1.0}, probe{float32(1)}, probe{true}, probe{"1"}, probe{"true;"},
		probe{[]int{1, 2}}, probe{[]int{12}}, probe{[2]int{1, 2}}, probe{[][]int{{1}, {2}}}, probe{[][]int{{1, 2}, {}}}, probe{[]any{1, nil}},
		probe{&f}, probe{(*int)(nil)}, probe{new(int)}, probe{f}, probe{map[int]int{1: 2}}, probe{make(chan int)},
		probe{probe{1}}, DMALA{}, DMALA{Window: 1}, DULA{Window: 1}, nil,
	} {
		d := settings(m)
		assert.Equal(t, d, settings(m))
		assert.NotContains(t, seen, d, "%v and %v", m, seen[d])
		seen[d] = m
	}
	assert.Equal(t, settings(probe{new(int)}), settings(probe{new(int)}), "addresses do not count")
}

// probe is a method that is set to anything.
type probe struct{ setting any }

func (probe) Kernel(context.Context, energy.Model, int) (Kernel, error) { return nil, nil }

// A checkpoint between Reset and the next step holds the energies of the states
// as they are, not of those before.
func TestSaveAfterReset(t *testing.T) {
	m := newQuadratic(5, 1)
	cfg := Config{Chains: 3, Warmup: 10}
	for _, method := range everyMethod() {
		c := run(t, m, method, cfg, 5)
		for i := range c.States() {
			c.States()[i] = 1 - c.States()[i]
		}
		require.NoError(t, c.Reset())
		var file bytes.Buffer
		require.NoError(t, c.Save(&file))
		second, err := NewChains(m, method, cfg)
		require.NoError(t, err)
		require.NoError(t, second.Load(&file), "%T", method)
		require.NoError(t, c.Run(context.Background(), 5))
		require.NoError(t, second.Run(context.Background(), 5))
		assert.Equal(t, c.States(), second.States(), "%T", method)
	}
}

// After a failure in one block and Reset, Run makes the draws that it was asked
// for, although other blocks had gone on to the end of their round.
func TestRunAfterFailure(t *testing.T) {
	broken := true
	m := energy.Func{Sites: 2, Levels: 2, E: func(x []int32) float64 { return 0 }}
	draws := make([]int, 2*BlockSize)
	c, err := NewChains(m, breaking{&broken}, Config{Chains: 2 * BlockSize, Warmup: -1, Workers: 1,
		Observe: func(chain, _ int, _ []int32, _ *Info) { draws[chain]++ }})
	require.NoError(t, err)
	require.ErrorIs(t, c.Run(context.Background(), 100), ErrNaN)
	require.ErrorIs(t, c.Run(context.Background(), 1), ErrNaN, "stuck until Reset")
	ahead := draws[BlockSize]
	require.Greater(t, ahead, draws[0])
	broken = false
	require.NoError(t, c.Reset())
	assert.Equal(t, ahead, c.Len())
	require.NoError(t, c.Run(context.Background(), 10))
	assert.Equal(t, ahead+10, c.Len())
	assert.Equal(t, ahead+10, draws[BlockSize])
	assert.NoError(t, c.Err())
}

// breaking makes kernels of which the first fails at its tenth step for as long
// as broken is set.
type breaking struct{ broken *bool }

func (f breaking) Kernel(context.Context, energy.Model, int) (Kernel, error) {
	return &brokenKernel{broken: f.broken}, nil
}

type brokenKernel struct {
	broken *bool
	steps  int
}

func (k *brokenKernel) Reset([]int32) error { return nil }

func (k *brokenKernel) Step(info []Info, _ []int32, r []Stream) {
	if k.steps++; k.steps >= 10 && *k.broken && r[0].chain == 0 {
		info[0].Err = ErrNaN
	}
	if !*k.broken {
		info[0].Err = nil
	}
}

func (k *brokenKernel) AppendBinary(b []byte) ([]byte, error) { return b, nil }

func (k *brokenKernel) UnmarshalBinary([]byte) error { return nil }
