package cluster

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

var kite = []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: 1}, {I: 0, J: 2, W: 1}, {I: 2, J: 3, W: 1}, {I: 3, J: 4, W: 1}}

// spaces are small models of either sign, with competing bonds, with and without a
// field.
func spaces(t *testing.T) map[string]energy.Model {
	five := exact.Must(model.NewGraph(5, kite))
	four := exact.Must(model.NewGraph(4, kite[:4]))
	potts := func(coupling float64, field []float64) energy.Model {
		return exact.Must(model.NewPotts(four, 3, coupling, field))
	}
	h := []float64{0.3, -0.4, 0.9}
	return map[string]energy.Model{
		"ising":           exact.Must(model.NewIsing(five, 0.4, 0)),
		"ising-field":     exact.Must(model.NewIsing(five, 0.4, 0.3)),
		"antiferro":       exact.Must(model.NewIsing(five, -0.6, 0)),
		"antiferro-field": exact.Must(model.NewIsing(five, -0.6, -0.2)),
		"potts":           potts(0.8, nil),
		"potts-field":     potts(0.8, h),
		"antipotts":       potts(-0.8, nil),
		"antipotts-field": potts(-0.8, h),
		"free":            exact.Must(model.NewIsing(five, 0, 0.5)),
		"pairs":           pairModel(1),
		"pairs-sum":       exact.Must(energy.Sum(pairModel(2), exact.Must(model.NewIsing(five, 0.2, 0.1)))),
		"pairs-scaled":    exact.Must(energy.Scale(pairModel(3), 0.7)),
		"scaled":          exact.Must(energy.Scale(exact.Must(model.NewIsing(five, 0.4, 0.3)), 0.5)),
	}
}

// pairModel has five sites with couplings of either sign and fields of their own.
func pairModel(seed uint64) energy.Model {
	r := rand.New(rand.NewPCG(seed, 1))
	h := make([]float64, 5)
	for i := range h {
		h[i] = r.NormFloat64()
	}
	q := slices.Clone(kite)
	for i := range q {
		q[i].W = 3 * r.NormFloat64()
	}
	return exact.Must(model.NewQuadratic(5, q, model.Polynomial{Linear: h}))
}

func TestClustersLeaveTheirTargetInvariant(t *testing.T) {
	exact.SkipUnderRace(t)
	methods := map[string]sampler.Method{"swendsen-wang": SwendsenWang{}, "wolff": Wolff{}, "wolff-2": Wolff{Updates: 2}}
	for space, m := range spaces(t) {
		pi, _ := exact.Law(m)
		for name, method := range methods {
			t.Run(name+"/"+space, func(t *testing.T) {
				p := transition(exact.Must(method.Kernel(context.Background(), m, 1)))
				assert.LessOrEqual(t, p.RowError(), 1e-12)
				assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
				assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-12)
				if testing.Short() && space != "potts-field" {
					return
				}
				exact.Transitions(t, observed(t, m, method, 200), p, exact.Rate)
			})
		}
	}
}

// A twin with the bonds of half the coupling, and one that leaves the field out,
// must be found out.
func TestBrokenClustersAreFoundOut(t *testing.T) {
	for space, m := range spaces(t) {
		if space == "free" {
			continue
		}
		pi, _ := exact.Law(m)
		for _, method := range []sampler.Method{SwendsenWang{}, Wolff{}} {
			k := exact.Must(method.Kernel(context.Background(), m, 1))
			b := bondsOf(k)
			b.chance = 1 - math.Sqrt(1-b.chance)
			if b.pairs != nil {
				for n, c := range b.pairs.chance {
					b.pairs.chance[n] = 1 - math.Sqrt(1-c)
				}
			}
			assert.Greater(t, transition(k).MaxDiff(pi), 1e-4, "%s, half the bonds", space)
		}
		k := exact.Must(Wolff{}.Kernel(context.Background(), m, 1)).(*wolff)
		if k.pairs != nil {
			clear(k.pairs.field)
			assert.Greater(t, transition(k).MaxDiff(pi), 1e-3, "%s, no field", space)
			continue
		}
		if k.field[0] == k.field[1] {
			continue
		}
		k.field = make([]float64, k.Levels)
		assert.Greater(t, transition(k).MaxDiff(pi), 1e-3, "%s, no field", space)
	}
}

func bondsOf(k sampler.Kernel) *bonds {
	if w, ok := k.(*wolff); ok {
		return w.bonds
	}
	return k.(*swendsenWang).bonds
}

// transition returns the matrix of a step, by a sum over all sets of bonds and with
// the numbers that the kernel decides by.
func transition(k sampler.Kernel) *exact.Matrix {
	b := bondsOf(k)
	all := exact.States(b.Sites, b.Levels)
	pairs := [][2]int32{{0, 1}}
	for l := int32(2); int(l) < b.Levels; l++ {
		for m := range l {
			pairs = append(pairs, [2]int32{m, l})
		}
	}
	p := exact.NewMatrix(len(all), func(x int, dst []float64) {
		state := all[x]
		each := func(partner func(i, j int32) bool, share float64, move func(q float64, cluster []int)) {
			b.subsets(state, partner, func(q float64, cluster []int) { move(share*q, cluster) })
		}
		equal := func(i, j int32) bool { return i == j }
		switch k := k.(type) {
		case *wolff:
			for seed, a := range state {
				for l := range int32(b.Levels) {
					if l == a {
						continue
					}
					partner := equal
					if b.unequal {
						partner = func(i, j int32) bool { return i != j && (i == a || i == l) && (j == a || j == l) }
					}
					each(partner, 1/float64(b.Sites*(b.Levels-1)), func(q float64, cluster []int) {
						k.cluster = k.cluster[:0]
						y := append([]int32(nil), state...)
						for i, c := range cluster {
							if c == cluster[seed] {
								k.cluster = append(k.cluster, int32(i))
								y[i] = a + l - y[i]
							}
						}
						accept := k.accepts(a, l, state)
						dst[exact.Index(y, b.Levels)] += q * accept
						dst[x] += q * (1 - accept)
					})
				}
			}
		case *swendsenWang:
			if b.pairs != nil {
				each(equal, 1, func(q float64, cluster []int) { k.flipped(dst, append([]int32(nil), state...), cluster, 0, q) })
				return
			}
			if !b.unequal {
				each(equal, 1, func(q float64, cluster []int) { k.spread(dst, append([]int32(nil), state...), cluster, 0, q) })
				return
			}
			for _, ab := range pairs {
				in := func(i int32) bool { return i == ab[0] || i == ab[1] }
				partner := func(i, j int32) bool { return i != j && in(i) && in(j) }
				each(partner, 1/float64(len(pairs)), func(q float64, cluster []int) {
					k.swapped(dst, append([]int32(nil), state...), cluster, 0, ab, q)
				})
			}
		}
	})
	if w, ok := k.(*wolff); ok {
		one := p
		for range w.Updates - 1 {
			p = p.Mul(one)
		}
	}
	return p
}

// subsets calls f for every set of bonds of x with its probability and the cluster
// of every site, named by its lowest one.
func (b *bonds) subsets(x []int32, partner func(i, j int32) bool, f func(q float64, cluster []int)) {
	var open [][2]int
	var chance []float64
	for i := range x {
		for n := b.start[i]; n < b.start[i+1]; n++ {
			j, c := b.adj[n], b.chance
			may := b.pairs == nil && partner(x[i], x[j])
			if b.pairs != nil {
				may, c = x[i]^x[j] == b.pairs.unequal[n], b.pairs.chance[n]
			}
			if int(j) > i && may {
				open, chance = append(open, [2]int{i, int(j)}), append(chance, c)
			}
		}
	}
	for set := range 1 << len(open) {
		q, cluster := 1.0, make([]int, len(x))
		for i := range cluster {
			cluster[i] = i
		}
		for n, e := range open {
			if set>>n&1 == 0 {
				q *= 1 - chance[n]
				continue
			}
			q *= chance[n]
			low, high := min(cluster[e[0]], cluster[e[1]]), max(cluster[e[0]], cluster[e[1]])
			for i, c := range cluster {
				if c == high {
					cluster[i] = low
				}
			}
		}
		f(q, cluster)
	}
}

// spread adds to dst the states after all clusters from number c on have drawn
// levels.
func (k *swendsenWang) spread(dst []float64, x []int32, cluster []int, c int, q float64) {
	if c == len(x) {
		dst[exact.Index(x, k.Levels)] += q
		return
	}
	n := int32(0)
	for _, d := range cluster {
		if d == c {
			n++
		}
	}
	if n == 0 {
		k.spread(dst, x, cluster, c+1, q)
		return
	}
	for l := range k.Levels {
		p := 1 / float64(k.Levels)
		if !k.flat {
			total := k.weigh(n)
			p = k.w[l] / total
		}
		for i, d := range cluster {
			if d == c {
				x[i] = int32(l)
			}
		}
		k.spread(dst, x, cluster, c+1, q*p)
	}
}

// flipped is spread for clusters that flip in fields of their own; x is changed and restored.
func (k *swendsenWang) flipped(dst []float64, x []int32, cluster []int, c int, q float64) {
	if c == len(x) {
		dst[exact.Index(x, 2)] += q
		return
	}
	gain, member := 0.0, false
	flip := func() {
		for i, d := range cluster {
			if d == c {
				x[i] = 1 - x[i]
			}
		}
	}
	for i, d := range cluster {
		if d == c {
			gain, member = gain+k.pairs.gain(int32(i), x[i]), true
		}
	}
	if !member {
		k.flipped(dst, x, cluster, c+1, q)
		return
	}
	p := simd.Sigmoid(gain)
	k.flipped(dst, x, cluster, c+1, q*(1-p))
	flip()
	k.flipped(dst, x, cluster, c+1, q*p)
	flip()
}

// swapped is spread for clusters that swap two levels; x is changed and restored.
func (k *swendsenWang) swapped(dst []float64, x []int32, cluster []int, c int, ab [2]int32, q float64) {
	if c == len(x) {
		dst[exact.Index(x, k.Levels)] += q
		return
	}
	n, member := int32(0), false
	for i, d := range cluster {
		switch {
		case d != c:
		case x[i] == ab[0]:
			n, member = n+1, true
		case x[i] == ab[1]:
			n, member = n-1, true
		}
	}
	if !member {
		k.swapped(dst, x, cluster, c+1, ab, q)
		return
	}
	p := k.swaps(n, ab[0], ab[1])
	k.swapped(dst, x, cluster, c+1, ab, q*(1-p))
	flip := func() {
		for i, d := range cluster {
			if d == c {
				x[i] = ab[0] + ab[1] - x[i]
			}
		}
	}
	flip()
	k.swapped(dst, x, cluster, c+1, ab, q*p)
	flip()
}

// observed steps the method from every state and counts where it went; what it
// reports is compared with the states.
func observed(t *testing.T, m energy.Model, method sampler.Method, draws int) [][]int {
	const chains = sampler.BlockSize
	sites, levels := m.Shape()
	all, counts := exact.States(sites, levels), [][]int{}
	k := exact.Must(method.Kernel(context.Background(), m, chains))
	streams, info, e := make([]sampler.Stream, chains), make([]sampler.Info, chains), make([]float64, chains)
	for i := range streams {
		streams[i] = *sampler.NewStream(7, uint64(i))
	}
	x := make([]int32, chains*sites)
	for _, from := range all {
		count := make([]int, len(all))
		for range (draws + chains - 1) / chains {
			for s := range chains {
				copy(x[s*sites:], from)
			}
			require.NoError(t, k.Reset(sampler.Control{}, x))
			k.Step(sampler.Control{}, info, x, streams)
			exact.Tally(count, x, sites, levels)
			m.Energy(e, x)
			for s := range info {
				require.Equal(t, e[s], info[s].Energy)
			}
		}
		counts = append(counts, count)
	}
	return counts
}

func TestStepsAllocateNothing(t *testing.T) {
	m := exact.Must(model.NewPotts(model.Lattice{6, 6}, 3, 0.9, []float64{0, 0.1, 0}))
	for _, method := range []sampler.Method{SwendsenWang{}, Wolff{Updates: 3}} {
		k := exact.Must(method.Kernel(context.Background(), m, 2))
		x, info := make([]int32, 72), make([]sampler.Info, 2)
		r := []sampler.Stream{*sampler.NewStream(1, 0), *sampler.NewStream(1, 1)}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		exact.Steady(t, "Step", func() { k.Step(sampler.Control{}, info, x, r) })
	}
}

// Moved is the number of sites that changed, of a step of one cluster or of many.
func TestMovesAreCounted(t *testing.T) {
	for space, m := range spaces(t) {
		for _, method := range []sampler.Method{SwendsenWang{}, Wolff{}} {
			k := exact.Must(method.Kernel(context.Background(), m, 1))
			sites, _ := m.Shape()
			x, info, r := make([]int32, sites), make([]sampler.Info, 1), []sampler.Stream{*sampler.NewStream(3, 1)}
			require.NoError(t, k.Reset(sampler.Control{}, x))
			moved := 0
			for range 200 {
				was, changed := append([]int32(nil), x...), 0
				k.Step(sampler.Control{}, info, x, r)
				for i := range x {
					if x[i] != was[i] {
						changed++
					}
				}
				require.Equal(t, changed, info[0].Moved, space)
				moved += changed
			}
			require.Positive(t, moved, space)
		}
	}
}

func TestMethodsRefuseWhatTheyCannotDo(t *testing.T) {
	odd := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) }}
	ising := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.2, 0))
	ctx := context.Background()
	for _, method := range []sampler.Method{SwendsenWang{}, Wolff{}} {
		_, err := method.Kernel(ctx, odd, 1)
		require.ErrorContains(t, err, "want an energy.Matching one")
		_, err = method.Kernel(ctx, ising, sampler.BlockSize+1)
		require.Error(t, err)
		_, err = method.Kernel(ctx, nil, 1)
		require.Error(t, err)
		_, err = method.Kernel(ctx, exact.Must(energy.Clamp(ising, map[int]int32{0: 1})), 1)
		require.Error(t, err)
		k := exact.Must(method.Kernel(ctx, ising, 1))
		require.ErrorContains(t, k.UnmarshalBinary([]byte{1}), "too short")
	}
	_, err := Wolff{Updates: -1}.Kernel(ctx, ising, 1)
	require.ErrorContains(t, err, "Updates = -1, want ≥ 0")
}

// A run that is saved and resumed has the bits of one that is not.
func TestRunsResume(t *testing.T) {
	m := exact.Must(model.NewPotts(model.Lattice{4, 5}, 3, 0.7, nil))
	for _, method := range []sampler.Method{SwendsenWang{}, Wolff{Updates: 2}} {
		run := func(n int, from []byte) (*sampler.Chains, []byte) {
			c := exact.Must(sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 5, Seed: 3, Warmup: 4}))
			if from != nil {
				require.NoError(t, c.Load(context.Background(), bytes.NewReader(from)))
			}
			require.NoError(t, c.Run(context.Background(), n))
			var b bytes.Buffer
			require.NoError(t, c.Save(&b))
			return c, b.Bytes()
		}
		whole, _ := run(30, nil)
		_, half := run(12, nil)
		resumed, _ := run(18, half)
		assert.Equal(t, whole.States(), resumed.States())
	}
}

// What a step costs grows with sites, edges and the sizes of clusters, and is NaN where
// the base of Houdayer does not say.
func TestCosts(t *testing.T) {
	cost := func(method sampler.Method, sites int, info ...sampler.Info) float64 {
		m := exact.Must(model.NewIsing(model.FreeLattice{sites, sites}, 0.4, 0.1))
		k := exact.Must(method.Kernel(context.Background(), m, len(info)))
		return k.(sampler.Costed).Cost(info)
	}
	for _, method := range []sampler.Method{SwendsenWang{}, Houdayer{}} {
		one := cost(method, 3, sampler.Info{})
		assert.Greater(t, one, 0.)
		assert.InDelta(t, 2*one, cost(method, 3, sampler.Info{}, sampler.Info{}), 1e-9*one)
		assert.Greater(t, cost(method, 6, sampler.Info{}), 3*one)
	}
	small, large := cost(Wolff{}, 5, sampler.Info{Accept: 1, Moved: 2}), cost(Wolff{}, 5, sampler.Info{Accept: 1, Moved: 20})
	assert.Greater(t, large, small)
	assert.Equal(t, large, cost(Wolff{}, 5, sampler.Info{Accept: 0.5, Moved: 10}), "rejected ones count as large")
	assert.True(t, math.IsNaN(cost(Houdayer{Base: silent{}}, 3, sampler.Info{})))
}

// silent is a method whose kernels do not say what a step costs.
type silent struct{}

func (silent) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k, err := SwendsenWang{}.Kernel(ctx, m, chains)
	return struct{ sampler.Kernel }{k}, err
}
