package slots_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// half shows the first mask in every step.
type half struct{ slots.Absorbing }

func (h *half) Next(x []int32, _ float64, _, _ int, _ *sampler.Stream) float64 {
	return float64(h.Left(x)-1) / float64(h.Sites)
}

func (h *half) Renoise(x, x0 []int32, _ []float32, _, _ float64, _ *sampler.Stream) {
	for i, l := range x {
		if l == h.Mask {
			x[i] = x0[i]
			return
		}
	}
}

func (h *half) Reweight(v []float32, xt, xs []int32, _, _ float64) { h.Reveal(v, xt, xs) }

// ones draws sequences of zeros and ones with an odd number of ones, by enumeration.
type ones struct{ fail error }

func (o ones) each(v []float32, do func(x [2]int32, p float64)) {
	for _, x := range [][2]int32{{0, 1}, {1, 0}} {
		do(x, math.Exp(float64(v[x[0]])+float64(v[3+x[1]])))
	}
}

func (o ones) LogZ(_ context.Context, v []float32) (float64, error) {
	sum := 0.0
	o.each(v, func(_ [2]int32, p float64) { sum += p })
	if sum == 0 {
		return 0, fmt.Errorf("odd: %w", constraint.ErrInfeasible)
	}
	return math.Log(sum), o.fail
}

func (o ones) Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (float64, error) {
	z, err := o.LogZ(ctx, v)
	u := rand.New(src).Float64() * math.Exp(z)
	o.each(v, func(x [2]int32, p float64) {
		if u >= 0 {
			copy(x0, x[:])
		}
		u -= p
	})
	return z, err
}

// joint is p(0,1) = .1, p(1,0) = .5, p(1,1) = .4 with its exact predictions, shifted.
// If it is blind, the second row has no weight while the first token is masked.
type joint struct{ excluded, blind bool }

func (joint) Shape() (int, int) { return 2, 3 }

func (m joint) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	for k := range q.Time {
		w := v[k*6 : (k+1)*6]
		first, second := []float64{.1, .9}, []float64{.5, .5}
		if l := q.X[2*k]; l == 0 || m.excluded {
			second = []float64{0, 1}
		} else if l == 1 {
			second = []float64{5.0 / 9, 4.0 / 9}
		}
		if m.excluded {
			first = second
		}
		if m.blind && q.X[2*k] == 2 {
			second = []float64{0, 0}
		}
		for l := range 2 {
			w[l], w[3+l] = float32(math.Log(first[l]))+3, float32(math.Log(second[l]))-2
		}
		w[2], w[5] = 5, 5 // the mask counts for nothing
	}
	return nil
}

func paths(t *testing.T, m energy.Denoiser[int32], d slots.Drawer, keep bool, n int) *slots.Paths {
	a, err := slots.NewAbsorbing("test", 2, nil, 2, 3)
	require.NoError(t, err)
	e := slots.New(m, slots.Shape{Sites: 2, Levels: 3, Batch: n, Workers: 2}, func(int) slots.Steps[int32] { return &a })
	e.Keep = keep
	steps := make([]slots.Joint, n)
	for i := range steps {
		steps[i] = &half{a}
	}
	p := slots.NewPaths(e, d, steps, 2, false)
	p.Next = p.Pass
	if keep {
		p.Next = p.Weigh
		p.Judge = func() error { return p.Each(p.Move) }
	}
	for i := range n {
		p.BeginPath(i)
		p.Start(i, i, 1, uint64(i))
	}
	return p
}

// Weights of paths estimate p(x, C) without bias, whether they are weighed before they
// move or as they do, and where rows of masks that stay have no weight.
func TestPathsAreWeighed(t *testing.T) {
	const n = 20_000
	for k := range 4 {
		p := paths(t, joint{blind: k >= 2}, ones{}, k%2 == 1, n)
		var seen [2]int
		p.Saw = func(_, i int, from, to, logZ float64) {
			assert.Less(t, to, from)
			assert.False(t, math.IsNaN(logZ))
			if i == 0 {
				seen[0]++
			}
		}
		require.NoError(t, p.Run(t.Context(), 0, n))
		require.Equal(t, 2, seen[0])
		var sum, square [2]float64
		for i := range n {
			x := p.Slots[i].X
			require.Equal(t, int32(1), x[0]+x[1])
			w := math.Exp(p.LogW[i])
			sum[x[0]] += w / n
			square[x[0]] += w * w / n
		}
		for k, want := range []float64{.1, .5} {
			se := math.Sqrt((square[k] - sum[k]*sum[k]) / n)
			require.InDelta(t, want, sum[k], 4.9*se+1e-9, "1e-6, two-sided")
		}
		// A copy has the weight of what it is a copy of, but for LogW.
		p.CopyPath(1, 0)
		before := p.LogW[1]
		require.NoError(t, p.Run(t.Context(), 0, n))
		require.Equal(t, before, p.LogW[1])
	}
}

// A path from which the set cannot be reached has weight zero; other errors are its own.
func TestPathsThatEnd(t *testing.T) {
	for _, keep := range []bool{false, true} {
		p := paths(t, joint{excluded: true}, ones{}, keep, 1)
		require.NoError(t, p.Run(t.Context(), 0, 1))
		require.True(t, math.IsInf(p.LogW[0], -1))
		broken := errors.New("broken")
		p = paths(t, joint{}, ones{broken}, keep, 1)
		var got error
		p.Retry = func(_ int, fault error) error { got = fault; return nil }
		require.NoError(t, p.Run(t.Context(), 0, 1))
		require.ErrorIs(t, got, broken)
	}
}

// A weight that is NaN or +Inf is named, wherever it is: neither a mixture nor a sum over
// other tokens hides it.
func TestWeightsAreDefined(t *testing.T) {
	never := float32(math.Inf(-1))
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		v := []float32{never, bad, 0, never, 0, 0}
		dst, mixed := make([]float32, 6), make([]bool, 2)
		require.True(t, slots.Mix(dst, v, mixed, func(int) bool { return true }, -1))
		require.Equal(t, []bool{false, true}, mixed)
		require.Equal(t, fmt.Sprint(v[:3]), fmt.Sprint(dst[:3]))
		_, err := slots.Normalise(make([]float64, 2), 0, dst)
		require.EqualError(t, err, fmt.Sprintf("weight at site 0, level 1 is %v", bad))
	}
	z, err := slots.Normalise(make([]float64, 2), 0, []float32{0, 0, never, 0})
	require.NoError(t, err)
	require.InDelta(t, -math.Ln2, z, 1e-15)
}

// A clamped token is certain.
func TestConditionKnowsClamps(t *testing.T) {
	a, err := slots.NewAbsorbing("test", 2, noise.Cosine{}, 2, 3)
	require.NoError(t, err)
	s := &slots.Slot[int32]{X: []int32{2, 1}, V: []float32{1, 2, 3, 4, 5, 6}, Clean: []bool{true, false}, Given: []int32{0, 0}, Fresh: true}
	slots.Condition(&half{a}, s, false)
	never := float32(math.Inf(-1))
	require.Equal(t, []float32{0, never, never, never, 0, never}, s.V)
	require.False(t, s.Fresh)
}

func TestAbsorbing(t *testing.T) {
	for want, c := range map[string][3]int{
		"who: Bind: sites = 0, levels = 3":      {0, 0, 3},
		"who: Bind: sites × levels":             {0, math.MaxInt32, math.MaxInt32},
		"who: Mask = 3, want 0 … 2":             {3, 2, 3},
		"who: levels = 1, want ≥ 2: a mask and": {0, 2, 1},
	} {
		_, err := slots.NewAbsorbing("who", int32(c[0]), nil, c[1], c[2])
		require.ErrorContains(t, err, want)
	}
	_, err := slots.NewAbsorbing("who", 0, noise.Cosine{Epsilon: 2}, 2, 3)
	require.ErrorContains(t, err, "Epsilon = 2")
	a, err := slots.NewAbsorbing("who", 1, nil, 3, 3)
	require.NoError(t, err)
	require.Equal(t, noise.LogLinear{}.Alpha(0.3), a.Alpha(0.3))
	x := make([]int32, 3)
	a.Prior(x, nil)
	require.Equal(t, []int32{1, 1, 1}, x)
	require.Equal(t, 3, a.Left(x))
	require.True(t, a.Masks(1) && !a.Masks(0))
	r := sampler.NewStream(1, 1)
	never := float32(math.Inf(-1))
	require.Equal(t, int32(2), a.Draw([]float32{0, 0, 0, never, 9, 0, 0, 0, 0}, 1, r))
	empty := []float32{never, never, never}
	require.Equal(t, int32(-1), slots.Draw(empty, r))
	require.True(t, slots.Empty(empty))
	for _, w := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		require.Equal(t, int32(-1), slots.Draw([]float32{w, 0}, r))
		require.False(t, slots.Empty([]float32{0, w}))
	}
}

func TestEstimate(t *testing.T) {
	var e slots.Estimate
	log, se := e.Mean()
	require.True(t, math.IsNaN(log) && math.IsNaN(se))
	e.Add(math.Log(2))
	log, se = e.Mean()
	require.InDelta(t, math.Log(2), log, 1e-15)
	require.True(t, math.IsNaN(se))
	e.Add(math.Inf(-1))
	e.Add(math.Log(4))
	log, se = e.Mean()
	require.InDelta(t, math.Log(2), log, 1e-15)
	require.InDelta(t, 2/math.Sqrt(3)/2, se, 1e-15) // deviation 2, mean 2
}

type remembering struct{ ones }

func (remembering) Commit(context.Context, []int32, []float32, rand.Source) error { return nil }

func TestWhatCannotBeWeighed(t *testing.T) {
	d, err := slots.DrawerOf("who", ones{})
	require.NoError(t, err)
	require.Equal(t, ones{}, d)
	_, err = slots.DrawerOf("who", 3)
	require.EqualError(t, err, "who: the projection is a int, want a diffusion.Drawer, which draws samples with their probabilities: use another Projector")
	_, err = slots.DrawerOf("who", remembering{})
	require.ErrorContains(t, err, "has a memory")
	_, err = slots.Joints("who", "p", []slots.Steps[int32]{counting{}})
	require.EqualError(t, err, "who: string cannot be weighed, because its steps have no joint probabilities (they are no diffusion.Joint): use another process, such as diffusion.Masked")
	joint, err := slots.Joints("who", "p", []*half{{}, {}})
	require.NoError(t, err)
	require.Len(t, joint, 2)
}

func TestCheckClamp(t *testing.T) {
	require.NoError(t, slots.CheckClamp("C", nil, 2, 3))
	require.NoError(t, slots.CheckClamp("C", []int32{-1, 2}, 2, 3))
	require.EqualError(t, slots.CheckClamp("C", []int32{-1}, 2, 3), "C = (1 entries), want 2 entries")
	require.EqualError(t, slots.CheckClamp("C", []int32{-1, 3}, 2, 3), "C[1] = 3, want -1 … 2")
}
