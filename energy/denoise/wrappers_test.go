package denoise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

// rows is a denoiser of one state whose rows are given.
func rows(v []float32, levels int) energy.DenoiserFunc[int32] {
	return energy.DenoiserFunc[int32]{Sites: len(v) / levels, Levels: levels, IgnoresTime: true,
		F: func(_ context.Context, dst []float32, _ energy.Noised[int32]) error { copy(dst, v); return nil }}
}

func noised(x ...int32) energy.Noised[int32] {
	return energy.Noised[int32]{X: x, Time: []float64{1}, Alpha: []float64{0}, Sample: []int{0}, Src: []rand.Source{rand.NewPCG(1, 1)}}
}

// temperSlowly is Tempered from its page, by sorting.
func temperSlowly(row []float64, d Tempered) []float64 {
	order := []int{}
	for l := range row {
		if !slices.Contains(d.Without, int32(l)) && !math.IsInf(row[l], -1) {
			order = append(order, l)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
	if d.TopK > 0 && len(order) > d.TopK {
		order = order[:d.TopK]
	}
	temperature := cmp.Or(d.Temperature, 1)
	p, total := map[int]float64{}, 0.0
	for _, l := range order {
		p[l] = math.Exp((row[l] - row[order[0]]) / temperature)
		total += p[l]
	}
	out, sum := make([]float64, len(row)), 0.0
	for _, l := range order {
		if d.TopP > 0 && sum >= d.TopP*total {
			break
		}
		out[l] = p[l]
		sum += p[l]
	}
	for l := range out {
		out[l] /= sum
	}
	return out
}

// TestTempered compares rows with sorting, equal weights included. A twin that
// keeps one level less than TopK must differ.
func TestTempered(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	differs := 0
	for range 3000 {
		levels := 1 + r.IntN(12)
		v := make([]float32, levels)
		for l := range v {
			switch r.IntN(4) {
			case 0:
				v[l] = float32(r.IntN(3))
			case 1:
				v[l] = never
			default:
				v[l] = float32(r.NormFloat64())
			}
		}
		v[r.IntN(levels)] = 0.25
		d := Tempered{Denoiser: rows(v, levels), TopK: r.IntN(levels + 1), Temperature: []float64{0, 1, 0.3, 2}[r.IntN(4)]}
		if r.IntN(2) == 0 {
			d.TopP = 0.999 * r.Float64()
		}
		if levels > 2 && r.IntN(2) == 0 {
			l := int32(r.IntN(levels))
			if v[l] != 0.25 {
				d.Without = []int32{l}
			}
		}
		exact := make([]float64, levels)
		for l := range v {
			exact[l] = float64(v[l])
		}
		want := temperSlowly(exact, d)
		got, sum := make([]float32, levels), 0.0
		require.NoError(t, d.Denoise(context.Background(), got, noised(make([]int32, 1)...)))
		for _, w := range got {
			sum += math.Exp(float64(w))
		}
		for l, w := range got {
			require.InDelta(t, want[l], math.Exp(float64(w))/sum, 1e-6, "%+v: %v of %v", d, got, v)
		}
		if d.TopK > 1 {
			d.TopK--
			if !slices.Equal(want, temperSlowly(exact, d)) {
				differs++
			}
		}
	}
	require.Greater(t, differs, 300)
}

func TestTemperedRefuses(t *testing.T) {
	ctx := context.Background()
	good := Tempered{Denoiser: rows([]float32{0, 1, 2}, 3)}
	for want, change := range map[string]func(d *Tempered){
		"Denoiser = nil":                 func(d *Tempered) { d.Denoiser = nil },
		"Temperature = -1, want finite":  func(d *Tempered) { d.Temperature = -1 },
		"Temperature = NaN, want finite": func(d *Tempered) { d.Temperature = math.NaN() },
		"TopK = -1, want ≥ 0":            func(d *Tempered) { d.TopK = -1 },
		"TopP = 1.5, want 0 … 1":         func(d *Tempered) { d.TopP = 1.5 },
		"Without[0] = 3, want 0 … 2":     func(d *Tempered) { d.Without = []int32{3} },
	} {
		d := good
		change(&d)
		require.ErrorContains(t, d.Check(), want)
		require.ErrorContains(t, d.Denoise(ctx, make([]float32, 3), noised(0)), want)
	}
	require.True(t, good.TimeFree())
	require.False(t, good.LeaveOneOut())
	sites, levels := good.Shape()
	require.Equal(t, []int{1, 3}, []int{sites, levels})
	// Rows that cannot be drawn from are left for whoever draws.
	for _, v := range [][]float32{{0, float32(math.NaN()), 1}, {never, never, never}, {0, float32(math.Inf(1)), 0}} {
		d := Tempered{Denoiser: rows(v, 3), TopK: 1, TopP: 0.5}
		got := make([]float32, 3)
		require.NoError(t, d.Denoise(ctx, got, noised(0)))
		require.Equal(t, fmt.Sprint(v), fmt.Sprint(got))
	}
	// Weights far apart do not overflow at a low temperature.
	d := Tempered{Denoiser: rows([]float32{-3e38, 3e38, 0}, 3), Temperature: 1e-3}
	got := make([]float32, 3)
	require.NoError(t, d.Denoise(ctx, got, noised(0)))
	require.Equal(t, []float32{never, 0, never}, got)
}

// TestMetered: answers are those of the denoiser, and the counts those of a list
// of the states, whatever the cache holds.
func TestMetered(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(4, 1))
	asked := 0
	plain := energy.DenoiserFunc[int32]{Sites: 3, Levels: 3, IgnoresTime: true,
		F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
			asked += q.States(3)
			for i := range q.X {
				for l := range 3 {
					s := i / 3
					v[i*3+l] = float32(q.X[s*3] + 10*q.X[s*3+1] + 100*q.X[s*3+2] + int32(1000*(i%3)+l))
					if q.X[i] != 2 {
						v[i*3+l] = never
						if int32(l) == q.X[i] {
							v[i*3+l] = 0
						}
					}
				}
				if q.Clean != nil && q.Clean[i] {
					v[i*3] += 0.5
				}
			}
			return nil
		}}
	for _, entries := range []int{0, 1, 5, 100} {
		m, err := NewMetered(plain, 2, entries)
		require.NoError(t, err)
		require.True(t, energy.TimeFree(m))
		asked = 0
		calls, count := 0, 0
		for range 400 {
			n := 1 + r.IntN(6)
			q := energy.Noised[int32]{X: make([]int32, 3*n), Time: make([]float64, n), Alpha: make([]float64, n), Sample: make([]int, n), Src: make([]rand.Source, n)}
			if r.IntN(3) == 0 {
				q.Clean = make([]bool, 3*n)
			}
			for i := range q.X {
				q.X[i] = int32(r.IntN(3))
				if q.Clean != nil {
					q.Clean[i] = q.X[i] != 2 && r.IntN(2) == 0
				}
			}
			if q.Clean != nil { // complete states need no prediction, whatever is clamped
				for s := range n {
					q.X[3*s], q.Clean[3*s] = 2, false
				}
			}
			calls++
			count += n
			if r.IntN(4) == 0 { // by hand
				q.Sample, q.Src = nil, nil
			}
			got, want := make([]float32, 9*n), make([]float32, 9*n)
			require.NoError(t, m.Denoise(ctx, got, q))
			before := asked
			require.NoError(t, plain.F(ctx, want, q))
			asked = before
			require.Equal(t, want, got)
		}
		c := m.Cost()
		require.Equal(t, []int{calls, count, asked}, []int{c.Calls, c.Rows, c.Asked})
		require.Equal(t, c.Rows, c.Asked+c.Hits+c.Shown)
		if entries == 100 {
			require.Greater(t, c.Hits, c.Rows/2)
		} else if entries == 0 {
			require.Zero(t, c.Hits+c.Shown)
		}
		// What depends on more than the state goes through.
		q := noised(2, 2, 2)
		q.Meta = 1
		require.NoError(t, m.Denoise(ctx, make([]float32, 9), q))
		require.NoError(t, m.Denoise(ctx, make([]float32, 9), q))
		require.Equal(t, c.Asked+2, m.Cost().Asked)
	}
	for _, f := range []func() error{
		func() error { _, err := NewMetered(nil, 0, 0); return err },
		func() error { _, err := NewMetered(plain, 3, 0); return err },
		func() error { _, err := NewMetered(plain, 2, -1); return err },
		func() error { p := plain; p.IgnoresTime = false; _, err := NewMetered(p, 2, 1); return err },
	} {
		require.Error(t, f())
	}
	failing := plain
	failing.F = func(context.Context, []float32, energy.Noised[int32]) error { return context.Canceled }
	m, err := NewMetered(failing, 2, 4)
	require.NoError(t, err)
	require.ErrorIs(t, m.Denoise(ctx, make([]float32, 9), noised(2, 2, 2)), context.Canceled)
}
