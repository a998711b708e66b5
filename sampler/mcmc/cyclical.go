package mcmc

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Cyclical is [DMALA] with a step size that varies in cycles (Pynadath, Bhattacharya, Hariharan and
// Zhang 2024). On targets with one mode, DMALA is the better choice.
//
// A cycle has n = Period steps. Step k = 0 … n−1 proposes a level l for each site i from
//
//	q_i(l|x) ∝ exp( −β_k (E(x with x_i=l) − E(x)) − δ²(l, x_i)/(2 α_k) ),
//	α_k = (α_max/2) (1 + cos(πk/n)),
//	β_k = (β_0+½)/2 + (β_0−½)/2 · cos(πk/n).
//
// Here α_max is StepSize, β_0 is Balance, and the distance δ between levels is defined in [DULA].
// Where α_k would be below α_min = MinStep, the step uses α_min and β = ½.
//
// Every step is accepted with the Metropolis–Hastings probability of [DMALA], so it leaves π ∝
// e^{−E} invariant and is reversible. A whole cycle is not reversible. The zero value tunes α_min
// and α_max during warm-up.
type Cyclical struct {
	// StepSize is α_max, the largest step size of a cycle; see [DULA] for its unit. If it is 0,
	// warm-up tunes both step sizes:
	//
	//   - In the first third of warm-up, the factor β of the energy differences is ½, and the
	//     smallest step size α_min is tuned until the acceptance probability is Target.
	//   - In the second third, β is Balance, and α_max is tuned until the acceptance
	//     probability is half of Target.
	//
	// If there is no warm-up, α_min is 0.2 and α_max is 2.
	StepSize float64

	// MinStep is α_min, the smallest step size of a cycle. If StepSize is 0, warm-up tunes α_min,
	// and MinStep must be 0. Otherwise MinStep = 0 means that step sizes have no lower bound.
	MinStep float64

	// Balance is β_0, the factor of the energy differences at the beginning of a cycle, from ½ to
	// 1; 0 means 1. With β = 1 and a very long step, the proposal on a model of independent sites
	// is an exact draw.
	Balance float64

	// Period is n, the number of steps in a cycle; 0 means 20.
	Period int

	// Target is the mean acceptance probability to which warm-up tunes the smallest step size
	// α_min; 0 means 0.574, see [DMALA].
	Target float64

	// Preconditioner holds a factor for the step size of each site. Window limits proposals to
	// nearby levels. Both work as the fields of [DULA] with the same names.
	Preconditioner []float32
	Window         int
}

const (
	defaultPeriod  = 20
	mostPeriod     = 1 << 24               // maximum period; a table stores the step sizes of a cycle
	defaultLongest = 10 * defaultDMALAStep // α_max without warm-up
)

// Name returns "cyclical"; it implements [sampler.Named].
func (Cyclical) Name() string { return "cyclical" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (c Cyclical) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	k := padded.New(cyclical{tuned: c.StepSize == 0, target: c.Target, longest: c.StepSize, shortest: c.MinStep, balance: cmp.Or(c.Balance, 1)})
	if k.tuned {
		k.longest, k.shortest = defaultLongest, defaultDMALAStep
		if _, err := tune.New("mcmc: Cyclical", k.shortest, c.Target); err != nil {
			return nil, err
		}
	}
	c.Period = cmp.Or(c.Period, defaultPeriod)
	k.cosine = make([]float64, c.Period)
	for i := range k.cosine {
		k.cosine[i] = cosPi(i, c.Period)
	}
	l := langevin{alpha: k.longest, preconditioner: c.Preconditioner, window: c.Window}
	p, err := l.proposal(ctx, "Cyclical", m, chains)
	if err != nil {
		return nil, err
	}
	k.hastings = newHastings(m, chains, p, k.longest, nil)
	return k, nil
}

func (c Cyclical) check() error {
	return cmp.Or(
		checkStep("Cyclical", c.StepSize),
		check.If(!(c.MinStep >= 0 && c.MinStep <= c.StepSize), "mcmc: Cyclical: MinStep = %v, want 0 … StepSize = %v", c.MinStep, c.StepSize),
		check.If(c.Balance != 0 && !(c.Balance >= half && c.Balance <= 1), "mcmc: Cyclical: Balance = %v, want ½ … 1 (0 for the default)", c.Balance),
		check.If(c.Period < 0 || c.Period > mostPeriod, "mcmc: Cyclical: Period = %d, want 0 … %d", c.Period, mostPeriod),
	)
}

type cyclical struct {
	*hastings
	tuned             bool
	target            float64
	longest, shortest float64 // largest and smallest step size, α_max and α_min
	balance           float64 // balance β_0 of the longest step
	cosine            []float64
	at                int // index k of the next step of the cycle

	tuning     *tune.Tuner // tuner of the current tuning run; nil when the cycle runs
	tuningBeta float64
	tuningStep float64
}

var (
	_ sampler.Adaptive = (*cyclical)(nil)
	_ sampler.Tuned    = (*cyclical)(nil)
)

// StepSize returns α_max, the largest step size of a cycle.
func (k *cyclical) StepSize() float64 { return k.longest }

// stage returns the step size α and the balance β of the next step.
func (k *cyclical) stage() (alpha, beta float64) {
	if k.tuning != nil {
		return k.tuningStep, k.tuningBeta
	}
	c := k.cosine[k.at]
	alpha = k.longest / 2 * (1 + c)
	if alpha < k.shortest {
		return k.shortest, half
	}
	return alpha, float64((k.balance+half)/2) + float64((k.balance-half)/2*c)
}

// Step makes a step with the step size and the balance β of the current position in the cycle. It
// implements [sampler.Transition].
func (k *cyclical) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	alpha, beta := k.stage()
	if k.hastings.at.Fresh() {
		k.setStep(alpha, beta)
	} else {
		// a checkpoint does not contain the settings of a step in progress
		k.proposal.tune(alpha, beta)
	}
	if k.hastings.Step(ctl, info, x, r) == 0 {
		return 0
	}
	k.at = (k.at + 1) % len(k.cosine)
	return 1
}

func (k *cyclical) Adapt(info []sampler.Info, step, of int) {
	n := of / 3
	if !k.tuned || n < 2 {
		return
	}
	switch {
	case step == 0: // a step of the cycle, which says nothing about the tuning run
		k.beginTuning(half, k.target)
	case step < n:
		k.tuningStep = k.tuning.AdaptTo(sweep.Proposals(info), step-1, n-1)
		if step == n-1 {
			k.shortest = k.tuningStep
			k.beginTuning(k.balance, k.tuning.Goal()/2)
		}
	case step < 2*n:
		k.tuningStep = k.tuning.AdaptTo(sweep.Proposals(info), step-n, n)
		if step == 2*n-1 {
			k.longest = max(k.shortest, k.tuningStep)
			k.tuning, k.at = nil, 0
		}
	}
}

// beginTuning begins a tuning run with balance beta. It starts from the shortest step found so
// far.
func (k *cyclical) beginTuning(beta, target float64) {
	k.tuning, _ = tune.New("mcmc: Cyclical", k.shortest, target) // checked by Kernel
	k.tuningBeta, k.tuningStep = beta, k.shortest
}

func (k *cyclical) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

func (k *cyclical) UnmarshalBinary(b []byte) error { return wire.ReadFields(b, k.fields) }

func (k *cyclical) fields(f *wire.Fields) {
	v := []float64{k.longest, k.shortest, float64(k.at), 0, 0, 0, 0}
	if k.tuning != nil {
		v[3], v[4], v[5], v[6] = 1, k.tuningBeta, k.tuningStep, k.tuning.Goal()
	}
	if f.Float64s(v); f.Reading() {
		f.Fail(k.restore(v))
	}
	if k.tuning != nil {
		k.tuning.Fields(f)
	}
	f.Binary(k.hastings, -1)
}

// restore sets the kernel from the numbers v at the beginning of its checkpoint.
func (k *cyclical) restore(v []float64) (err error) {
	if !(v[0] > 0 && v[1] >= 0 && v[2] >= 0 && int(v[2]) < len(k.cosine)) {
		return fmt.Errorf("mcmc: Cyclical: steps %v and %v at step %v in the checkpoint, want positive ones at 0 … %d", v[0], v[1], v[2], len(k.cosine)-1)
	}
	k.longest, k.shortest, k.at, k.tuning = v[0], v[1], int(v[2]), nil
	if v[3] == 1 {
		k.tuningBeta, k.tuningStep = v[4], v[5]
		k.tuning, err = tune.New("mcmc: Cyclical", v[5], v[6])
	}
	return err
}

// cosPi returns cos(πk/n) for 0 ≤ k ≤ n, with the same bits on every machine. Package math does
// not guarantee this.
func cosPi(k, n int) float64 {
	if 2*k > n {
		return -cosPi(n-k, n)
	}
	x := math.Pi * float64(k) / float64(n)
	square := float64(x * x)
	c := 1.0
	for j := cosTerms; j >= 1; j-- {
		c = 1 - float64(square*c)/float64(2*j*(2*j-1))
	}
	return c
}

// cosTerms is the number of terms of the Taylor series; the error is (π/2)²⁴/24! < 1e−19.
const cosTerms = 11
