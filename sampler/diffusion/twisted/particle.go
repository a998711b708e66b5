package twisted

import (
	"github.com/gibbsite-go/gibbsite/sampler"
)

// particle is one state of a cloud, and what is known of its clean state: x_0 is
// taken as N(mean, C̃) with C̃ = LLᵀ + c·(I − UᵀU), where L, n × q, has UL = G and so
// UC̃Uᵀ = GGᵀ as the model says, and c is what is left of the trace.
type particle struct {
	number  int
	stream  *sampler.Stream
	z       []float32
	mean    []float64
	product []float64 // UC, q × n; then Lᵀ less its part along U
	open    float64   // trace of C orthogonal to U
	root    []float64 // G, q × q
	mu      []float64 // U·mean
	rest    float64   // c

	precision, centre []float64 // of the sites
	logp              float64   // log of the estimate of what is given
	logw              float64   // log-weight since the last resampling
	err               error
}

func newParticle(r *rows, s *sampler.Stream) *particle {
	n, q, m := r.n, r.q, r.sites()
	return &particle{
		stream: s, z: make([]float32, n), mean: make([]float64, n), product: make([]float64, q*n), root: make([]float64, q*q),
		mu: make([]float64, q), precision: make([]float64, m), centre: make([]float64, m),
	}
}

// copyFrom takes over everything but number and stream.
func (p *particle) copyFrom(o *particle) {
	copy(p.z, o.z)
	copy(p.mean, o.mean)
	copy(p.product, o.product)
	copy(p.root, o.root)
	copy(p.mu, o.mu)
	copy(p.precision, o.precision)
	copy(p.centre, o.centre)
	p.rest, p.logp, p.logw = o.rest, o.logp, o.logw
}
