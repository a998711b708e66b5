package sweep

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// orderedMatrix is that of a step of Metropolis in a fixed order, from the numbers
// that its kernel decides by.
func orderedMatrix(k sampler.Kernel, all [][]int32) *exact.Matrix {
	site := func(i int32) *exact.Matrix {
		return exact.NewMatrix(len(all), func(x int, dst []float64) {
			y := slices.Clone(all[x])
			switch k := k.(type) {
			case *denseGibbs:
				k.pack(0, all[x])
				up := float64(k.odds[k.look[i]]) * 0x1p-64
				if all[x][i] == 1 {
					up = float64(k.odds1[k.look[i]]) * 0x1p-64
				}
				y[i] = 1
				dst[exact.Index(y, 2)] += up
				y[i] = 0
				dst[exact.Index(y, 2)] += 1 - up
			case *metropolis:
				if sweeptest.Stuck(k, all[x], x, dst) {
					return
				}
				row := k.Row(0, int(i), all[x])
				for l := range int32(k.Levels) {
					if l != all[x][i] {
						a, _ := Accept(row[all[x][i]]-row[l], 0, 0)
						y[i] = l
						dst[exact.Index(y, k.Levels)] += a / float64(k.Levels-1)
					}
				}
				sweeptest.Stay(dst, x)
			}
		})
	}
	var sweep []int32
	switch k := k.(type) {
	case *denseGibbs:
		sweep = k.order
	case *metropolis:
		sweep = k.order
	}
	p := site(sweep[0])
	for _, i := range sweep[1:] {
		p = p.Mul(site(i))
	}
	return p
}

// Scans in a fixed order leave π invariant, and their matrix is what they do: by
// counts and, on models that have none, by differences.
func TestMetropolisInAFixedOrder(t *testing.T) {
	exact.SkipUnderRace(t)
	for name, c := range map[string]struct {
		m      energy.Model
		counts bool
	}{
		"ferro":    {sweeptest.Complete(t, 5, 0.3, 0.2), true},
		"repel":    {sweeptest.Complete(t, 5, -0.8, 0), true},
		"scaled":   {exact.Must(energy.Scale(sweeptest.Complete(t, 5, 0.6, 0.4), 0.5)), true},
		"rugged":   {exact.NewRugged(5, 2, 1, 0.5, 1), false},
		"3-levels": {exact.NewRugged(4, 3, 1, 0.5, 2), false},
		"holes":    {exact.NewRugged(5, 2, 1, 0.5, 5).Holed(), false},
	} {
		t.Run(name, func(t *testing.T) {
			method := Metropolis{Scan: Systematic}
			k := exact.Must(method.Kernel(context.Background(), c.m, 1))
			fast, counts := k.(*denseGibbs)
			require.Equal(t, c.counts, counts)
			sites, levels := c.m.Shape()
			all := exact.States(sites, levels)
			pi, _ := exact.Law(c.m)
			p := orderedMatrix(k, all)
			assert.LessOrEqual(t, p.RowError(), 1e-12)
			assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
			exact.Transitions(t, sweeptest.Observed(t, c.m, method, 200, 5), p, exact.Rate)
			if counts {
				copy(fast.odds[1:], slices.Clone(fast.odds)) // one neighbour too few, for sites in state 0
				assert.Greater(t, orderedMatrix(k, all).MaxDiff(pi), 1e-3)
			}
		})
	}
}

// What is reported as acceptance is that of the model's differences.
func TestMetropolisByCountsReportsItsAcceptance(t *testing.T) {
	m := sweeptest.Complete(t, 7, -0.4, 0.3)
	k, ok := exact.Must(Metropolis{Scan: Chromatic}.Kernel(context.Background(), m, 1)).(*denseGibbs)
	require.True(t, ok)
	d := make([]float64, 2)
	for _, x := range exact.States(7, 2) {
		k.pack(0, x)
		for i, l := range x {
			m.Conditional(d, i, x)
			want := math.Min(1, math.Exp(d[l]-d[1-l]))
			v := k.visits.Visit(slices.Clone(k.look), slices.Clone(x), []int32{int32(i)}, []uint32{5, 1 << 31})
			require.InDelta(t, want, float64(v.Accept)/acceptUnit, 1e-14)
			moves := float64(k.odds[k.look[i]]) * 0x1p-64
			if l == 1 {
				moves = 1 - float64(k.odds1[k.look[i]])*0x1p-64
			}
			require.InDelta(t, want, moves, 1e-15)
		}
	}
	x, info, e, r := make([]int32, 7), make([]sampler.Info, 1), make([]float64, 1), sweeptest.Streams(1)
	require.NoError(t, k.Reset(sampler.Control{}, x))
	sum := 0.0
	for range 500 {
		k.Step(sampler.Control{}, info, x, r)
		m.Energy(e, x)
		require.InDelta(t, e[0], info[0].Energy, 1e-9)
		require.LessOrEqual(t, info[0].Accept, 1.)
		sum += info[0].Accept
	}
	assert.Greater(t, sum, 100.)
}

func gibbsMatrix(k *gibbs, all [][]int32) *exact.Matrix {
	site := func(i int) *exact.Matrix {
		return exact.NewMatrix(len(all), func(x int, dst []float64) {
			if sweeptest.Stuck(k, all[x], x, dst) {
				return
			}
			y := append([]int32(nil), all[x]...)
			for l, p := range sweeptest.Conditional(HeatBath, k.w, k.Row(0, i, all[x])) {
				y[i] = int32(l)
				dst[exact.Index(y, k.Levels)] = p
			}
		})
	}
	if k.order == nil {
		var each []*exact.Matrix
		for i := range k.Sites {
			each = append(each, site(i))
		}
		mean := exact.NewMatrix(len(all), func(x int, dst []float64) {
			for _, m := range each {
				for y, p := range m.Row(x) {
					dst[y] += p / float64(k.Sites)
				}
			}
		})
		return sweeptest.Power(mean, k.Sites)
	}
	var p *exact.Matrix
	for _, i := range k.order {
		if p == nil {
			p = site(int(i))
			continue
		}
		p = p.Mul(site(int(i)))
	}
	return p
}

func metropolisMatrix(k *metropolis, all [][]int32) *exact.Matrix {
	q := 1 / float64(k.Sites*(k.Levels-1))
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		if sweeptest.Stuck(k, all[x], x, dst) {
			return
		}
		y := append([]int32(nil), all[x]...)
		for i, at := range all[x] {
			for l := range int32(k.Levels) {
				if l == at {
					continue
				}
				row := k.Row(0, i, all[x])
				a, _ := Accept(row[at]-row[l], 0, 0)
				y[i] = l
				dst[exact.Index(y, k.Levels)] += q * a
				y[i] = at
			}
		}
		sweeptest.Stay(dst, x)
	})
}

func TestMetropolisScansResume(t *testing.T) {
	ctx, ising := context.Background(), sweeptest.Complete(t, 9, 0.2, 0)
	rugged := exact.NewRugged(5, 2, 1, 0.5, 1)
	runs.Resume(t, ising, Metropolis{Scan: Systematic})
	runs.Resume(t, rugged, Metropolis{Scan: Systematic})
	_, ok := exact.Must(Metropolis{}.Kernel(ctx, exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.3, 0)), 1)).(*metropolis)
	require.True(t, ok)
}

// Sites one after the other, whatever the model is: the matrix of a step leaves π invariant, is
// reversible where sites are drawn at random, and is what steps do. Engines that remember
// conditionals do as much.
func TestSitesAreExact(t *testing.T) {
	exact.SkipUnderRace(t)
	withoutBits(t)
	spaces := map[string]energy.Model{
		"binary":   exact.NewRugged(5, 2, 1, 0.5, 1),
		"3-levels": exact.NewRugged(3, 3, 1, 0.5, 2),
		"holes":    exact.NewRugged(5, 2, 1, 0.5, 5).Holed(),
		"3-holes":  exact.NewRugged(4, 3, 1, 0.5, 6).Holed(),
		"steep":    exact.NewRugged(4, 2, 400, 0.5, 7),
	}
	if !testing.Short() {
		maps.Copy(spaces, exact.Library(t))
	}
	for space, m := range spaces {
		sites, levels := m.Shape()
		all := exact.States(sites, levels)
		pi, _ := exact.Law(m)
		_, graphical := energy.As[energy.Graphical](m)
		for name, method := range map[string]sampler.Method{
			"Gibbs": Gibbs{}, "Gibbs-random": Gibbs{Scan: Random}, "Gibbs-chromatic": Gibbs{Scan: Chromatic}, "Metropolis": Metropolis{Updates: 1}, "Metropolis-5": Metropolis{Updates: 5},
		} {
			if name == "Gibbs-chromatic" && !graphical {
				continue
			}
			t.Run(name+"/"+space, func(t *testing.T) {
				var p *exact.Matrix
				switch k := exact.Must(method.Kernel(context.Background(), m, 1)).(type) {
				case *gibbs:
					p = gibbsMatrix(k, all)
				case *metropolis:
					p = sweeptest.Power(metropolisMatrix(k, all), k.Updates)
				case *sparseGibbs:
					p = sparseMatrix(k, all)
				case *memoGibbs:
					p = memoMatrix(k, all)
				default:
					t.Fatalf("no matrix of %T", k)
				}
				assert.LessOrEqual(t, p.RowError(), 1e-12)
				assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
				if name != "Gibbs" && name != "Gibbs-chromatic" {
					assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-12)
				}
				exact.Transitions(t, sweeptest.Observed(t, m, method, sweeptest.Many(96), 7), p, exact.Rate)
			})
		}
	}
}

// BenchmarkMetropolis sweeps tori of two sizes, at random and in order.
func BenchmarkMetropolis(b *testing.B) {
	for _, side := range []int{64, 512} {
		for _, scan := range []Scan{Random, Systematic, Chromatic} {
			b.Run(fmt.Sprintf("side=%d/%v", side, scan), func(b *testing.B) {
				m := exact.Must(model.NewIsing(model.Lattice{side, side}, 0.3, 0))
				k := exact.Must(Metropolis{Scan: scan}.Kernel(context.Background(), m, 1))
				x, info, r := make([]int32, side*side), make([]sampler.Info, 1), sweeptest.Streams(1)
				if err := k.Reset(sampler.Control{}, x); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					k.Step(sampler.Control{}, info, x, r)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*side*side), "ns/update")
			})
		}
	}
}
