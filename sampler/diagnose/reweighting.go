package diagnose

import (
	"fmt"
	"math"
	"slices"
)

// Average is an estimate of an expectation, or of a function of expectations, at one temperature.
type Average struct {
	Value float64
	SE    float64 // standard error of Value, including the effect of autocorrelation
	// ESS is the effective number of draws, (Σw)²/Σw², where w are the weights in [Reweighting]. It
	// does not account for autocorrelation.
	ESS float64
}

// Reweighting estimates the expectation of a function A at any inverse temperature β. The draws are
// from a ladder of inverse temperatures β_k, and β must lie within its range. It combines the draws
// of all β_k by MBAR (Shirts and Chodera 2008):
//
//	⟨A⟩_β = Σ_n w_n A_n / Σ_n w_n,   w_n = exp(−βE_n) / Σ_k N_k exp(f_k − β_k E_n).
//
// Here A_n and E_n are the values of A and of the energy at draw n. N_k is the number of draws at
// β_k, and f_k is the free energy there.
//
// Standard errors include the uncertainty of the f_k. The errors are estimated from the variation
// between at least 32 parts of the run. Each part is a chain or a stretch of one, and the parts are
// assumed to be independent. Run the chains for many round trips of each replica through the
// ladder. A Reweighting is immutable and safe for concurrent use.
type Reweighting struct {
	mixture
	names  []string
	parts  int
	values []float64   // draws × functions: recorded value of the function at the draw
	group  []int32     // index in groups of each draw
	groups []group     // groups of draws that have the same part of the run and the same energy
	drift  [][]float64 // for each part of the run, its influence on the free energies f
}

// group describes the draws from one part of the run that have the same energy. Weights and errors
// need only sums over each group.
type group struct {
	part, at int32 // part of the run, and index of the energy in mixture.e
	n        float64
}

// leastParts is the minimum number of parts into which a run is split. A standard error computed
// from 32 parts has itself a relative error of about 1/8.
const leastParts = 32

// Reweight returns a [Reweighting] of the draws so far. It takes time proportional to the number of
// different energies times the square of the number of different β.
//
// The error wraps [ErrTooFew] if there are fewer than 8·⌈32/chains⌉ draws per chain. It wraps a
// *[NotFinite] if an energy, a value of a recorded function or a β is NaN or infinite. Reweight
// also returns an error if the energies of the rungs do not overlap, or if there are more than 4096
// different β.
func (r *Replicas) Reweight() (*Reweighting, error) {
	w, err := r.reweight()
	if err != nil {
		return nil, fmt.Errorf("diagnose: Reweight: %w", err)
	}
	return w, nil
}

// leastStretch is the minimum number of consecutive draws in a part of the run.
const leastStretch = 8

func (r *Replicas) reweight() (*Reweighting, error) {
	if r.Len() == 0 {
		return nil, fmt.Errorf("no draws: %w", ErrTooFew)
	}
	first := r.Rung(0)
	chains, draws := first.Chains(), first.Len()
	split := (leastParts + chains - 1) / chains
	if draws < leastStretch*split {
		return nil, fmt.Errorf("%d draws of %d chains, want ≥ %d: %w", draws, chains, leastStretch*split, ErrTooFew)
	}
	w := &Reweighting{names: slices.Clone(r.names), parts: chains * split}
	size := r.Len() * chains * draws
	energies, betas, part := make([]float64, 0, size), make([]float64, 0, size), make([]int32, 0, size)
	for j := range r.Len() {
		t := r.Rung(j)
		columns := [][][]float64{t.column(columnEnergy)}
		for i := range t.names {
			columns = append(columns, t.column(columnFirst+i))
		}
		for k, draws := range columns {
			if err := finite(draws); err != nil {
				return nil, fmt.Errorf("rung %d, %s: %w", j, append([]string{"energy"}, t.names...)[k], err)
			}
		}
		for c := range chains {
			for i := range draws {
				for k := range r.names {
					w.values = append(w.values, columns[1+k][c][i])
				}
				part = append(part, int32(c*split+i*split/draws))
				energies = append(energies, columns[0][c][i])
				betas = append(betas, columns[1+len(r.names)][c][i])
			}
		}
	}
	return w, w.fit(energies, betas, part)
}

// mostBetas limits the number of different β. A larger number means that draws were kept from a
// warm-up that tunes the ladder.
const mostBetas = 1 << 12

// fit computes the free energies and the influence of each part of the run on them.
func (w *Reweighting) fit(energies, betas []float64, part []int32) error {
	index := func(v []float64) (distinct []float64, at []int32) {
		distinct = slices.Clone(v)
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		at = make([]int32, len(v))
		for i, x := range v {
			k, _ := slices.BinarySearch(distinct, x)
			at[i] = int32(k)
		}
		return distinct, at
	}
	rising, of := index(betas)
	k := len(rising)
	if k > mostBetas {
		return fmt.Errorf("%d different β, want ≤ %d", k, mostBetas)
	}
	w.betas = slices.Clone(rising)
	slices.Reverse(w.betas)
	var at []int32
	w.e, at = index(energies)
	w.c, w.n = make([]float64, len(w.e)), make([]float64, k)
	mean := make([]float64, k)
	for n, e := range energies {
		b := k - 1 - int(of[n])
		w.c[at[n]]++
		w.n[b]++
		mean[b] += (e - mean[b]) / w.n[b]
	}
	if err := w.solve(mean); err != nil {
		return err
	}
	// The estimating equations are Σ_n p_nk = N_k. A part of the run changes f by −H⁻¹ times its
	// terms in these equations.
	w.drift = make([][]float64, w.parts)
	for u := range w.drift {
		w.drift[u] = make([]float64, k-1)
	}
	share := make([][]float64, len(w.e))
	p := make([]float64, k)
	for d := range share {
		w.shares(p, d)
		share[d] = slices.Clone(p[:k-1])
	}
	w.gather(part, at)
	for _, g := range w.groups {
		for j, v := range share[g.at] {
			w.drift[g.part][j] -= g.n * v
		}
	}
	for n, b := range of {
		if b := k - 1 - int(b); b < k-1 {
			w.drift[part[n]][b]++
		}
	}
	for u, g := range w.drift {
		v, err := w.newton(g)
		if err != nil {
			return err
		}
		w.drift[u] = slices.Clone(v)
	}
	return nil
}

// gather assigns each draw to the group with its part of the run and its energy.
func (w *Reweighting) gather(part, at []int32) {
	seen := map[group]int32{}
	w.group = make([]int32, len(at))
	for n := range at {
		key := group{part: part[n], at: at[n]}
		i, ok := seen[key]
		if !ok {
			i = int32(len(w.groups))
			seen[key] = i
			w.groups = append(w.groups, key)
		}
		w.group[n] = i
		w.groups[i].n++
	}
}

// Betas returns the inverse temperatures at which there are draws, in descending order.
func (w *Reweighting) Betas() []float64 { return slices.Clone(w.betas) }

// Mean returns, for each β, the expectation of the function of the given name. The name "energy"
// stands for the energy in nats.
func (w *Reweighting) Mean(name string, betas ...float64) ([]Average, error) {
	f, err := w.function("Mean", name)
	if err != nil {
		return nil, err
	}
	return w.curve("Mean", betas, func(_ float64, mean []float64) float64 { return mean[0] }, f)
}

// HeatCapacity returns, for each β, the heat capacity β²(⟨E²⟩ − ⟨E⟩²) of all sites together, in
// units of Boltzmann's constant.
func (w *Reweighting) HeatCapacity(betas ...float64) ([]Average, error) {
	middle := w.e[len(w.e)/2] // reference energy that avoids cancellation of squares
	return w.curve("HeatCapacity", betas,
		func(beta float64, mean []float64) float64 { return beta * beta * (mean[1] - mean[0]*mean[0]) },
		func(e float64, _ []float64) float64 { return e - middle },
		func(e float64, _ []float64) float64 { return (e - middle) * (e - middle) })
}

// Binder returns, for each β, Binder's cumulant 1 − ⟨A⁴⟩/(3⟨A²⟩²) of a function A, such as the
// magnetisation. The cumulant is 2/3 if A takes only two opposite values, and 0 if A is normal with
// mean 0.
func (w *Reweighting) Binder(name string, betas ...float64) ([]Average, error) {
	f, err := w.function("Binder", name)
	if err != nil {
		return nil, err
	}
	return w.curve("Binder", betas,
		func(_ float64, mean []float64) float64 { return 1 - mean[1]/(3*mean[0]*mean[0]) },
		func(e float64, v []float64) float64 { a := f(e, v); return a * a },
		func(e float64, v []float64) float64 { a := f(e, v); return a * a * a * a })
}

// Function estimates, for each β, a function of several expectations, such as a variance. The
// arguments after g are functions f_0, f_1, …, and the estimate is
//
//	g([⟨f_0⟩_β, ⟨f_1⟩_β, …]).
//
// Each f_k receives the energy of a draw and the values recorded at that draw, in the order of
// [NewReplicas]. For the variance of A, let f_0 be A and f_1 be A², and let g return mean[1] −
// mean[0]². Function returns an error if a β is outside the ladder or if g is not finite there.
func (w *Reweighting) Function(betas []float64, g func(mean []float64) float64, of ...func(energy float64, values []float64) float64) ([]Average, error) {
	return w.curve("Function", betas, func(_ float64, mean []float64) float64 { return g(mean) }, of...)
}

// function returns the recorded function with the given name, or the energy for the name "energy".
func (w *Reweighting) function(caller, name string) (func(e float64, v []float64) float64, error) {
	if i := slices.Index(w.names, name); i >= 0 {
		return func(_ float64, v []float64) float64 { return v[i] }, nil
	}
	if name == columnNames[columnEnergy] {
		return func(e float64, _ []float64) float64 { return e }, nil
	}
	return nil, fmt.Errorf("diagnose: Reweighting.%s: name = %q, want one of %q or energy", caller, name, w.names)
}

// check returns an error if one of betas is outside the ladder.
func (w *Reweighting) check(caller string, betas []float64) error {
	high, low := w.betas[0], w.betas[len(w.betas)-1]
	for _, beta := range betas {
		if !(beta >= low && beta <= high) {
			return fmt.Errorf("diagnose: Reweighting.%s: beta = %v, want %v … %v, the range of the ladder", caller, beta, low, high)
		}
	}
	return nil
}

// curve computes [Reweighting.Function] for a g that also depends on β.
func (w *Reweighting) curve(caller string, betas []float64, g func(beta float64, mean []float64) float64, of ...func(energy float64, values []float64) float64) ([]Average, error) {
	if err := w.check(caller, betas); err != nil {
		return nil, err
	}
	sums := make([][]float64, len(of)) // one sum per group
	for c, f := range of {
		sums[c] = make([]float64, len(w.groups))
		k := len(w.names)
		for n, i := range w.group {
			sums[c][i] += f(w.e[w.groups[i].at], w.values[n*k:(n+1)*k])
		}
	}
	out := make([]Average, len(betas))
	for b, beta := range betas {
		out[b] = w.average(beta, g, sums)
		if v := out[b].Value + out[b].SE; math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("diagnose: Reweighting.%s: the result at beta = %v is not finite", caller, beta)
		}
	}
	return out, nil
}

// average returns g of expectations at one β; sums holds, for each function, its sum over each
// group.
func (w *Reweighting) average(beta float64, g func(beta float64, mean []float64) float64, sums [][]float64) Average {
	weight, total, square := w.weights(beta)
	mean := make([]float64, len(sums))
	for c, sum := range sums {
		for i, s := range sum {
			mean[c] += weight[w.groups[i].at] * s
		}
		mean[c] /= total
	}
	moved := make([][]float64, w.parts) // for each part of the run, the means without it
	for u := range moved {
		moved[u] = slices.Clone(mean)
	}
	off := make([]float64, len(w.groups))
	for c, sum := range sums {
		for i, s := range sum {
			off[i] = s - w.groups[i].n*mean[c]
		}
		for u, v := range w.influence(weight, total, off) {
			moved[u][c] -= v * float64(w.parts) / float64(w.parts-1)
		}
	}
	return Average{
		Value: g(beta, mean), ESS: total * total / square,
		SE: jackknife(moved, func(mean []float64) float64 { return g(beta, mean) }),
	}
}

// LogZ returns, for each β, the difference of log-normalisers
//
//	log Z(β) − log Z(β_min),   Z(β) = Σ_x exp(−βE(x)),
//
// where β_min is the smallest β of the ladder. If β_min = 0, log Z(β_min) is the number of sites
// times the log of the number of levels.
func (w *Reweighting) LogZ(betas ...float64) ([]Average, error) {
	if err := w.check("LogZ", betas); err != nil {
		return nil, err
	}
	counts := make([]float64, len(w.groups))
	for i, g := range w.groups {
		counts[i] = g.n
	}
	out := make([]Average, len(betas))
	for b, beta := range betas {
		weight, total, square := w.weights(beta)
		sum := 0.0
		for _, v := range w.influence(weight, total, counts) {
			d := v - 1/float64(w.parts)
			sum += d * d
		}
		out[b] = Average{
			Value: w.shift(beta) + math.Log(total),
			SE:    math.Sqrt(sum * float64(w.parts) / float64(w.parts-1)),
			ESS:   total * total / square,
		}
	}
	return out, nil
}

// shift returns the largest logarithm of a weight at β.
func (w *Reweighting) shift(beta float64) float64 {
	most := math.Inf(-1)
	for d, e := range w.e {
		most = max(most, -beta*e-w.logd[d])
	}
	return most
}

// weights returns the weight of each distinct energy at β, divided by the largest weight. It also
// returns the sum and the sum of squares of these weights over all draws.
func (w *Reweighting) weights(beta float64) (weight []float64, total, square float64) {
	weight = make([]float64, len(w.e))
	most := w.shift(beta)
	for d, e := range w.e {
		v := math.Exp(-beta*e - w.logd[d] - most)
		weight[d] = v
		total += w.c[d] * v
		square += w.c[d] * v * v
	}
	return weight, total, square
}

// influence returns the contribution of each part of the run to Σ_n w_n a_n / total, both directly
// and through the free energies. a holds the sum of a_n over each group.
func (w *Reweighting) influence(weight []float64, total float64, a []float64) []float64 {
	out := make([]float64, w.parts)
	sums := make([]float64, len(w.e))
	for i, g := range w.groups {
		v := weight[g.at] * a[i] / total
		out[g.part] += v
		sums[g.at] += v
	}
	k := len(w.betas)
	p, slope := make([]float64, k), make([]float64, k-1)
	for d, s := range sums {
		if s == 0 {
			continue
		}
		w.shares(p, d)
		for j := range slope {
			slope[j] -= s * p[j]
		}
	}
	for u := range out {
		for j, v := range w.drift[u] {
			out[u] += slope[j] * v
		}
	}
	return out
}

// jackknife returns the jackknife standard error of g; moved holds, for each part of the run, the
// means without that part.
func jackknife(moved [][]float64, g func(mean []float64) float64) float64 {
	n := float64(len(moved))
	v := make([]float64, len(moved))
	mean := 0.0
	for u, m := range moved {
		v[u] = g(m)
		mean += v[u] / n
	}
	sum := 0.0
	for _, x := range v {
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum * (n - 1) / n)
}
