package activeset_test

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/activeset"
)

// problem is a system of sparse rows of norm 1, a point, and caps.
type problem struct {
	activeset.Rows
	v, limit []float64
}

// row adds Σ value·x[index] in lo … hi, scaled to norm 1. The indices differ.
func (p *problem) row(index []int32, value []float64, lo, hi, limit float64) {
	norm := 0.0
	for _, x := range value {
		norm += x * x
	}
	norm = math.Sqrt(norm)
	p.Start = append(p.Start, int32(len(p.Index)))
	for k, i := range index {
		p.Index, p.Value = append(p.Index, i), append(p.Value, value[k]/norm)
	}
	p.End = append(p.End, int32(len(p.Index)))
	p.Lo, p.Hi, p.limit = append(p.Lo, lo/norm), append(p.Hi, hi/norm), append(p.limit, limit)
}

// at returns row j times x.
func (p *problem) at(j int, x []float64) float64 {
	sum := 0.0
	for k := p.Start[j]; k < p.End[j]; k++ {
		sum += p.Value[k] * x[p.Index[k]]
	}
	return sum
}

// sparse returns a row of 1 to 6 entries, some of them ±1.
func sparse(rng *rand.Rand, n int) (index []int32, value []float64) {
	for _, i := range rng.Perm(n)[:1+rng.IntN(min(n, 6))] {
		x := rng.NormFloat64()
		if rng.IntN(2) == 0 {
			x = math.Copysign(1, x)
		}
		index, value = append(index, int32(i)), append(value, x)
	}
	return index, value
}

// class is a kind of random problem.
type class struct {
	name string
	make func(rng *rand.Rand, n int) *problem
	soft bool // its rows may exclude each other, so that caps are finite
}

// classes are those of the projections that a series can ask for.
var classes = []class{
	{name: "ordinary", make: func(rng *rand.Rand, n int) *problem { return feasible(rng, n, 0.3, 0) }},
	{name: "dependent", make: func(rng *rand.Rand, n int) *problem { return feasible(rng, n, 0.3, 0.5) }},
	{name: "degenerate", make: func(rng *rand.Rand, n int) *problem { return feasible(rng, n, 0, 0) }},
	{name: "degenerate and dependent", make: func(rng *rand.Rand, n int) *problem { return feasible(rng, n, 0, 0.5) }},
	{name: "opposite", make: opposite},
	{name: "infeasible", make: infeasible, soft: true},
	{name: "soft", make: func(rng *rand.Rand, n int) *problem {
		p := infeasible(rng, n)
		gamma := math.Pow(10, 12*rng.Float64())
		for j := range p.limit {
			p.limit[j] = gamma / 2
		}
		return p
	}, soft: true},
	{name: "scaled", make: func(rng *rand.Rand, n int) *problem {
		p := feasible(rng, n, 0.3*float64(rng.IntN(2)), 0.3)
		size := math.Pow(10, 12*rng.Float64()-6)
		for _, x := range [][]float64{p.v, p.Lo, p.Hi} {
			for i := range x {
				x[i] *= size
			}
		}
		return p
	}},
}

// feasible returns rows around a point that satisfies them, with so much slack
// at most; a share of them is a combination of others.
func feasible(rng *rand.Rand, n int, slack, share float64) *problem {
	p := &problem{Rows: activeset.Rows{N: n}, v: make([]float64, n)}
	inside := make([]float64, n)
	for i := range inside {
		inside[i], p.v[i] = rng.NormFloat64(), 2*rng.NormFloat64()
	}
	for j := range 5 * n / 2 {
		index, value := sparse(rng, n)
		if j > 2 && rng.Float64() < share {
			index, value = combination(p, rng.IntN(j), rng.IntN(j), rng)
		}
		t := 0.0
		for k, i := range index {
			t += value[k] * inside[i]
		}
		lo, hi := t-slack*rng.Float64(), t+slack*rng.Float64()
		switch rng.IntN(8) {
		case 0:
			if slack == 0 {
				break
			}
			lo, hi = t, t
		case 1, 2, 3:
			lo = math.Inf(-1)
		case 4, 5, 6:
			hi = math.Inf(1)
		}
		p.row(index, value, lo, hi, math.Inf(1))
	}
	return p
}

// combination returns ±row a ± row b, or row a if nothing is left.
func combination(p *problem, a, b int, rng *rand.Rand) (index []int32, value []float64) {
	sum := make([]float64, p.N)
	for _, j := range []int{a, b} {
		sign := float64(1 - 2*rng.IntN(2))
		for k := p.Start[j]; k < p.End[j]; k++ {
			sum[p.Index[k]] += sign * p.Value[k]
		}
	}
	for i, x := range sum {
		if math.Abs(x) > 1e-14 { // an entry that cancels
			index, value = append(index, int32(i)), append(value, x)
		}
	}
	if len(index) == 0 {
		return p.Index[p.Start[a]:p.End[a]], p.Value[p.Start[a]:p.End[a]]
	}
	return index, value
}

// opposite is a feasible system in which every third row comes again with the
// other sign, and both are tight at one point.
func opposite(rng *rand.Rand, n int) *problem {
	p := feasible(rng, n, 0, 0.2)
	for j := 0; j < len(p.Lo); j += 3 {
		index := p.Index[p.Start[j]:p.End[j]]
		value := make([]float64, len(index))
		for k := range value {
			value[k] = -p.Value[int(p.Start[j])+k]
		}
		bound := p.Hi[j]
		if math.IsInf(bound, 1) {
			bound = p.Lo[j]
			p.row(index, value, -bound, math.Inf(1), math.Inf(1))
			continue
		}
		p.row(index, value, math.Inf(-1), -bound, math.Inf(1))
	}
	return p
}

// infeasible is a feasible system with some rows that exclude others; γ/2 is 5e4.
func infeasible(rng *rand.Rand, n int) *problem {
	p := feasible(rng, n, 0.3, 0.2)
	for range 1 + rng.IntN(3) {
		a, b := rng.IntN(len(p.Lo)), rng.IntN(len(p.Lo))
		sum := make([]float64, n)
		bound := 0.0 // of the sum of both rows from above
		for _, j := range []int{a, b} {
			sign, hi := 1.0, p.Hi[j]
			if math.IsInf(hi, 1) {
				sign, hi = -1, -p.Lo[j]
			}
			bound += hi
			for k := p.Start[j]; k < p.End[j]; k++ {
				sum[p.Index[k]] += sign * p.Value[k]
			}
		}
		var index []int32
		var value []float64
		for i, x := range sum {
			if math.Abs(x) > 1e-14 {
				index, value = append(index, int32(i)), append(value, x)
			}
		}
		if len(index) > 0 {
			p.row(index, value, bound+0.5, math.Inf(1), math.Inf(1))
		}
	}
	for j := range p.limit {
		p.limit[j] = 5e4
	}
	return p
}
