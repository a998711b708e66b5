package mcmc

import "github.com/gibbsite-go/gibbsite/sampler"

// sitewise are chains whose states stay in x and change one site at a time, with exact
// differences and running energies: of one kernel of several at different temperatures, if
// it is told so.
type sitewise struct {
	*locals
	x    []int32 // where the states are
	beta float64 // of the target, relative to that of the first kernel
}

func newSitewise(c *locals) sitewise { return sitewise{locals: c, beta: 1} }

// sited finds what kernels of sitewise chains share.
func (k *sitewise) sited() *sitewise { return k }

// siting kernels have such chains.
type siting interface{ sited() *sitewise }

// Exchanges implements [sampler.Exchanger].
func (k *sitewise) Exchanges(with sampler.Exchanger, beta float64) bool {
	other, ok := with.(siting)
	if !ok {
		return false
	}
	k.beta = beta
	o := other.sited()
	return beta > 0 && o.sites == k.sites && o.levels == k.levels && len(o.e) == len(k.e) && (o.local == nil) == (k.local == nil)
}

// Hold implements [sampler.Exchanger].
func (k *sitewise) Hold(x []int32) { k.x = x }

// Show implements [sampler.Lazy].
func (k *sitewise) Show(x []int32) {
	if len(k.x) > 0 && &x[0] != &k.x[0] {
		copy(x, k.x)
	}
}

// state returns a state.
func (k *sitewise) state(s int) []int32 { return k.x[s*k.sites : (s+1)*k.sites] }

// Energies implements [sampler.Exchanger].
func (k *sitewise) Energies(e []float64, of sampler.Exchanger) {
	o := of.(siting).sited()
	for s, v := range o.e {
		e[s] = tempered(v, k.beta, o.beta)
	}
}

// Exchange implements [sampler.Exchanger].
func (k *sitewise) Exchange(with sampler.Exchanger, chains []int, moved []int) {
	o := with.(siting).sited()
	for _, s := range chains {
		a, b := k.state(s), o.state(s)
		if moved != nil {
			moved[s] += changed(a, b)
		}
		exchange(a, b)
		k.e[s], o.e[s] = tempered(o.e[s], k.beta, o.beta), tempered(k.e[s], o.beta, k.beta)
		if k.local != nil {
			mine, theirs := k.chain(s), o.chain(s)
			for i, d := range mine {
				mine[i], theirs[i] = tempered(theirs[i], k.beta, o.beta), tempered(d, o.beta, k.beta)
			}
		}
	}
}

// exchange exchanges two rows.
func exchange(a, b []int32) {
	b = b[:len(a)]
	for i, v := range a {
		a[i], b[i] = b[i], v
	}
}

// tempered returns an energy, or a difference, at another inverse temperature.
func tempered(e, beta, from float64) float64 {
	if beta == from {
		return e
	}
	return float64(e * (beta / from))
}
