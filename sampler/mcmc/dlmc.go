package mcmc

import (
	"cmp"
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// DLMC is discrete Langevin Monte Carlo (Sun, Dai, Dai, Zhou and Schuurmans 2023). In its proposal,
// every site independently follows a jump process for a time τ. Site i jumps from x_i to level l at
// the rate g(t_l), where g is the field Balance and
//
//	t_l = exp(E(x) − E(x with x_i=l))
//
// comes from the model's table of energy differences (see [DMALA]). With ν_l = t_l/Σ_k t_k, the
// distribution at time τ is approximated by
//
//	q_i(l|x) = ν_l (1 − exp(−τ g(t_l)/ν_l)),  l ≠ x_i.
//
// With the remaining probability, the site stays at x_i. The changes of all sites are accepted or
// rejected together, with the Metropolis–Hastings probability of [DMALA], so π ∝ e^{−E} stays
// invariant. A step costs one evaluation of the model.
//
// The proposal does not use a distance between levels. For models with many numeric levels DMALA is
// therefore the better choice. If evaluating the model is cheap, a step costs up to twice as much
// as with DMALA. On two-level models on a torus, states are stored as bits under the conditions
// stated in [DMALA].
type DLMC struct {
	// StepSize is the time τ for which the jump process of a proposal runs. Its unit is such that a
	// jump to a level of the same energy has rate g(1), where g is Balance. If StepSize is 0, τ
	// starts at 0.2 and is tuned during warm-up.
	StepSize float64

	// Target is the mean acceptance probability to which warm-up tunes the jump time τ (StepSize);
	// 0 means 0.574, see [DMALA].
	Target float64

	Balance Balance // balancing function g, which sets the jump rates; the zero value is Sqrt
}

const defaultDLMCStep = 0.2 // initial step size; few sites jump at first, so adaptation increases it

// Name returns "dlmc"; it implements [sampler.Named].
func (DLMC) Name() string { return "dlmc" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (d DLMC) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	_, levels, err := check.Shape("mcmc: DLMC", m, chains, sampler.BlockSize)
	alpha, tuner, untuned := tune.Start("mcmc: DLMC", d.StepSize, defaultDLMCStep, d.Target)
	if err = cmp.Or(err, checkStep("DLMC", d.StepSize), d.Balance.check("DLMC"), untuned); err != nil {
		return nil, err
	}
	if levels != 2 {
		if p := newMatches(m, chains, langevin{alpha: alpha}); p != nil {
			p.row.jumps = newJumps(d.Balance, levels)
			return newHastings(m, chains, p, alpha, tuner), nil
		}
		p, err := newRows("DLMC", m, chains, langevin{alpha: alpha})
		if err != nil {
			return nil, err
		}
		p.jumps = newJumps(d.Balance, levels)
		return newHastings(m, chains, p, alpha, tuner), nil
	}
	l := langevin{alpha: alpha, balance: d.Balance, jumps: true}
	return onTorus(m, chains, l, tuner, func() (proposal, error) { return newFlips(m, chains, l), nil })
}

// jumps computes the proposal probabilities of [DLMC]: the distribution of a jump process after a
// time τ. With o the current level of a site,
//
//	τ·g(t_l)/ν_l = τ/M(ν_l, ν_o)
//
// where M is the geometric mean (Sqrt), the sum (Barker), the maximum (Min) or the minimum (Max).
// A level takes two exponentials, one of them for ν.
type jumps struct {
	balance  Balance
	cols     int
	nu, r, e []float32 // scratch for some rows: ν, −τg/ν and exp(−τg/ν)
}

// jumpEntries is the maximum number of entries, in whole rows, that weigh processes at a time.
const jumpEntries = 1024

func newJumps(b Balance, cols int) *jumps {
	n := max(jumpEntries/cols, 1) * cols
	return &jumps{balance: b, cols: cols, nu: make([]float32, n), r: make([]float32, n), e: make([]float32, n)}
}

// weigh stores in w the probabilities of the levels of sites whose current levels are x. The slice
// g holds the rows of energy differences. The slice sum receives the sum of each row, which is 1 up
// to rounding. A probability is at least leastWeight, 0 for a level with a difference of +Inf, and
// NaN in a row that contains a NaN.
func (j *jumps) weigh(w []float32, sum []float64, g []float32, x []int32, tau float64) {
	for len(x) > 0 {
		rows := min(len(x), len(j.nu)/j.cols)
		n := rows * j.cols
		j.some(w[:n], sum[:rows], g[:n], x[:rows], float32(tau))
		w, sum, g, x = w[n:], sum[rows:], g[n:], x[rows:]
	}
}

func (j *jumps) some(w []float32, sum []float64, g []float32, x []int32, tau float32) {
	nu, r, e := j.nu[:len(g)], j.r[:len(g)], j.e[:len(g)]
	for i, d := range g {
		nu[i] = -d
	}
	simd.Softmax(nu, nu, j.cols)
	for i, own := range x {
		from, to := i*j.cols, (i+1)*j.cols
		j.balance.exponents(r[from:to], nu[from:to], nu[from+int(own)], -tau)
	}
	simd.WeightsFrom(e, r, 0)
	for i, own := range x {
		from := i * j.cols
		stay, total := float64(nu[from+int(own)]), 0.0
		for l := range j.cols {
			at := from + l
			if l == int(own) {
				continue
			}
			q := float32(nu[at] * simd.Gone(-r[at], e[at]))
			stay += float64(float64(nu[at]) * float64(e[at]))
			if q < leastWeight {
				if q = leastWeight; g[at] > math.MaxFloat32 {
					q = 0
				}
			}
			w[at] = q
			total += float64(q)
		}
		w[from+int(own)] = float32(max(stay, leastWeight))
		sum[i] = total + float64(w[from+int(own)])
	}
}

// exponents stores in r the values by/M(ν_l, own) for the levels l of a row, with M as in
// [jumps].
func (b Balance) exponents(r, nu []float32, own, by float32) {
	switch b {
	case Sqrt:
		root := by / float32(math.Sqrt(float64(own)))
		for l, v := range nu {
			r[l] = root / float32(math.Sqrt(float64(v)))
		}
	case Barker:
		for l, v := range nu {
			r[l] = by / (v + own)
		}
	case Min:
		for l, v := range nu {
			r[l] = by / max(v, own)
		}
	case Max:
		for l, v := range nu {
			r[l] = by / min(v, own)
		}
	}
}
