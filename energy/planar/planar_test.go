package planar_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/planar"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/junction"
)

// lattice returns places of a rows × cols grid, moved at random by up to jitter, and edges
// with weights by f, with one diagonal in a cell with probability diagonals.
func lattice(rows, cols int, jitter, diagonals float64, r *rand.Rand, f func() float64) (at [][2]float64, edges []model.Edge) {
	add := func(i, j int) { edges = append(edges, model.Edge{I: i, J: j, W: f()}) }
	for i := range rows {
		for j := range cols {
			at = append(at, [2]float64{float64(j) + jitter*(r.Float64()-0.5), float64(i) + jitter*(r.Float64()-0.5)})
			v := i*cols + j
			if j+1 < cols {
				add(v, v+1)
			}
			if i+1 < rows {
				add(v, v+cols)
			}
			if i+1 < rows && j+1 < cols && r.Float64() < diagonals {
				if r.IntN(2) == 0 {
					add(v, v+cols+1)
				} else {
					add(v+1, v+cols)
				}
			}
		}
	}
	return at, edges
}

func ising(sites int, edges []model.Edge) *model.Ising {
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 1, 0))
}

// All answers are those of enumeration, on drawings with edges in all directions, bridges,
// sites alone and parts apart, and couplings of any sign.
func TestAgainstEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for trial := range 200 {
		rows, cols := 1+r.IntN(4), 1+r.IntN(3)
		jitter := []float64{0, 0.5}[trial%2]
		at, edges := lattice(rows, cols, jitter, 0.5, r, func() float64 { return 1.5 * r.NormFloat64() })
		var some []model.Edge
		for _, e := range edges {
			if trial%3 > 0 || r.IntN(4) > 0 {
				some = append(some, e)
			}
		}
		sites := rows * cols
		m := ising(sites, some)
		d, err := planar.New(m, at)
		require.NoError(t, err)
		e := exact.Energies(m)
		p := make([]float64, len(e))
		least := math.Inf(1)
		for _, v := range e {
			least = min(least, v)
		}
		sum, mean, square := 0.0, 0.0, 0.0
		for k, v := range e {
			p[k] = math.Exp(least - v)
			sum += p[k]
		}
		for k, v := range e {
			p[k] /= sum
			mean += p[k] * v
		}
		for k, v := range e {
			square += p[k] * (v - mean) * (v - mean)
		}
		require.InDelta(t, math.Log(sum)-least, exact.Must(d.LogZ(t.Context())), 1e-10)
		require.InDelta(t, mean, exact.Must(d.Energy(t.Context())), 1e-8*max(1, math.Abs(mean)))
		require.InDelta(t, square, exact.Must(d.HeatCapacity(t.Context())), 1e-6*max(1, square))
		i, j := r.IntN(sites), r.IntN(sites)
		want := 0.0
		for k, x := range exact.States(sites, 2) {
			want += p[k] * float64((1-2*x[i])*(1-2*x[j]))
		}
		require.InDelta(t, want, exact.Must(d.Correlation(t.Context(), i, j)), 1e-8, "%d: %d and %d", trial, i, j)
	}
}

// A spin glass of 20 × 20 sites is that of bucket elimination to twelve digits.
func TestAgainstElimination(t *testing.T) {
	if testing.Short() {
		t.Skip("elimination of 2^21 entries")
	}
	r := rand.New(rand.NewPCG(3, 4))
	at, edges := lattice(20, 20, 0, 0, r, func() float64 { return float64(1 - 2*r.IntN(2)) })
	m := ising(400, edges)
	d := exact.Must(planar.New(m, at))
	j := exact.Must(junction.New(t.Context(), m, junction.Config{}))
	want := exact.Must(j.LogZ(t.Context()))
	require.InEpsilon(t, want, exact.Must(d.LogZ(t.Context())), 1e-12)
}

// Onsager: the free energy of a site of a large square lattice at the critical temperature
// tends to ½ log 2 + 2G/π, with corrections of the boundary.
func TestCritical(t *testing.T) {
	const n = 64
	k := math.Log(1+math.Sqrt2) / 2
	size := func(n int) float64 {
		at, edges := lattice(n, n, 0, 0, rand.New(rand.NewPCG(1, 1)), func() float64 { return k })
		return exact.Must(exact.Must(planar.New(ising(n*n, edges), at)).LogZ(t.Context()))
	}
	// Boundary terms in n cancel in the second difference.
	second := (size(3*n/4) - 2*size(n/2) + size(n/4)) / float64(n*n/8)
	require.InDelta(t, math.Ln2/2+2*0.915965594177219/math.Pi, second, 2e-4)
}

func TestRefuses(t *testing.T) {
	at, edges := lattice(2, 2, 0, 0, rand.New(rand.NewPCG(1, 1)), func() float64 { return 1 })
	square := ising(4, edges)
	both := append(edges, model.Edge{I: 0, J: 3, W: 1}, model.Edge{I: 1, J: 2, W: 1})
	line := [][2]float64{{0, 0}, {1, 0}, {2, 0}}
	for _, c := range []struct {
		m    energy.Model
		at   [][2]float64
		want string
	}{
		{exact.Must(model.NewPotts(model.Lattice{4}, 3, 1, nil)), at, "of 3 levels"},
		{square, at[:3], "len(points) = 3, want 4"},
		{square, [][2]float64{{0, 0}, {0, math.NaN()}, {1, 0}, {1, 1}}, "points[1] = [0 NaN]"},
		{exact.Must(model.NewIsing(model.FreeLattice{2, 2}, 1, 0.5)), at, "field of site 0"},
		{exact.Must(energy.Scale(square, 17)), at, "want at most ±16"},
		{ising(4, both), at, "cross"},
		{ising(2, []model.Edge{{I: 0, J: 1, W: 1}}), [][2]float64{{1, 2}, {1, 2}}, "different places"},
		{ising(3, []model.Edge{{I: 0, J: 1, W: 1}, {I: 0, J: 2, W: 1}}), line, "same direction"},
		{ising(4, []model.Edge{{I: 0, J: 2, W: 1}, {I: 1, J: 3, W: 1}}), [][2]float64{{0, 0}, {1, 0}, {2, 0}, {1, 1}}, "cross"},
	} {
		_, err := planar.New(c.m, c.at)
		require.ErrorContains(t, err, c.want)
	}
	d := exact.Must(planar.New(square, at))
	_, err := d.Correlation(t.Context(), 0, 4)
	require.ErrorContains(t, err, "site 4, want 0 … 3")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = d.LogZ(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.Energy(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.HeatCapacity(ctx)
	require.ErrorIs(t, err, context.Canceled)
	_, err = d.Correlation(ctx, 0, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// A context that ends in the middle of a large lattice ends the call.
func TestCancel(t *testing.T) {
	at, edges := lattice(40, 40, 0, 0, rand.New(rand.NewPCG(1, 1)), func() float64 { return 1 })
	d := exact.Must(planar.New(ising(1600, edges), at))
	exact.Cancelled(func(ctx context.Context) error { return exact.Error(d.Energy(ctx)) }, func(err error) {
		require.ErrorIs(t, err, context.Canceled)
	})
}

func ExampleDistribution() {
	m, err := model.NewIsing(model.FreeLattice{30, 30}, 0.5, 0)
	if err != nil {
		panic(err)
	}
	at := make([][2]float64, 900)
	for i := range at {
		at[i] = [2]float64{float64(i % 30), float64(i / 30)}
	}
	d, err := planar.New(m, at)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	logZ, err := d.LogZ(ctx)
	if err != nil {
		panic(err)
	}
	mean, err := d.Energy(ctx)
	if err != nil {
		panic(err)
	}
	c, err := d.HeatCapacity(ctx)
	if err != nil {
		panic(err)
	}
	far, err := d.Correlation(ctx, 0, 899)
	if err != nil {
		panic(err)
	}
	fmt.Printf("log Z %.6f, energy %.4f, heat capacity %.2f, corners %.4f\n", logZ, mean, c, far)
	// Output: log Z 903.282658, energy -717.4295, heat capacity 865.80, corners 0.1033
}

// Seconds for log Z and the energy of a spin glass of 200 × 200 sites:
//
//	go test ./energy/planar -run xxx -bench Glass -benchtime 1x
func BenchmarkGlass(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	at, edges := lattice(200, 200, 0, 0, r, func() float64 { return float64(1 - 2*r.IntN(2)) })
	d := exact.Must(planar.New(ising(40000, edges), at))
	b.Run("LogZ", func(b *testing.B) {
		for b.Loop() {
			exact.Must(d.LogZ(b.Context()))
		}
	})
	b.Run("Energy", func(b *testing.B) {
		for b.Loop() {
			exact.Must(d.Energy(b.Context()))
		}
	})
}
