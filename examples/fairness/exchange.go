package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// exchange is a sampler.Method: in every shift, as often as it needs nurses, it proposes that
// one of those who work changes places with one of those who do not and could, both drawn
// uniformly, and accepts with probability min(1, exp(E(x) − E(y))). Chains stay where shifts
// have what they need, and reach all of that. mcmc.Swap is the same for any language, which
// it has to ask about pairs of sites, most of them in two shifts.
type exchange struct {
	*roster
	tired float64
}

// Kernel implements [sampler.Method]. The model must be that of the roster, plus sums over
// sites.
func (e exchange) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	c, ok := energy.As[energy.Conditional](m)
	if !ok {
		return nil, fmt.Errorf("exchange: %T has no differences of energy at a site", m)
	}
	n := len(e.nurses)
	k := &exchanges{exchange: e, m: c, e: make([]float64, chains), work: make([]int, n+1), idle: make([]int, n+1), about: make([]int32, n)}
	for _, s := range e.shifts {
		var can []int
		for i, c := range s.cost {
			if !math.IsInf(c, 1) {
				can = append(can, i)
			}
		}
		k.can = append(k.can, can)
	}
	k.Keep(k.e)
	return k, nil
}

type exchanges struct {
	sampler.Base
	exchange
	m          energy.Conditional
	field      []float64  // what a 1 at a site costs where the shifts about it are empty
	empty      [1]float64 // the energy of empty shifts
	e          []float64
	can        [][]int // who can come, by shift
	work, idle []int   // of one shift
	about      []int32 // shifts of each nurse that are next to it
}

// Reset implements [sampler.Transition].
func (k *exchanges) Reset(_ sampler.Control, x []int32) error {
	k.load()
	e := k.e[:len(x)/k.sites()]
	for s := range e {
		e[s] = k.empty[0] + k.sum(k.field, k.tired, x[s*k.sites():(s+1)*k.sites()])
	}
	return sampler.CheckStart(e)
}

// load reads the field at the present multipliers.
func (k *exchanges) load() {
	var d [2]float64
	empty := make([]int32, k.sites())
	k.m.Energy(k.empty[:], empty)
	k.field = k.field[:0]
	for i := range empty {
		k.m.Conditional(d[:], i, empty)
		k.field = append(k.field, d[1])
	}
}

// Step implements [sampler.Transition].
func (k *exchanges) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if k.field == nil { // after a resume
		k.load()
	}
	for s := range info {
		info[s] = sampler.Info{}
		row, tried := x[s*k.sites():(s+1)*k.sites()], 0
		for t := range k.shifts {
			tried += k.shift(s, &info[s], t, row, &r[s])
		}
		info[s].Accept /= float64(max(tried, 1))
		info[s].Energy = k.e[s]
	}
	return 1
}

// shift makes the proposals of one shift and returns their number. Numbers are those of
// nurses.
func (k *exchanges) shift(s int, info *sampler.Info, t int, x []int32, r *sampler.Stream) (tried int) {
	n := len(k.nurses)
	row, field, near := x[t*n:(t+1)*n], k.field[t*n:(t+1)*n], k.near(t, x)
	work, idle := 0, 0
	for _, i := range k.can[t] { // without a branch, which nobody can predict
		k.work[work], k.idle[idle] = i, i
		work += int(row[i])
		idle += 1 - int(row[i])
	}
	if idle == 0 {
		return 0
	}
	for range work {
		i, j := r.IntN(work), r.IntN(idle)
		out, in := k.work[i], k.idle[j]
		change := field[in] - field[out] + float64(k.tired*float64(near[in]-near[out])) // pairs are between shifts
		a := 1.0
		if change > 0 {
			a = simd.Exp(-change)
		}
		info.Accept += a
		if r.Float64() >= a {
			continue
		}
		row[out], row[in] = 0, 1
		k.work[i], k.idle[j] = in, out
		k.e[s] += change
		info.Moved += 2
	}
	return work
}

// near counts the neighbours of a shift that each nurse works: none, one or two.
func (k *exchanges) near(t int, x []int32) []int32 {
	n := len(k.nurses)
	clear(k.about)
	if t > 0 {
		copy(k.about, x[(t-1)*n:t*n])
	}
	if t+1 < len(k.shifts) {
		for i, v := range x[(t+1)*n : (t+2)*n] {
			k.about[i] += v
		}
	}
	return k.about
}

// sum is the energy of a roster, relative to one of empty shifts: what nurses cost at sites,
// and two shifts in a row.
func (r *roster) sum(cost []float64, tired float64, x []int32) (e float64) {
	n := len(r.nurses)
	for at, v := range x {
		if v == 1 {
			e += cost[at]
			if at >= n && x[at-n] == 1 {
				e += tired
			}
		}
	}
	return e
}

// starts returns rosters for so many chains that give every shift what it needs.
func (r *roster) starts(chains int, seed uint64) []int32 {
	x := make([]int32, chains*r.sites())
	for c := range chains {
		g := rand.New(rand.NewPCG(seed, uint64(c)))
		for t, s := range r.shifts {
			missing := s.need
			for _, i := range g.Perm(len(r.nurses)) {
				if missing > 0 && !math.IsInf(s.cost[i], 1) {
					x[c*r.sites()+t*len(r.nurses)+i] = 1
					missing--
				}
			}
		}
	}
	return x
}

// bounds is a constraint.Set of limits: their values are sums of few sites, and as models
// they are tables, which kernels read fast.
type bounds struct {
	*roster
	limits []limit
}

var _ dual.Modelled = bounds{}

// Len implements constraint.Set.
func (b bounds) Len() int { return len(b.limits) }

// Violation implements constraint.Set.
func (b bounds) Violation(g []float64, x []int32) {
	n, sites := len(b.limits), b.sites()
	for s := 0; s*sites < len(x); s++ {
		b.violations(g[s*n:(s+1)*n], b.limits, x[s*sites:(s+1)*sites])
	}
}

// Constraints implements dual.Modelled.
func (b bounds) Constraints(_, _ int) ([]dual.Constraint[int32], error) {
	var all []dual.Constraint[int32]
	for _, l := range b.limits {
		m, err := b.counted(l)
		if err != nil {
			return nil, err
		}
		all = append(all, dual.AtMost(m, l.most).Named(l.name, "shifts", l.tol))
	}
	return all, nil
}
