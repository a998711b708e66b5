package sampler_test

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// batching is a kernel whose chains count steps, in binary digits, and move one site each
// at each.
type batching struct {
	company int
	chains  int
	steps   int
	stop    int // of a batch after so many steps
	batches [][2]int
	panics  bool
}

func (l *batching) Reset(sampler.Control, []int32) error { return nil }
func (l *batching) Company(n int) int                    { return min(n, l.company) }

func (l *batching) Show(x []int32) {
	sites := len(x) / l.chains
	for i := range x {
		x[i] = int32(l.steps >> (i % sites) & 1)
	}
}

func (l *batching) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
	if ctl.Steps > 1 {
		return l.batch(ctl, info, r)
	}
	l.steps++
	for i := range info {
		r[i].Uint32()
		info[i] = sampler.Info{Energy: float64(l.steps), Accept: 1, Moved: 1}
	}
	l.Show(x)
	return 1
}

func (l *batching) batch(ctl sampler.Control, info []sampler.Info, r []sampler.Stream) int {
	n := ctl.Steps
	if l.panics {
		panic("batch")
	}
	if l.stop > 0 && n > l.stop {
		n = l.stop
	}
	for _, b := range append([]sampler.Block{{Kernel: l, Info: info, R: r}}, ctl.Company...) {
		k := b.Kernel.(*batching)
		k.batches = append(k.batches, [2]int{1 + len(ctl.Company), n})
		k.steps += n
		for i := range b.R {
			b.R[i].Skip(uint64(n))
			b.Info[i] = sampler.Info{Accept: 1, Moved: n}
		}
	}
	return n
}

func (l *batching) AppendBinary(b []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint64(b, uint64(l.steps)), nil
}

func (l *batching) UnmarshalBinary(b []byte) error {
	l.steps = int(binary.LittleEndian.Uint64(b))
	return nil
}

// batchers is a method of batching kernels.
type batchers struct {
	made *[]*batching
	batching
}

func (l batchers) Kernel(_ context.Context, _ energy.Model, chains int) (sampler.Kernel, error) {
	k := l.batching
	k.chains = chains
	*l.made = append(*l.made, &k)
	return &k, nil
}

func batchingChains(t *testing.T, l batching, cfg sampler.Config) (*sampler.Chains, []*batching) {
	m, err := model.NewIsing(model.Lattice{20}, 0, 0)
	require.NoError(t, err)
	var made []*batching
	c, err := sampler.NewChains(context.Background(), m, batchers{&made, l}, cfg)
	require.NoError(t, err)
	return c, made
}

// Steps that nobody reads are batches, of as many blocks as workers leave each other and the
// kernels want; the last step of a Run, of warm-up and those that are observed are not.
func TestBatches(t *testing.T) {
	for _, c := range []struct {
		chains, workers, company int
		want                     []int // sizes of troops
	}{
		{130, 1, 16, []int{5, 1}}, // blocks of 22, the last of 20
		{128, 1, 16, []int{4}},
		{128, 2, 16, []int{2, 2}},
		{128, 9, 16, []int{1, 1, 1, 1}},
		{160, 1, 4, []int{4, 1, 1}}, // six blocks of 27, the last of 25
		{128, 1, 0, nil},
	} {
		cfg := sampler.Config{Chains: c.chains, Workers: c.workers, Warmup: 10}
		ch, made := batchingChains(t, batching{company: c.company}, cfg)
		require.NoError(t, ch.Run(context.Background(), 3000))
		var sizes []int
		for i := 0; i < len(made) && len(made[i].batches) > 0; i += sizes[len(sizes)-1] {
			sizes = append(sizes, made[i].batches[0][0])
		}
		assert.Equal(t, c.want, sizes, c)
		for _, k := range made {
			assert.Equal(t, 3010, k.steps)
		}
		assert.Equal(t, 3010, number(ch.States()[:20]))
		assert.Equal(t, sampler.Stats{Steps: 3000 * c.chains, Accept: 1, Moved: 1}, ch.Stats())
		for _, info := range ch.Info() {
			assert.Equal(t, sampler.Info{Energy: 3010, Accept: 1, Moved: 1}, info)
		}
	}
}

// Observers see the steps that they should, from batches that end before them.
func TestBatchesAreNotSeen(t *testing.T) {
	for _, thin := range []int{1, 3, 7} {
		var seen []int
		cfg := sampler.Config{Chains: 4, Workers: 1, Warmup: 12, Thin: thin, Observe: func(chain, draw int, x []int32, info *sampler.Info) {
			assert.Equal(t, 12+thin*(draw+1), number(x))
			assert.Equal(t, float64(number(x)), info.Energy)
			if chain == 2 {
				seen = append(seen, draw)
			}
		}}
		ch, made := batchingChains(t, batching{company: 16}, cfg)
		require.NoError(t, ch.Run(context.Background(), 20))
		require.NoError(t, ch.Run(context.Background(), 5))
		assert.Len(t, seen, 25)
		assert.True(t, slices.IsSorted(seen))
		assert.Equal(t, thin == 7, len(made[0].batches) > 0, "%d", thin)
		assert.Equal(t, 25*4*thin, ch.Stats().Steps)
	}
}

// A batch that is stopped ends with a step that shows the states, and one that panics leaves
// chains that go on.
func TestBatchesStop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cfg := sampler.Config{Chains: 128, Workers: 1, Warmup: -1, Progress: func(done, _ int) {
		if done > 500 {
			cancel()
		}
	}}
	ch, made := batchingChains(t, batching{company: 16, stop: 9}, cfg)
	require.ErrorIs(t, ch.Run(ctx, 100000), context.Canceled)
	assert.Equal(t, made[0].steps, number(ch.States()[:20]))
	assert.Equal(t, float64(made[0].steps), ch.Info()[0].Energy)
	assert.Equal(t, ch.Len(), made[3].steps)
	for _, l := range made[0].batches {
		assert.LessOrEqual(t, l[1], 9)
	}
	made[0].panics = true
	err := func() (err error) {
		defer func() { err = recover().(error) }()
		return ch.Run(context.Background(), 100)
	}()
	assert.ErrorContains(t, err, "batch")
	made[0].panics = false
	at := made[0].steps
	require.NoError(t, ch.Run(context.Background(), 100))
	assert.Equal(t, at+100, made[0].steps)
}
