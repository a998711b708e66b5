package network

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// diffusions runs the reverse diffusions of one round.
type diffusions struct {
	lead  pdi.Predictor
	cfg   Config
	frame *frame
	tied  []float64 // λ of dual training; nil for other training
}

// visits records one diffusion. For every step it has the states with their signal levels and
// multipliers. It also has the violations of the final samples. If λ moved, path holds λ per step;
// otherwise path is nil.
type visits struct {
	x         []float32
	alpha     []float64
	lambda    []float64
	violation []float64
	path      []float64
}

// shifted is a predictor whose violations are increased by the vector shift.
type shifted struct {
	pdi.Predictor
	shift []float64
}

func (s shifted) Violation(g []float64, x []float32) {
	s.Predictor.Violation(g, x)
	for i := range g {
		g[i] += s.shift[i%len(s.shift)]
	}
}

// mover predicts the states of a diffusion. Its method at returns the λ of sample s in step k.
type mover interface {
	predict(ctx context.Context, v []float32, q energy.Noised[float32]) error
	at(s, k int) []float64
}

// moving is a [mover] that moves λ by primal–dual inference.
type moving struct{ *pdi.Denoiser }

func (m moving) predict(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	return m.Denoise(ctx, v, q)
}

func (m moving) at(_, k int) []float64 {
	lambda, _ := m.At(k)
	return lambda
}

// still is a [mover] with constant multipliers, one vector for each group of samples.
type still struct {
	lead   pdi.Predictor
	domain func(x []float32)
	lambda []float64
}

func (f still) at(s, _ int) []float64 {
	m := f.lead.Len()
	return f.lambda[s/together*m : (s/together+1)*m]
}

func (f still) predict(_ context.Context, v []float32, q energy.Noised[float32]) error {
	d := f.lead.Sites()
	for from := 0; from < len(q.Alpha); from += together {
		to := min(from+together, len(q.Alpha))
		if err := f.lead.Predict(v[from*d:to*d], q.X[from*d:to*d], q.Alpha[from:to], f.at(from, 0), q.Src[from:to]); err != nil {
			return err
		}
	}
	if f.domain != nil {
		for at := 0; at < len(v); at += d {
			f.domain(v[at : at+d])
		}
	}
	return nil
}

// along runs a diffusion for a bound. In dual training, the diffusion has the λ of that training.
// Otherwise, if path is nil, it is primal–dual inference. If path is not nil, it has constant
// multipliers drawn near those of path.
func (f *diffusions) along(ctx context.Context, bound, path []float64, r *rand.Rand) (*visits, error) {
	m := f.lead.Len()
	groups := (f.cfg.Chains + together - 1) / together
	if f.tied != nil {
		return f.run(ctx, still{f.lead, f.cfg.Domain, slices.Repeat(f.tied, groups)}, r)
	}
	if path == nil {
		cfg := f.cfg.Inference
		cfg.Domain = f.cfg.Domain
		if cfg.Max == nil {
			cfg.Max = limit(f.frame.scale, cfg.Start)
		}
		d, err := pdi.New(ctx, shifted{f.lead, bound}, cfg)
		if err != nil {
			return nil, err
		}
		v, err := f.run(ctx, moving{d}, r)
		if err != nil {
			return nil, err
		}
		for k := range f.cfg.Path {
			lambda, _ := d.At(k)
			v.path = append(v.path, lambda...)
		}
		return v, nil
	}
	s := still{f.lead, f.cfg.Domain, make([]float64, groups*m)}
	for g := range groups {
		at := r.IntN(f.cfg.Path) * m
		near(s.lambda[g*m:(g+1)*m], path[at:at+m], f.frame.scale, stretch*r.Float64(), r)
	}
	return f.run(ctx, s, r)
}

// run runs a diffusion with the predictions of the mover by.
func (f *diffusions) run(ctx context.Context, by mover, r *rand.Rand) (*visits, error) {
	d, m, n, path := f.lead.Sites(), f.lead.Len(), f.cfg.Chains, f.cfg.Path
	q := energy.Noised[float32]{X: make([]float32, n*d), Time: make([]float64, n), Alpha: make([]float64, n), Src: make([]rand.Source, n)}
	v, eps := make([]float32, n*d), make([]float32, d)
	// offset of the time grid, so that every noise level occurs; converted before it is
	// subtracted, so that no compiler fuses the operations
	u := float64(r.Float64())
	alpha := signal(1 - u/float64(path))
	for s := range n {
		q.Src[s] = rand.NewPCG(r.Uint64(), r.Uint64())
		normal.Fill(eps, q.Src[s])
		f.frame.noise(q.X[s*d:(s+1)*d], eps, alpha)
	}
	out := &visits{violation: make([]float64, n*m)}
	for k := range path {
		if err := poll.Err(ctx); err != nil {
			return nil, err
		}
		for s := range n {
			q.Time[s], q.Alpha[s] = float64(path-k)/float64(path), alpha
		}
		if err := by.predict(ctx, v, q); err != nil {
			return nil, err
		}
		out.x, out.alpha = append(out.x, q.X...), append(out.alpha, q.Alpha...)
		for s := range n {
			out.lambda = append(out.lambda, by.at(s, k)...)
		}
		if k+1 == path {
			break
		}
		next := signal((float64(path-k-1) - u) / float64(path))
		for s := range n {
			normal.Fill(eps, q.Src[s])
			f.frame.reverse(q.X[s*d:(s+1)*d], v[s*d:(s+1)*d], eps, alpha, next)
		}
		alpha = next
	}
	f.lead.Violation(out.violation, v)
	for i, g := range out.violation {
		if !check.Finite(g) {
			return nil, fmt.Errorf("violation %d of a sample = %v, want a finite number", i%m, g)
		}
	}
	return out, nil
}
