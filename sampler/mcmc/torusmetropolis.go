package mcmc

import "github.com/gibbsite-go/gibbsite/energy"

// fewestProposed is the number of sites of a torus from which on Metropolis proposes their
// changes as bits: registers of fewer are too empty (BenchmarkMetropolis). Tests set it lower.
var fewestProposed = 32

// newTorusMetropolis returns the kernel of [Metropolis] by colour for energy.Toroidal models,
// nil if the model has no states of bits. It is torusGibbs with other draws: a site flips with a
// probability that depends on its state and on how many of its neighbours are in state 1, one of
// ten multiples of 2⁻⁶⁴; what would be certain fails once in 2⁶⁴.
func newTorusMetropolis(m energy.Model, chains int) *torusGibbs {
	k := newTorusGibbs(m, chains)
	if k == nil || k.sites < fewestProposed {
		return nil
	}
	to := &torusProposal{}
	for n, d := range k.d {
		for x, rise := range [2]float64{d, -d} {
			a, _ := accept(-rise, 0, 0)
			to.accept[x][n], to.p[x][n] = a, fraction(a)
		}
	}
	to.odds.Set(&to.p)
	k.proposal = to
	k.redraw = func(w, job int) {
		t := &k.workers[w][0]
		t.told.Add(k.job.state.Flip(&t.flip.tally, k.job.colour, job, &to.odds, k.job.from, &t.flip.scratch))
	}
	k.workers = nil // whose scratch has no flips
	k.share(1)
	return k
}
