package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Balance is a balancing function g: it satisfies g(t) = t·g(1/t). A proposal weights a move from x
// to y by g(t), where t = p(y)/p(x) is the ratio of probabilities (Zanella 2020). Such a proposal
// is nearly reversible, so most proposals are accepted.
type Balance int

const (
	// Sqrt is the balancing function g(t) = √t of the ratio t of the new to the old probability. It
	// is the usual choice: [GWG] and the discrete Langevin proposal of [DULA] use it.
	Sqrt Balance = iota

	// Barker is the balancing function g(t) = t/(1+t) of the ratio t of the new to the old
	// probability. It is bounded, so a single very probable move does not dominate the others.
	Barker

	// Min is the balancing function g(t) = min(1, t) of the ratio t of the new to the old
	// probability. It is bounded like Barker, but has a kink at t = 1.
	Min

	// Max is the balancing function g(t) = max(1, t) of the ratio t of the new to the old
	// probability. It gives moves to less probable states the same weight as moves to equally
	// probable ones. The proposal therefore moves farther and is rejected more often.
	Max
)

// String returns "sqrt", "barker", "min" or "max".
func (b Balance) String() string {
	return check.Name("Balance", b, "sqrt", "barker", "min", "max")
}

// MarshalText returns the name that String returns.
func (b Balance) MarshalText() ([]byte, error) {
	return check.MarshalName("balance", b, Max)
}

// UnmarshalText sets b to the balancing function of the given name. It lets flags and files hold a
// Balance.
func (b *Balance) UnmarshalText(name []byte) error {
	return check.UnmarshalName("balance", b, Max, name)
}

func (b Balance) check(method string) error {
	return check.If(b < Sqrt || b > Max, "mcmc: %s: Balance = %v, want Sqrt, Barker, Min or Max", method, b)
}

// half is the factor of the energy difference in a proposal with balancing function √t (Zanella
// 2020), as in the Langevin proposal.
const half = 0.5

// leastWeight is the smallest weight of a level whose probability is not zero. Without it, the
// weight for a difference beyond 174 nats would underflow in float32. The reverse of such a move
// could then not be proposed, and steep energies would freeze the chain. leastWeight is below the
// resolution 2⁻⁵³ of a draw.
const leastWeight = 0x1p-60

// logs stores in w the values log g(e^(−d)) for the energy differences d in g. It stores −Inf for
// a level with d = +Inf, whose probability is zero, even if the balancing function is 1 at 0.
func (b Balance) logs(w, g []float32) {
	switch b {
	case Sqrt:
		for i, d := range g {
			w[i] = -half * d
		}
	case Barker:
		for i, d := range g {
			w[i] = float32(b.log(float64(d)))
		}
	case Min:
		for i, d := range g {
			w[i] = min(0, -d)
		}
	case Max:
		for i, d := range g {
			if w[i] = max(0, -d); d > math.MaxFloat32 {
				w[i] = float32(math.Inf(-1))
			}
		}
	}
}

// log returns log g(e^(−d)) for an energy difference d, and −Inf for d = +Inf.
func (b Balance) log(d float64) float64 {
	switch {
	case b == Sqrt:
		return -half * d
	case math.IsInf(d, 1):
		return math.Inf(-1)
	case b == Barker:
		return -simd.Softplus(d)
	case b == Min:
		return min(0, -d)
	}
	return max(0, -d)
}
