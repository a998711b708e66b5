package twisted

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/span"
)

// mover moves particles. It is the scratch of one worker.
type mover struct {
	*propagation
	clean, noise []float64 // scratch of length n
	along, pull  []float64 // scratch of length q
	gram         []float64 // scratch, q × q
	root         []float64 // factor of the covariance of U·x_0 given x_t and x_s, q × q
	next         []float64 // mean of U·x_0 given x_t and x_s, length q
	product      []float64 // scratch, q × q
}

func newMover(r *rows) *mover {
	return &mover{
		propagation: newPropagation(r), clean: make([]float64, r.n), noise: make([]float64, r.n+1), along: make([]float64, r.q),
		pull: make([]float64, r.q), gram: make([]float64, r.q*r.q), root: make([]float64, r.q*r.q), next: make([]float64, r.q),
		product: make([]float64, r.q*r.q),
	}
}

// absorb converts the mean, product and open of a particle into its approximation of the clean
// state.
func (w *mover) absorb(p *particle) {
	n, q := w.n, w.q
	for i := range q {
		u := w.basis[i*n : (i+1)*n]
		p.mu[i] = span.Dot(u, p.mean)
		// the covariance is symmetric only up to rounding, or up to the error of a
		// network
		for k := range i + 1 {
			p.root[i*q+k] = (span.Dot(u, p.product[k*n:(k+1)*n]) + span.Dot(w.basis[k*n:(k+1)*n], p.product[i*n:])) / 2
		}
	}
	definite(p.root, w.product, w.gram, q)
	cholesky(p.root, q)
	left := p.open
	for i := range q {
		row := p.product[i*n : (i+1)*n]
		w.clear(row)
		for k := range i {
			g := p.root[i*q+k]
			for j, x := range p.product[k*n : (k+1)*n] {
				row[j] -= float64(g * x)
			}
		}
		for j := range row {
			row[j] /= p.root[i*q+i]
		}
		left -= span.Dot(row, row)
	}
	p.rest = 0
	if n > q {
		p.rest = max(0, left) / float64(n-q)
	}
}

// judge sets the sites of a particle and the log of the estimated probability of the constraint
// given its state.
func (w *mover) judge(p *particle) {
	p.logp = w.given(p.mu, p.root)
	p.logp += w.fit(p.precision, p.centre, fitSweeps)
}

// foresee draws the clean state of a particle given the sites and equations. It returns the log
// of their total weight.
func (w *mover) foresee(p *particle) (logp float64) {
	n, q, e := w.n, w.q, w.fixed
	logp = w.given(p.mu, p.root)
	logp += w.evidence(p.precision, p.centre)
	normal.Fill(w.next[:q-e], p.stream)
	backward(w.factor, w.next[:q-e], q-e)
	for k := e; k < q; k++ {
		w.xi[k] = w.mean[k-e] + w.next[k-e]
	}
	normal.Fill(w.clean, p.stream)
	w.clear(w.clean)
	sd := math.Sqrt(p.rest)
	for i, m := range p.mean {
		w.clean[i] = m + float64(sd*w.clean[i])
	}
	lower(w.along, p.root, w.xi, q)
	for k := range q {
		u, l := w.basis[k*n:(k+1)*n], p.product[k*n:(k+1)*n]
		for i := range w.clean {
			w.clean[i] += float64(w.along[k]*u[i]) + float64(w.xi[k]*l[i])
		}
	}
	return logp
}

// step holds the coefficients of x_s = keep·x_t + gain·x_0 + sigma·noise, a draw of x_s given x_t
// and x_0.
type step struct{ keep, gain, sigma float64 }

func newStep(from, to float64) step {
	v := float64((1 - to) / (1 - from) * (1 - from/to))
	keep := math.Sqrt(max(0, 1-to-v) / (1 - from))
	return step{keep, math.Sqrt(to) - float64(keep*math.Sqrt(from)), math.Sqrt(v)}
}

// move draws x_s given the sites and equations, and divides the weight of the particle by the
// twist of the step.
func (w *mover) move(p *particle, s step) {
	if s.sigma == 0 { // the schedule is constant here: x_s = x_t
		p.logw -= p.logp
		return
	}
	before := w.foresee(p)
	normal.Fill(w.noise[:w.n], p.stream)
	for i, z := range p.z {
		x := float32(float64(s.keep*float64(z)) + float64(s.gain*w.clean[i]) + float64(s.sigma*w.noise[i]))
		// from here on, noise is x_s minus its mean given x_t and the mean clean state
		w.noise[i] = float64(x) - float64(s.keep*float64(z)) - float64(s.gain*p.mean[i])
		p.z[i] = x
	}
	w.hindsight(p, s)
	after := w.given(w.next, w.root)
	after += w.evidence(p.precision, p.centre)
	p.logw += before - after - p.logp
}

// hindsight stores in w.next the mean of U·x_0 given x_t and x_s, and in w.root the Cholesky factor
// of its covariance. Let V = σ²I + gain²C̃ be the covariance of x_s, and ρ its deviation from the
// mean. The mean and the covariance are
//
//	U·mean + gain·UC̃V⁻¹ρ,  UC̃Uᵀ − gain²·UC̃V⁻¹C̃Uᵀ = G(I + gain²E)⁻¹Gᵀ,
//
// where E = GᵀG/σ² + LᵀL/(σ² + gain²c), with L in the second term without its part along U.
func (w *mover) hindsight(p *particle, s step) {
	n, q := w.n, w.q
	v := float64(s.sigma * s.sigma)
	b2 := float64(s.gain * s.gain)
	open := v + float64(b2*p.rest)
	for k := range q {
		w.along[k] = span.Dot(w.basis[k*n:(k+1)*n], w.noise) / v
	}
	for k := range q {
		sum := span.Dot(p.product[k*n:(k+1)*n], w.noise) / open
		for i := k; i < q; i++ {
			sum += float64(p.root[i*q+k] * w.along[i])
		}
		w.pull[k] = sum
		for l := range k + 1 {
			g := span.Dot(p.product[k*n:(k+1)*n], p.product[l*n:]) / open
			for i := k; i < q; i++ {
				g += float64(p.root[i*q+k]*p.root[i*q+l]) / v
			}
			w.gram[k*q+l] = float64(b2 * g)
		}
		w.gram[k*q+k]++
	}
	cholesky(w.gram, q)
	forward(w.gram, w.pull, q)
	backward(w.gram, w.pull, q)
	lower(w.next, p.root, w.pull, q)
	for k := range q {
		w.next[k] = p.mu[k] + float64(s.gain*w.next[k])
	}
	// Row i of G·F^{−T} is F⁻¹ times row i of G, where F is the Cholesky factor of I +
	// gain²E.
	half := w.product
	for i := range q {
		row := half[i*q : (i+1)*q]
		clear(row)
		copy(row, p.root[i*q:i*q+i+1])
		forward(w.gram, row, q)
	}
	for i := range q {
		for k := range i + 1 {
			w.root[i*q+k] = span.Dot(half[i*q:(i+1)*q], half[k*q:])
		}
	}
	cholesky(w.root, q)
}

// finish draws the clean state of a particle and stores it as its state. It corrects the weight of
// the particle. If the clean state is not in the set, the weight becomes 0.
func (w *mover) finish(p *particle) {
	before := w.foresee(p)
	site := 0.0
	for k := range w.q {
		w.along[k] = span.Dot(w.basis[k*w.n:(k+1)*w.n], w.clean)
	}
	for j, lo := range w.lo {
		s := span.Dot(w.site[j*w.q:(j+1)*w.q], w.along)
		if s < lo || s > w.hi[j] {
			site = math.Inf(1)
			break
		}
		off := s - p.centre[j]
		site -= float64(p.precision[j] * float64(off*off) / 2)
	}
	p.logw += before - site - p.logp
	if math.IsInf(site, 1) {
		p.logw = math.Inf(-1)
	}
	for i, x := range w.clean {
		p.z[i] = float32(x)
	}
}
