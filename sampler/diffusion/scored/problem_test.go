package scored_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// mlp is a score that no language knows: s(x) = a·tanh(W·Σ_i pos_i·E[x_i]), an
// embedding of 8 and 16 units. As a set it is s(x) − tau ≤ 0.
type mlp struct {
	sites, levels int
	embed, w, a   []float64
	pos           []float64
	tau           float64
	asked         func(states int)
	table         []float64 // all scores, by exact.Index, if enumerable
}

const embedding, units = 8, 16

func newMLP(r *rand.Rand, sites, levels int) *mlp {
	normal := func(n int, sd float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = sd * r.NormFloat64()
		}
		return v
	}
	m := &mlp{sites: sites, levels: levels, embed: normal(levels*embedding, 1), w: normal(units*embedding, 2), a: normal(units, 1.5)}
	for range sites {
		m.pos = append(m.pos, (.5+r.Float64())/math.Sqrt(float64(sites)))
	}
	return m
}

// surrogate is the same network with perturbed weights.
func (m *mlp) surrogate(r *rand.Rand, share float64) *mlp {
	perturb := func(v []float64) []float64 {
		norm := 0.0
		for _, a := range v {
			norm += a * a
		}
		v = slices.Clone(v)
		for i := range v {
			v[i] += share * math.Sqrt(norm/float64(len(v))) * r.NormFloat64()
		}
		return v
	}
	s := *m
	s.embed, s.w, s.a = perturb(m.embed), perturb(m.w), perturb(m.a)
	return &s
}

func (m *mlp) score(x []int32) float64 {
	if m.table != nil {
		k := 0
		for i := len(x) - 1; i >= 0; i-- {
			k = k*m.levels + int(x[i])
		}
		return m.table[k]
	}
	var e [embedding]float64
	for i, l := range x {
		for d := range e {
			e[d] += m.pos[i] * m.embed[int(l)*embedding+d]
		}
	}
	s := 0.0
	for j, a := range m.a {
		u := 0.0
		for d, v := range e {
			u += m.w[j*embedding+d] * v
		}
		s += a * math.Tanh(u)
	}
	return s
}

func (m *mlp) Len() int { return 1 }

func (m *mlp) Violation(g []float64, x []int32) {
	if m.asked != nil {
		m.asked(len(g))
	}
	for s := range g {
		g[s] = m.score(x[s*m.sites:(s+1)*m.sites]) - m.tau
	}
}

// problem is a denoiser, a score and a threshold that a share of samples meets.
type problem struct {
	sites, levels int // levels without the mask
	denoiser      energy.Denoiser[int32]
	judge, guide  *mlp
	calls         int
	law           []float64 // of x given the set, by exact.Index, if enumerable
	share         float64   // P(set), if enumerable
}

func softRow(r *rand.Rand, n int) []float64 {
	p, total := make([]float64, n), 0.0
	for i := range p {
		p[i] = math.Exp(r.NormFloat64())
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

// newProblem makes a random chain (independent tokens where the vocabulary is
// large) with a random score at a quantile. A power other than 1 makes the
// denoiser inconsistent: its rows are raised to it.
func newProblem(t testing.TB, seed uint64, sites, levels int, quantile, power float64, enumerable bool) *problem {
	r := rand.New(rand.NewPCG(seed, 9))
	p := &problem{sites: sites, levels: levels, judge: newMLP(r, sites, levels)}
	p.guide = p.judge.surrogate(r, .3)
	var draw func(x []int32)
	pick := func(p []float64) int32 {
		u := r.Float64()
		for l, v := range p {
			if u -= v; u < 0 {
				return int32(l)
			}
		}
		return int32(len(p) - 1)
	}
	if levels > 100 {
		row := softRow(r, levels)
		m := exact.Must(model.NewIndependent(slices.Repeat(logs(row), sites), levels))
		p.denoiser = exact.Must(denoise.NewIndependent(m, denoise.Absorbing))
		draw = func(x []int32) {
			for i := range x {
				x[i] = pick(row)
			}
		}
	} else {
		start, trans := softRow(r, levels), []float64(nil)
		for range levels {
			trans = append(trans, softRow(r, levels)...)
		}
		p.denoiser = exact.Must(denoise.NewMarkov(exact.Must(model.NewMarkov(sites, levels, 1, start, trans)), denoise.Absorbing))
		draw = func(x []int32) {
			q := start
			for i := range x {
				x[i] = pick(q)
				q = trans[int(x[i])*levels : (int(x[i])+1)*levels]
			}
		}
	}
	if power != 1 {
		p.denoiser = tempered{p.denoiser, float32(power)}
	}
	if enumerable {
		p.enumerate(t, quantile)
	} else {
		s, x := make([]float64, 20_000), make([]int32, sites)
		for k := range s {
			draw(x)
			s[k] = p.judge.score(x)
		}
		slices.Sort(s)
		p.judge.tau = s[int(quantile*float64(len(s)))]
	}
	p.guide.tau = p.judge.tau
	inner := p.denoiser
	p.denoiser = energy.DenoiserFunc[int32]{Sites: sites, Levels: levels + 1, IgnoresTime: true,
		F: func(ctx context.Context, v []float32, q energy.Noised[int32]) error {
			p.calls += len(q.Time)
			return inner.Denoise(ctx, v, q)
		}}
	return p
}

func logs(p []float64) []float64 {
	w := make([]float64, len(p))
	for i, v := range p {
		w[i] = math.Log(v)
	}
	return w
}

// tempered is a denoiser whose rows fit no joint distribution.
type tempered struct {
	energy.Denoiser[int32]
	power float32
}

func (d tempered) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	err := d.Denoiser.Denoise(ctx, v, q)
	for i := range v {
		v[i] *= d.power
	}
	return err
}

// enumerate finds the distribution of first hitting over all masked states, with
// package math, and from it the threshold and what is to be sampled.
func (p *problem) enumerate(t testing.TB, quantile float64) {
	mask, k := int32(p.levels), p.levels+1
	size := exact.Size(p.sites, k)
	reach := make([]float64, size)
	all := slices.Repeat([]int32{mask}, p.sites)
	reach[exact.Index(all, k)] = 1
	// By the number of masks, downwards: every state comes after what leads to it.
	byMasks := make([][]int, p.sites+1)
	for i, x := range exact.States(p.sites, k) {
		n := 0
		for _, l := range x {
			if l == mask {
				n++
			}
		}
		byMasks[n] = append(byMasks[n], i)
	}
	power := make([]int, p.sites)
	for i := range power {
		power[i] = 1
		for range i {
			power[i] *= k
		}
	}
	state := func(index int) []int32 {
		x := make([]int32, p.sites)
		for i := range x {
			x[i] = int32(index / power[i] % k)
		}
		return x
	}
	v := make([]float32, p.sites*k)
	one := energy.Noised[int32]{Time: []float64{.5}, Alpha: []float64{.5}, Sample: []int{0}, Src: make([]rand.Source, 1)}
	for n := p.sites; n > 0; n-- {
		for _, i := range byMasks[n] {
			if reach[i] == 0 {
				continue
			}
			one.X = state(i)
			require.NoError(t, p.denoiser.Denoise(context.Background(), v, one))
			for j, l := range one.X {
				if l != mask {
					continue
				}
				row, total := make([]float64, p.levels), 0.0
				for l := range row {
					row[l] = math.Exp(float64(v[j*k+l]))
					total += row[l]
				}
				for l, w := range row {
					reach[i+(l-int(mask))*power[j]] += reach[i] / float64(n) * w / total
				}
			}
		}
	}
	type member struct {
		index    int
		p, score float64
	}
	var members []member
	for i, x := range exact.States(p.sites, p.levels) {
		members = append(members, member{i, reach[exact.Index(x, k)], p.judge.score(x)})
	}
	p.judge.table = make([]float64, len(members))
	for _, m := range members {
		p.judge.table[m.index] = m.score
	}
	slices.SortFunc(members, func(a, b member) int {
		if a.score < b.score {
			return -1
		}
		return 1
	})
	p.law = make([]float64, len(members))
	for _, m := range members {
		p.share += m.p
		p.law[m.index] = m.p
		p.judge.tau = m.score
		if p.share >= quantile {
			break
		}
	}
	for i := range p.law {
		p.law[i] /= p.share
	}
}

// variation is the total variation distance of samples from the law.
func (p *problem) variation(x []int32) float64 {
	n := len(x) / p.sites
	count := make([]float64, len(p.law))
	for ; len(x) > 0; x = x[p.sites:] {
		count[exact.Index(x[:p.sites], p.levels)]++
	}
	tv := 0.0
	for i, c := range count {
		tv += math.Abs(c/float64(n) - p.law[i])
	}
	return tv / 2
}

// noise is the mean of that distance for n exact draws.
func (p *problem) noise(n int) float64 {
	r := rand.New(rand.NewPCG(4, 4))
	sum := make([]float64, len(p.law))
	reached := 0.0
	for i, v := range p.law {
		reached += v
		sum[i] = reached
	}
	const sets = 20
	mean := 0.0
	for range sets {
		count := make([]float64, len(p.law))
		for range n {
			k, _ := slices.BinarySearch(sum, r.Float64()*reached)
			count[min(k, len(count)-1)]++
		}
		for i, c := range count {
			mean += math.Abs(c/float64(n)-p.law[i]) / 2
		}
	}
	return mean / sets
}
