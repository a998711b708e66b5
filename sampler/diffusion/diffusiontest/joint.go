package diffusiontest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// joint is a distribution of tokens together with its exact denoiser, computed by enumeration
// with package math. If mask is a level, tokens are masked; otherwise they are replaced by random
// tokens.
type joint struct {
	sites, levels int
	mask          int32
	// probability of each state, in the order of laws.Index; 0 if a token is the mask
	p    []float64
	loo  bool // predict every site from the other sites
	memo map[seen][]float32
}

type seen struct {
	x     int
	alpha float64
	loo   bool
}

// newJoint returns a random distribution in which sites depend on each other.
func newJoint(sites, levels int, mask int32, seed uint64) *joint {
	r := rand.New(rand.NewPCG(seed, 2))
	m := &joint{sites: sites, levels: levels, mask: mask, p: make([]float64, laws.Size(sites, levels)), memo: map[seen][]float32{}}
	sum := 0.0
	for k, x := range laws.States(sites, levels) {
		if m.masks(x) {
			continue
		}
		m.p[k] = math.Exp(2 * r.NormFloat64())
		sum += m.p[k]
	}
	for k := range m.p {
		m.p[k] /= sum
	}
	return m
}

// masks reports whether a token of x is the mask.
func (m *joint) masks(x []int32) bool { return slices.Contains(x, m.mask) }

func (m *joint) Shape() (sites, levels int) { return m.sites, m.levels }

func (m *joint) LeaveOneOut() bool { return m.loo }

// likelihood returns q(x_t,i = seen | x_0,i = l), up to a factor that does not depend on l.
func (m *joint) likelihood(seen, l int32, alpha float64) float64 {
	if m.mask >= 0 {
		if seen == m.mask || seen == l {
			return 1
		}
		return 0
	}
	w := (1 - alpha) / float64(m.levels)
	if seen == l {
		w += alpha
	}
	return w
}

// posterior returns p(x_0,i = l | x_t) in rows of levels, one per site. Entries are NaN if x_t is
// impossible. clean, if not nil, marks tokens that are known. loo excludes x_t,i from the row of
// site i.
func (m *joint) posterior(x []int32, alpha float64, clean []bool, loo bool) []float64 {
	rows := make([]float64, m.sites*m.levels)
	for i := range m.sites {
		row := rows[i*m.levels : (i+1)*m.levels]
		sum := 0.0
		for k, y := range m.all() {
			p := m.p[k]
			for j, l := range y {
				switch {
				case loo && j == i:
				case clean != nil && clean[j]:
					if l != x[j] {
						p = 0
					}
				default:
					p *= m.likelihood(x[j], l, alpha)
				}
			}
			row[y[i]] += p
			sum += p
		}
		for l := range row {
			row[l] /= sum
		}
	}
	return rows
}

func (m *joint) all() [][]int32 { return laws.States(m.sites, m.levels) }

func (m *joint) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	size := m.sites * m.levels
	for s := range q.States(m.sites) {
		copy(v[s*size:(s+1)*size], m.logs(q.X[s*m.sites:(s+1)*m.sites], q.Alpha[s]))
	}
	return nil
}

// logs returns the logarithms of the posterior, plus a constant in every row.
func (m *joint) logs(x []int32, alpha float64) []float32 {
	key := seen{laws.Index(x, m.levels), alpha, m.loo}
	w, ok := m.memo[key]
	if !ok {
		for _, p := range m.posterior(x, alpha, nil, m.loo) {
			w = append(w, float32(math.Log(p))+3)
		}
		m.memo[key] = w
	}
	return w
}

// evolve returns the distribution after one reverse step in which sites move independently. now
// is the distribution of x_t, and alpha its signal level.
func (m *joint) evolve(now []float64, alpha float64, step func(level int32, p []float64) []float64) []float64 {
	next := make([]float64, len(now))
	for k, x := range m.all() {
		if now[k] == 0 {
			continue
		}
		rows := m.posterior(x, alpha, nil, false)
		for j, v := range product(now[k], m.sites, func(i int) []float64 { return step(x[i], rows[i*m.levels:(i+1)*m.levels]) }) {
			next[j] += v
		}
	}
	return next
}

// product returns the weights of all states if site i has the distribution row(i) and all weights
// sum to the given total. Site 0 varies fastest.
func product(weight float64, sites int, row func(i int) []float64) []float64 {
	all := []float64{weight}
	for i := range sites {
		wider := make([]float64, 0, len(all))
		for _, b := range row(i) {
			for _, a := range all {
				wider = append(wider, a*b)
			}
		}
		all = wider
	}
	return all
}

// prior returns the distribution of x_1, the state at time 1.
func (m *joint) prior() []float64 {
	p := make([]float64, len(m.p))
	for k, x := range m.all() {
		if m.mask < 0 || !slices.ContainsFunc(x, func(l int32) bool { return l != m.mask }) {
			p[k] = 1
		}
	}
	sum := laws.Sum(p)
	for k := range p {
		p[k] /= sum
	}
	return p
}

// softmax returns the probabilities of a row of log-weights.
func softmax(v []float32) []float64 {
	p := make([]float64, len(v))
	top := math.Inf(-1)
	for _, w := range v {
		top = max(top, float64(w))
	}
	sum := 0.0
	for l, w := range v {
		p[l] = math.Exp(float64(w) - top)
		sum += p[l]
	}
	for l := range p {
		p[l] /= sum
	}
	return p
}

// variation returns the total variation distance of p and q.
func variation(p, q []float64) float64 {
	d := 0.0
	for k := range p {
		d += math.Abs(p[k] - q[k])
	}
	return d / 2
}

// MaskedStep returns the step of masked diffusion for one site, for use in ProcessOptions.Step. The
// second and third arguments are the signal levels before and after the step, in ascending order.
// The returned function maps the level of the site and the distribution p of its clean token to the
// distribution of its next level. An unmasked token is masked again with probability sigma.
func MaskedStep(mask int32, at, as, sigma float64) func(level int32, p []float64) []float64 {
	return func(level int32, p []float64) []float64 {
		q := make([]float64, len(p))
		if level != mask {
			q[level], q[mask] = 1-sigma, sigma
			return q
		}
		for l := range q {
			q[l] = (as - (1-sigma)*at) / (1 - at) * p[l]
		}
		q[mask] = (1 - as - sigma*at) / (1 - at)
		return q
	}
}

// uniformStep returns the reverse step for tokens that are replaced by uniform ones. By Bayes'
// rule applied to the forward steps it is Σ_l p(l)·q(x_s | x_t, l). The arguments are those of
// [MaskedStep].
func uniformStep(at, as float64) func(level int32, p []float64) []float64 {
	return func(level int32, p []float64) []float64 {
		forward := func(from, to int, alpha float64) float64 {
			w := (1 - alpha) / float64(len(p))
			if from == to {
				w += alpha
			}
			return w
		}
		q := make([]float64, len(p))
		for l, w := range p {
			if w == 0 {
				continue
			}
			for z := range q {
				q[z] += w * forward(l, z, as) * forward(z, int(level), at/as) / forward(l, int(level), at)
			}
		}
		return q
	}
}
