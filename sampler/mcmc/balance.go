package mcmc

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Balance is a balancing function of the probability ratio t = p(y)/p(x) of a move: a function g
// with g(t) = t·g(1/t) (Zanella 2020). A proposal that weights moves by g(t) is nearly reversible
// by itself, so most proposals are accepted.
type Balance int

const (
	// Sqrt is √t, the usual choice, used by GWG and by the Langevin proposal.
	Sqrt Balance = iota

	// Barker is t/(1+t). All good moves have about the same weight, so a single very good move does
	// not dominate the others.
	Barker

	// Min is min(1, t). It is like Barker, with a kink.
	Min

	// Max is max(1, t). Moves that lose probability have the same weight as neutral ones: the
	// proposal goes far and is rejected more often.
	Max
)

func (b Balance) String() string {
	if b < Sqrt || b > Max {
		return fmt.Sprintf("Balance(%d)", int(b))
	}
	return [...]string{"sqrt", "barker", "min", "max"}[b]
}

func (b Balance) check(method string) error {
	return check.If(b < Sqrt || b > Max, "mcmc: %s: Balance = %v, want Sqrt, Barker, Min or Max", method, b)
}

// half is the factor of the energy difference in the proposal: the balancing
// function √t of Zanella 2020, on which the Langevin proposal rests.
const half = 0.5

// leastWeight is the smallest weight of a level that is not excluded. Without it, the weight for a
// difference beyond 174 nats would vanish in float32: the reverse of such a move could not be
// proposed, and steep energies would freeze the chain. It is below the resolution 2⁻⁵³ of a draw.
const leastWeight = 0x1p-60

// logs stores in w the logarithm of g(e^(−d)) for every difference d in g. It stores −Inf for a
// level that is known to have probability zero, even if the balancing function is 1 at 0.
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

// log is logs for one difference.
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
