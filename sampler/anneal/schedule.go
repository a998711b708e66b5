package anneal

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Schedule is a function that returns the inverse temperature β ≥ 0 of an annealing run. Its
// argument is the progress t of the run, which goes from 0 to 1.
type Schedule func(t float64) float64

// Geometric returns the schedule that changes by equal factors in equal times,
//
//	β(t) = start·(end/start)^t.
//
// Both arguments must be positive. This schedule is the usual choice when nothing is known about
// the landscape.
func Geometric(start, end float64) Schedule {
	return func(t float64) float64 { return start * simd.Exp(t*simd.Log(end/start)) }
}

// Linear returns the schedule that changes at a constant rate,
//
//	β(t) = start + (end−start)·t.
func Linear(start, end float64) Schedule {
	return func(t float64) float64 { return start + float64((end-start)*t) }
}

// Power returns the schedule β(t) = t^a from 0 to 1, for a > 0. If a > 1, most of the temperatures
// are high.
func Power(a float64) Schedule {
	return func(t float64) float64 {
		if t <= 0 {
			return 0
		}
		return simd.Exp(a * simd.Log(t))
	}
}

const (
	coolingStates = 16 // number of random states at which Cooling computes differences
	coolingMinima = 8  // number of these that descend, in at most coolingPasses over all sites
	coolingPasses = 8
	coolingNoise  = 0x1p-32 // rises below this part of the largest one are rounding errors
	coolingHot    = 0.5     // acceptance probability of the steepest rise at the start
	coolingCold   = 0.01    // expected number of excited sites at the end
	coolingSmall  = 0.05    // quantile of the differences that counts as a small rise
	coolingRatio  = 0.25    // rises near minima count if they are smaller by this factor
)

// Cooling returns the first and the last inverse temperature for annealing a model. It computes
// them from the energy differences of single-site changes at a few random states. At the first β,
// the steepest rise of the energy is accepted with probability ½. At the last β, a small rise is
// accepted with probability 0.01/sites. If all differences are zero, both results are 1.
//
// The small rise is the 5 % quantile of the magnitudes of non-zero differences. Cooling also finds
// the smallest rise of each site near local minima, and the 5 % quantile of these rises. If this
// second quantile is less than a quarter of the first, it is the small rise.
func Cooling(m energy.Model, seed uint64) (start, end float64, err error) {
	sites, levels, err := check.Shape("anneal: Cooling", m, 1, sampler.BlockSize)
	if err != nil {
		return 0, 0, err
	}
	c := energy.Conditionals(m)
	repair, repairs := energy.As[energy.Supported](m)
	r := sampler.NewStream(seed, math.MaxUint64) // the stream of a chain number that no run reaches
	x, d := make([]int32, sites), make([]float64, levels)
	var rises []float64
	most := 0.0
	least := slices.Repeat([]float64{math.Inf(1)}, sites) // smallest rise of each site near local minima
	for k := range coolingStates {
		for i := range x {
			x[i] = int32(r.IntN(levels))
		}
		if repairs {
			repair.Repair(x)
		}
		for i := range sites {
			c.Conditional(d, i, x)
			for _, v := range d {
				if v = math.Abs(v); v > 0 && !math.IsInf(v, 0) {
					rises, most = append(rises, v), max(most, v)
				}
			}
		}
		if k >= coolingMinima {
			continue
		}
		descend(c, x, d)
		for i := range sites {
			c.Conditional(d, i, x)
			for _, v := range d {
				if v > float64(coolingNoise*most) && v < least[i] {
					least[i] = v
				}
			}
		}
	}
	if len(rises) == 0 {
		return 1, 1, nil
	}
	slices.Sort(rises)
	slices.Sort(least)
	small := rises[int(coolingSmall*float64(len(rises)))]
	if l := least[int(coolingSmall*float64(sites))]; l < float64(coolingRatio*small) {
		small = l
	}
	start = -simd.Log(coolingHot) / most
	end = simd.Log(float64(sites)/coolingCold) / small
	return start, max(start, end), nil
}

// descend sets the sites of x in turn to their best levels, until none is better than the present
// one or coolingPasses passes are made. The slice d is scratch memory for the levels of a site.
func descend(c energy.Conditional, x []int32, d []float64) {
	for range coolingPasses {
		moved := false
		for i := range x {
			c.Conditional(d, i, x)
			for l, v := range d { // v is NaN if the energy of x is infinite
				if v < d[x[i]] {
					x[i], moved = int32(l), true
				}
			}
		}
		if !moved {
			return
		}
	}
}

// mostStages is the maximum number of temperatures of a run. Each temperature needs new kernels.
const mostStages = 1 << 24

// inverses returns the inverse temperatures of a schedule at t = 0, 1/n, …, 1, and checks them.
func inverses(caller string, schedule Schedule, n int) ([]float64, error) {
	if n > mostStages {
		return nil, fmt.Errorf("anneal: %sConfig.Stages = %d, want ≤ %d", caller, n, mostStages)
	}
	betas := make([]float64, n+1)
	for k := range betas {
		betas[k] = schedule(float64(k) / float64(n))
		switch {
		case k == 0 && betas[k] != 0:
			return nil, fmt.Errorf("anneal: %s: Schedule(0) = %v, want 0", caller, betas[k])
		case k > 0 && !(betas[k] > betas[k-1] && betas[k] <= 1):
			return nil, fmt.Errorf("anneal: %s: Schedule(%d/%d) = %v, want within (%v, 1]", caller, k, n, betas[k], betas[k-1])
		}
	}
	if betas[n] != 1 {
		return nil, fmt.Errorf("anneal: %s: Schedule(1) = %v, want 1", caller, betas[n])
	}
	return betas, nil
}
