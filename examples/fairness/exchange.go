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

// exchange is a [sampler.Method] that redraws one shift after another from its conditional
// distribution given the others. A shift needs exactly k nurses, and all choices of k are summed
// exactly (Chen, Dempster and Liu 1994). Let w_i be the weight of nurse i in the shift. The sum
// R(k, i) over the choices of k of the nurses from i on satisfies
//
//	R(k, i) = R(k, i+1) + w_i·R(k−1, i+1).
//
// If k nurses are still missing, nurse i is chosen with probability w_i·R(k−1, i+1)/R(k, i).
// From valid rosters the chains visit only valid rosters, and can reach all of them.
// mcmc.BlockGibbs does the same for any language.
//
// Where the weights of a shift differ too much for their products to be represented, exchange
// proposes swaps instead. As often as the shift needs nurses, it draws a nurse who works and one
// who is available but idle. It swaps them with probability min(1, exp(E(x) − E(y))).
type exchange struct {
	*roster
	tired float64
}

// Kernel returns the kernel that redraws shifts. The energy of the model m must be that of the
// roster plus a sum of terms of single sites. It implements [sampler.Method].
func (e exchange) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	c, ok := energy.As[energy.Conditional](m)
	if !ok {
		return nil, fmt.Errorf("exchange: %T has no differences of energy at a site", m)
	}
	n := len(e.nurses)
	k := &exchanges{exchange: e, reach: far, m: c, e: make([]float64, chains), work: make([]int, n+1), idle: make([]int, n+1), about: make([]int32, n), chances: make([]float64, n), table: make([]float64, (n+1)*(n+1))}
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
	m      energy.Conditional
	field  []float64 // energy of a 1 at each site when the adjacent shifts are empty
	weight []float64 // exp(−field), relative to the largest weight of the shift
	reach  float64   // maximum log-ratio of products of weights for which draw is used
	apart  []bool    // per shift: whether its log-ratio exceeds reach, so that swap is used
	// factor of a weight if the nurse works none, one or two of the adjacent shifts
	tire       [3]float64
	table      []float64  // table R of the recursion
	empty      [1]float64 // energy of the roster with all shifts empty
	e          []float64
	can        [][]int   // nurses who are available for each shift
	work, idle []int     // nurses who work, and available nurses who do not, in one shift
	about      []int32   // number of adjacent shifts that each nurse works
	chances    []float64 // weights of the available nurses
}

// Reset computes the energies of the initial rosters. It implements [sampler.Transition].
func (k *exchanges) Reset(_ sampler.Control, x []int32) error {
	k.load()
	e := k.e[:len(x)/k.sites()]
	for s := range e {
		e[s] = k.empty[0] + k.sum(k.field, k.tired, x[s*k.sites():(s+1)*k.sites()])
	}
	return sampler.CheckStart(e)
}

// load reads the field from the model at the current multipliers.
func (k *exchanges) load() {
	var d [2]float64
	empty := make([]int32, k.sites())
	k.m.Energy(k.empty[:], empty)
	k.field = k.field[:0]
	for i := range empty {
		k.m.Conditional(d[:], i, empty)
		k.field = append(k.field, d[1])
	}
	k.scale()
}

// far is about half of the largest logarithm that a float64 can represent.
const far = 350

// scale computes the weights from the current field.
func (k *exchanges) scale() {
	n := len(k.nurses)
	k.weight, k.apart = k.weight[:0], k.apart[:0]
	for i := range k.tire {
		k.tire[i] = simd.Exp(-k.tired * float64(i))
	}
	for t, s := range k.shifts {
		low, high := math.Inf(1), math.Inf(-1)
		for _, i := range k.can[t] {
			low, high = min(low, k.field[t*n+i]), max(high, k.field[t*n+i])
		}
		for i := range n {
			k.weight = append(k.weight, simd.Exp(low-k.field[t*n+i]))
		}
		k.apart = append(k.apart, float64(s.need)*(high-low+2*math.Abs(k.tired)) > k.reach)
	}
}

// Step redraws the nurses of every shift, in every chain. It implements [sampler.Transition].
func (k *exchanges) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if k.field == nil { // after a resume
		k.load()
	}
	for s := range info {
		info[s] = sampler.Info{}
		row, tried := x[s*k.sites():(s+1)*k.sites()], 0
		for t := range k.shifts {
			if k.apart[t] {
				tried += k.swap(s, &info[s], t, row, &r[s])
			} else {
				tried += k.draw(s, &info[s], t, row, &r[s])
			}
		}
		info[s].Accept /= float64(max(tried, 1))
		info[s].Energy = k.e[s]
	}
	return 1
}

// draw redraws shift t. It returns 1, or 0 if only one choice of nurses is possible.
func (k *exchanges) draw(s int, info *sampler.Info, t int, x []int32, r *sampler.Stream) int {
	n, need, can := len(k.nurses), k.shifts[t].need, k.can[t]
	if need == 0 || need == len(can) {
		return 0
	}
	row, field, near := x[t*n:(t+1)*n], k.field[t*n:(t+1)*n], k.near(t, x)
	w := k.chances[:len(can)]
	for at, i := range can {
		w[at] = k.weight[t*n+i] * k.tire[near[i]]
	}
	wide := need + 1 // R(k, i) is at i·wide + k
	from := k.table[len(can)*wide : (len(can)+1)*wide]
	clear(from)
	from[0] = 1
	for at := len(w) - 1; at >= 0; at-- {
		to := k.table[at*wide : (at+1)*wide]
		to[0] = 1
		for c, r := range from[1:] {
			to[c+1] = r + float64(w[at]*from[c])
		}
		from = to
	}
	missing := need
	u := r.Float64() * from[missing] // uniform below R(missing, i), for every i
	e, moved := k.e[s], int32(0)
	for at, i := range can {
		v := int32(0)
		if missing > 0 {
			below := k.table[(at+1)*wide : (at+2)*wide]
			if c := float64(w[at] * below[missing-1]); u < c || below[missing] == 0 {
				u /= w[at]
				v = 1
				missing--
			} else {
				u -= c
			}
		}
		change := v - row[i] // without a branch, which nobody can predict
		e += float64(float64(change) * (field[i] + float64(k.tired*float64(near[i]))))
		row[i] = v
		moved += change & 1
	}
	k.e[s] = e
	info.Moved += int(moved)
	info.Accept++
	return 1
}

// swap proposes exchanges of nurses in shift t and returns the number of proposals. Numbers of
// nurses are indices of roster.nurses.
func (k *exchanges) swap(s int, info *sampler.Info, t int, x []int32, r *sampler.Stream) (tried int) {
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

// near returns how many of the shifts adjacent to t each nurse works: 0, 1 or 2.
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

// sum returns the energy of a roster relative to that of empty shifts: the cost of each occupied
// site plus tired for each pair of consecutive shifts of a nurse.
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

// starts returns random rosters, one per chain, that give every shift the nurses it needs.
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

// bounds is a [constraint.Set] of limits on the rosters' sums. As a [dual.Modelled] set it also
// provides its values as models, so that kernels can read them from tables.
type bounds struct {
	*roster
	limits []limit
}

var _ dual.Modelled = bounds{}

// Len returns the number of limits on nurses' shifts and nights. It implements constraint.Set.
func (b bounds) Len() int { return len(b.limits) }

// Violation stores in g the amounts by which the rosters in x exceed the limits. It implements
// constraint.Set.
func (b bounds) Violation(g []float64, x []int32) {
	n, sites := len(b.limits), b.sites()
	for s := 0; s*sites < len(x); s++ {
		b.violations(g[s*n:(s+1)*n], b.limits, x[s*sites:(s+1)*sites])
	}
}

// Constraints returns the limits as constraints on models. It implements dual.Modelled.
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
