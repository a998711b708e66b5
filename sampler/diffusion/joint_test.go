package diffusion

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// joint is a law over tokens^sites with the exact denoiser that it implies, by
// enumeration with package math, for masked (levels = tokens+1) or uniform
// corruption.
type joint struct {
	sites, tokens int
	p             []float64 // by exact.Index
	masked        bool
	loo           bool // predict leave-one-out
	timeFree      bool
	calls, rows   int
	memo          map[memoKey][]float32
}

type memoKey struct {
	x     int
	alpha float64
}

// newJoint returns a random law in which sites depend on each other.
func newJoint(sites, tokens int, masked bool, seed uint64) *joint {
	r := rand.New(rand.NewPCG(seed, 2))
	m := &joint{sites: sites, tokens: tokens, masked: masked, p: make([]float64, exact.Size(sites, tokens))}
	sum := 0.0
	for k := range m.p {
		m.p[k] = math.Exp(2 * r.NormFloat64())
		sum += m.p[k]
	}
	for k := range m.p {
		m.p[k] /= sum
	}
	return m
}

func (m *joint) Shape() (int, int) {
	if m.masked {
		return m.sites, m.tokens + 1
	}
	return m.sites, m.tokens
}

func (m *joint) LeaveOneOut() bool { return m.loo }
func (m *joint) TimeFree() bool    { return m.timeFree }

// likelihood is q(x_t,i = seen | x_0,i = l).
func (m *joint) likelihood(seen, l int32, alpha float64, clean bool) float64 {
	switch {
	case m.masked && seen == int32(m.tokens):
		return 1
	case seen == l && (m.masked || clean):
		return 1
	case m.masked || clean:
		return 0
	case seen == l:
		return alpha + (1-alpha)/float64(m.tokens)
	}
	return (1 - alpha) / float64(m.tokens)
}

// posterior returns p(x_0,i = l | x_t) as sites rows of Shape's levels.
func (m *joint) posterior(x []int32, alpha float64, clean []bool) []float64 {
	_, levels := m.Shape()
	rows := make([]float64, m.sites*levels)
	x0 := make([]int32, m.sites)
	for i := range m.sites {
		for k, p := range m.p {
			exact.State(x0, k, m.tokens)
			for j, l := range x0 {
				if m.loo && j == i {
					continue
				}
				p *= m.likelihood(x[j], l, alpha, clean != nil && clean[j])
			}
			rows[i*levels+int(x0[i])] += p
		}
		sum := 0.0
		for _, v := range rows[i*levels : (i+1)*levels] {
			sum += v
		}
		for l := range levels {
			rows[i*levels+l] /= sum
		}
	}
	return rows
}

func (m *joint) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	m.calls++
	for s := range q.Time {
		m.rows++
		var clean []bool
		if q.Clean != nil {
			clean = q.Clean[s*m.sites : (s+1)*m.sites]
		}
		x := q.X[s*m.sites : (s+1)*m.sites]
		size := len(v) / len(q.Time)
		copy(v[s*size:], m.logs(x, q.Alpha[s], clean))
	}
	return nil
}

// logs returns the logarithms of posterior, each row with a constant.
func (m *joint) logs(x []int32, alpha float64, clean []bool) []float32 {
	_, levels := m.Shape()
	key := memoKey{exact.Index(x, levels), alpha}
	if w, ok := m.memo[key]; ok && clean == nil {
		return w
	}
	var w []float32
	for _, p := range m.posterior(x, alpha, clean) {
		w = append(w, float32(math.Log(p))+3)
	}
	if m.memo == nil {
		m.memo = map[memoKey][]float32{}
	}
	if clean == nil {
		m.memo[key] = w
	}
	return w
}

// stepLaw returns the probabilities of the next level of one site at level l whose
// clean token has the probabilities p.
type stepLaw func(l int32, p []float64) []float64

// evolve returns the law after one step of independent sites from the law of
// x_t, over levels^sites.
func (m *joint) evolve(law []float64, alpha float64, step stepLaw) []float64 {
	_, levels := m.Shape()
	next := make([]float64, len(law))
	x := make([]int32, m.sites)
	for k, w := range law {
		if w == 0 {
			continue
		}
		exact.State(x, k, levels)
		rows := m.posterior(x, alpha, nil)
		dist := []float64{w} // over the sites so far, site 0 fastest
		for i, l := range x {
			q := step(l, rows[i*levels:(i+1)*levels])
			wider := make([]float64, 0, len(dist)*levels)
			for _, b := range q {
				for _, a := range dist {
					wider = append(wider, a*b)
				}
			}
			dist = wider
		}
		for j, v := range dist {
			next[j] += v
		}
	}
	return next
}

// target returns the law over levels^sites of x_0.
func (m *joint) target() []float64 {
	_, levels := m.Shape()
	p := make([]float64, exact.Size(m.sites, levels))
	x := make([]int32, m.sites)
	for k, w := range m.p {
		exact.State(x, k, m.tokens)
		p[exact.Index(x, levels)] = w
	}
	return p
}

// maskedStep is the reverse step of masked diffusion with remasking at rate
// sigma (0 for none).
func maskedStep(mask int32, at, as, sigma float64) stepLaw {
	return func(l int32, p []float64) []float64 {
		q := make([]float64, len(p))
		if l != mask {
			q[l], q[mask] = 1-sigma, sigma
			return q
		}
		for v := range q {
			q[v] = (as - (1-sigma)*at) / (1 - at) * p[v]
		}
		q[mask] = (1 - as - sigma*at) / (1 - at)
		return q
	}
}

// uniformStep is Σ_v p(v)·q(x_s | x_t, v) by Bayes' rule from the forward
// kernels.
func uniformStep(at, as float64) stepLaw {
	forward := func(from, to int, a float64, n int) float64 {
		if from == to {
			return a + (1-a)/float64(n)
		}
		return (1 - a) / float64(n)
	}
	return func(l int32, p []float64) []float64 {
		q := make([]float64, len(p))
		for v, w := range p {
			for z := range q {
				q[z] += w * forward(v, z, as, len(p)) * forward(z, int(l), at/as, len(p)) / forward(v, int(l), at, len(p))
			}
		}
		return q
	}
}

// tv is the total variation distance.
func tv(p, q []float64) float64 {
	d := 0.0
	for k := range p {
		d += math.Abs(p[k] - q[k])
	}
	return d / 2
}

// tally counts samples × sites by index.
func tally(x []int32, sites, levels int) []int {
	counts := make([]int, exact.Size(sites, levels))
	exact.Tally(counts, x, sites, levels)
	return counts
}
