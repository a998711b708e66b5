package projection_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// oneHotRows returns v with the rows of given tokens as DrawGiven has them, and v with
// rubbish there.
func oneHotRows(v []float32, given []int32) (hot, rubbish []float32) {
	levels := len(v) / len(given)
	hot, rubbish = append(hot, v...), append(rubbish, v...)
	for i, token := range given {
		if token < 0 {
			continue
		}
		for l := range levels {
			hot[i*levels+l] = float32(math.Inf(-1))
			rubbish[i*levels+l] = float32(math.NaN())
		}
		hot[i*levels+int(token)] = 0
	}
	return hot, rubbish
}

// Certain tokens give the draw of their rows, which are not read: over few and over
// many tokens, and for nested languages.
func TestDrawGivenIsDraw(t *testing.T) {
	even := func(levels int) constraint.Language {
		c := constraint.Count{Min: 3, Max: 4}
		for l := int32(0); int(l) < levels; l += 2 {
			c.Levels = append(c.Levels, l)
		}
		return c
	}
	for _, c := range []struct {
		name          string
		language      constraint.Language
		sites, levels int
	}{
		{"few tokens", even(7), 6, 7},
		{"many tokens", even(700), 6, 700},
		{"nested", nestedLists(t), 6, 9},
	} {
		e, err := projection.Path{Language: c.language}.Compile(t.Context(), c.sites, c.levels)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(3, 3))
		x, y := make([]int32, c.sites), make([]int32, c.sites)
		v, dead := make([]float32, c.sites*c.levels), 0
		for n := range 200 {
			if n%3 > 0 { // rows that come again are remembered
				for i := range v {
					v[i] = float32(2 * r.NormFloat64())
				}
			}
			_, err := e.Draw(t.Context(), x, v, r)
			require.NoError(t, err)
			for i := range x {
				switch r.IntN(4) {
				case 0, 1:
					x[i] = -1
				case 2:
					if n%5 == 0 {
						x[i] = r.Int32N(int32(c.levels))
					}
				}
			}
			hot, rubbish := oneHotRows(v, x)
			seed := r.Uint64()
			want, wantErr := e.Draw(t.Context(), y, hot, rand.NewPCG(seed, 1))
			got, gotErr := e.DrawGiven(t.Context(), x, rubbish, rand.NewPCG(seed, 1))
			if require.Equal(t, wantErr == nil, gotErr == nil, c.name); wantErr != nil {
				dead++
				require.ErrorIs(t, gotErr, constraint.ErrInfeasible)
				require.Equal(t, wantErr.Error(), gotErr.Error())
				continue
			}
			require.Equal(t, want, got, c.name)
			require.Equal(t, y, x, c.name)
		}
		assert.Positive(t, dead, c.name)
		assert.Less(t, dead, 100, c.name)
	}
	e, err := projection.Path{Language: even(7)}.Compile(t.Context(), 6, 7)
	require.NoError(t, err)
	assert.PanicsWithValue(t, "projection: x0[1] = 7, want < 7", func() {
		_, _ = e.DrawGiven(t.Context(), []int32{-1, 7, -1, -1, -1, -1}, make([]float32, 42), rand.NewPCG(1, 1))
	})
}

// countingPath counts the draws that are given certain tokens.
type countingPath struct {
	projection.Path
	calls *atomic.Int64
}

func (p countingPath) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	e, err := p.Path.Compile(ctx, sites, levels)
	return countingProjection{e, p.calls}, err
}

type countingProjection struct {
	*projection.PathProjection
	calls *atomic.Int64
}

func (p countingProjection) Self() any { return p }

func (p countingProjection) DrawGiven(ctx context.Context, x0 []int32, v []float32, src rand.Source) (float64, error) {
	p.calls.Add(1)
	return p.PathProjection.DrawGiven(ctx, x0, v, src)
}

// ownDraw embeds a projection and has a Draw of its own, which must be asked.
type ownDraw struct{ projection.Path }

func (p ownDraw) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	e, err := p.Path.Compile(ctx, sites, levels)
	return ownDrawProjection{e}, err
}

type ownDrawProjection struct{ *projection.PathProjection }

func (p ownDrawProjection) Draw(ctx context.Context, x0 []int32, v []float32, _ rand.Source) (float64, error) {
	return p.MAP(ctx, x0, v)
}

func TestAnOwnDrawIsAsked(t *testing.T) {
	v := []float32{0, -1, -8, -2, 0, -8, 0, -1, -8}
	model := energy.DenoiserFunc[int32]{Sites: 3, Levels: 3, F: func(_ context.Context, dst []float32, q energy.Noised[int32]) error {
		for s := range q.Time {
			copy(dst[s*len(v):], v)
		}
		return nil
	}}
	d, err := diffusion.New(t.Context(), model, diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{
		Seed: 1, Projector: ownDraw{projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 1, Max: 1}}},
	})
	require.NoError(t, err)
	x := make([]int32, 3*50)
	require.NoError(t, d.Sample(t.Context(), x))
	for ; len(x) > 0; x = x[3:] {
		require.Equal(t, []int32{0, 1, 0}, x[:3])
	}
}

// A runner spares the projection what a mask does not hide; with an observer, who
// sees all rows, it does not, and the samples are the same.
func TestSparedRowsChangeNothing(t *testing.T) {
	const sites, mask = 9, 600
	samples := 40
	if exact.Race {
		samples = 7
	}
	r := rand.New(rand.NewPCG(4, 4))
	base := make([]float32, sites*(mask+1))
	for i := range base {
		base[i] = float32(2 * r.NormFloat64())
	}
	model := energy.DenoiserFunc[int32]{Sites: sites, Levels: mask + 1, F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
		for s := range q.Time {
			shift := float32(0)
			for _, l := range q.X[s*sites : (s+1)*sites] {
				shift += float32(l % 5)
			}
			for k, w := range base {
				v[s*len(base)+k] = w * (1 + shift/8)
			}
		}
		return nil
	}}
	half := constraint.Count{Min: 4, Max: 5}
	for l := int32(0); l < mask; l += 2 {
		half.Levels = append(half.Levels, l)
	}
	clamp := []int32{-1, 6, -1, -1, 7, -1, -1, -1, -1}
	for _, process := range []diffusion.Process[int32]{
		diffusion.Masked{Mask: mask}, diffusion.Masked{Mask: mask, FirstHitting: true},
		diffusion.Remask{Mask: mask, Eta: .3}, diffusion.Remask{Mask: mask, Rule: diffusion.RemaskConfidence, Eta: .3},
		diffusion.Remask{Mask: mask, Rule: diffusion.RemaskLoop, Eta: .3}, diffusion.Ordered{Mask: mask, Block: 5},
	} {
		for _, start := range []float64{0, .6} {
			for _, c := range [][]int32{nil, clamp} {
				var seen [2][]int32
				var said [2]string
				var calls [2]atomic.Int64
				rows := 0
				for k := range seen {
					cfg := diffusion.Config{Steps: 12, Seed: 7, Batch: 3, Workers: 2, Clamp: c, ProjectStart: start, Projector: countingPath{projection.Path{Language: half, Name: "half"}, &calls[k]}}
					if k == 1 {
						cfg.Workers = 1
						cfg.Observe = func(s *diffusion.Snapshot) {
							if s.Projected {
								rows++
								for i, l := range s.X {
									if l == mask {
										continue
									}
									require.False(t, math.IsNaN(float64(s.V[i*(mask+1)+int(l)])))
								}
							}
						}
					}
					d, err := diffusion.New(t.Context(), model, process, cfg)
					require.NoError(t, err)
					seen[k] = make([]int32, samples*sites)
					if err := d.Sample(t.Context(), seen[k]); err != nil { // begun too late
						require.ErrorIs(t, err, constraint.ErrInfeasible)
						require.Positive(t, start)
						said[k] = err.Error()
					}
				}
				require.Equal(t, seen[1], seen[0], fmt.Sprintf("%T, start %v, clamps %v", process, start, c))
				require.Equal(t, said[1], said[0])
				require.Positive(t, rows)
				require.Positive(t, calls[0].Load())
				require.Zero(t, calls[1].Load())
			}
		}
	}
}

var _ diffusion.GivenDrawer = (*projection.PathProjection)(nil)
