package mcmc

import (
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// flipLaw gives the probabilities with which the sites of a two-level state flip, in
// multiples of 2⁻³¹.
type flipLaw struct {
	sites    int
	prec     []float32
	beta     float32        // balance: ½ for the Langevin proposal
	cost     []float32      // 1/(2α), one entry, or 1/(2α g_i) per site
	balanced *balancedFlips // nil: √t
	jumps    bool           // DLMC's
	rate     simd.JumpRate  // of jumps
	tau      float32        // of jumps
}

func newFlipLaw(sites int, l langevin) flipLaw {
	p := flipLaw{sites: sites, prec: l.preconditioner, beta: half, cost: apart.Make[float32](max(1, len(l.preconditioner)))}
	switch {
	case l.jumps:
		p.jumps, p.rate = true, simd.JumpRate(l.balance)
	case l.balance != Sqrt:
		p.balanced = newBalancedFlips(l.balance)
	}
	p.SetStep(l.alpha)
	return p
}

// SetStep implements [FlipLaw].
func (p *flipLaw) SetStep(alpha float64) {
	if p.jumps {
		p.tau = float32(alpha)
		return
	}
	p.cost[0] = float32(1 / (2 * alpha))
	for i, g := range p.prec {
		p.cost[i] = float32(1 / (2 * alpha * float64(g)))
	}
	if p.balanced != nil {
		p.balanced.setCost(p.cost)
	}
}

// Thresholds implements [FlipLaw].
func (p *flipLaw) Thresholds(t []int32, h []float32, x []int32) {
	if p.jumps {
		simd.JumpThresholds(t, h, x, p.tau, p.rate)
		return
	}
	if p.balanced != nil {
		for at := 0; at < len(x); at += p.sites {
			p.balanced.thresholds(t[at:at+p.sites], h[at:at+p.sites], x[at:at+p.sites])
		}
		return
	}
	if len(p.cost) == 1 {
		simd.FlipThresholds(t, h, x, p.beta, p.cost)
		return
	}
	for at := 0; at < len(x); at += p.sites {
		simd.FlipThresholds(t[at:at+p.sites], h[at:at+p.sites], x[at:at+p.sites], p.beta, p.cost)
	}
}
