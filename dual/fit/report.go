package fit

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Report measures how far a fit is from its optimum. The residual of parameter k is |d_k|. Here d_k
// is the mean, over a window of steps, of the gradient
//
//	E_data[∂E/∂θ_k] − E_θ[∂E/∂θ_k] + λ₁c_k·sign(θ_k) + λ₂c_kθ_k,
//
// where λ₁ and λ₂ are the weights of the two penalties (Config.L1 and L2), and c_k is the factor of
// parameter k in both penalties (Config.Penalty). If θ_k = 0, the residual is max(0, |m_k| − λ₁c_k)
// instead, where m_k is the mean of the first two terms. The report uses the last complete window.
type Report struct {
	Steps int // number of steps made so far
	// number of steps in the window over which the residuals are averaged; 0 before step 16
	Window   int
	Worst    int     // index of the parameter with the largest residual
	Residual float64 // residual of parameter Worst (see [Report]), ≥ 0, in units of ∂E/∂θ
	StdErr   float64 // standard error of Residual, from the means of 16 parts of the window
	RMS      float64 // root mean square of the residuals of all parameters
	NonZero  int     // number of parameters that are not 0
}

// String returns the report in one line.
func (r Report) String() string {
	return fmt.Sprintf("%d steps: largest residual %.3g ± %.2g (parameter %d), RMS %.3g over %d steps; %d parameters not 0",
		r.Steps, r.Residual, r.StdErr, r.Worst, r.RMS, r.Window, r.NonZero)
}

// Report returns the residuals of the fit so far.
func (f *Fit) Report() Report {
	r := Report{Steps: f.steps}
	if f.res.known {
		r.Window = f.res.window / 2
	}
	squares := 0.0
	for k := range f.theta {
		if f.theta[k] != 0 {
			r.NonZero++
		}
		v := f.residual(k)
		squares += float64(v * v)
		if v > r.Residual {
			r.Worst, r.Residual, r.StdErr = k, v, f.res.se[k]
		}
	}
	r.RMS = math.Sqrt(squares / float64(len(f.theta)))
	return r
}

// residual returns the magnitude of the residual of parameter k.
func (f *Fit) residual(k int) float64 {
	if f.cfg.Fixed != nil && f.cfg.Fixed[k] {
		return 0
	}
	l1, l2 := f.cfg.penalty(k)
	v := f.res.mean[k] + float64(l2*f.theta[k])
	switch {
	case f.theta[k] > 0:
		v += l1
	case f.theta[k] < 0:
		v -= l1
	default:
		v = max(0, math.Abs(v)-l1)
	}
	return math.Abs(v)
}

// Solve makes steps until the residuals of the parameters vanish within the tolerance tol, but at
// most limit steps. Solve checks the residuals after each window of 16, 32, 64, … steps (see
// [Report]). A residual vanishes if it is at most tol plus four standard errors and its standard
// error is at most tol. Solve reports whether all residuals vanished.
func (f *Fit) Solve(ctx context.Context, limit int, tol float64) (bool, error) {
	if limit < 0 {
		return false, fmt.Errorf("fit: Solve: limit = %d, want ≥ 0", limit)
	}
	if !(tol > 0) || !check.Finite(tol) {
		return false, fmt.Errorf("fit: Solve: tol = %v, want positive and finite", tol)
	}
	window, met := f.res.window, false
	err := f.run(ctx, limit, func() bool {
		if f.res.window == window {
			return false
		}
		window = f.res.window
		met = f.met(tol)
		return met
	})
	return met, err
}

// met reports whether the residuals of the last window are 0 within tol and their standard
// errors, as [Fit.Solve] requires.
func (f *Fit) met(tol float64) bool {
	for k := range f.theta {
		if f.res.se[k] > tol || f.residual(k) > tol+float64(4*f.res.se[k]) {
			return false
		}
	}
	return f.res.known
}

// Certificate holds the mean log-likelihood of states under a model, in nats per state.
type Certificate struct {
	LogLik float64 // mean log-likelihood: the mean of −E(x) − log Z

	// standard error of LogLik, from the errors of log Z and of the mean over states
	StdErr float64

	// logarithm log Z of the model's partition function, and its standard error
	LogZ, LogZErr float64
	States        int // number of states over which LogLik is the mean
}

// String returns the certificate in one line.
func (c Certificate) String() string {
	return fmt.Sprintf("log-likelihood %.4f ± %.2g nats a state (%d states; log Z = %.4f ± %.2g)", c.LogLik, c.StdErr, c.States, c.LogZ, c.LogZErr)
}

// Certify returns the mean log-likelihood of the states x under the model m. The states should be
// different from the data to which the model was fitted. The function logZ returns log Z and its
// standard error, for instance from anneal.AIS (annealed importance sampling). If a few of the AIS
// chains have most of the weight, log Z is too low, and the likelihood too high. If logZ is nil,
// energy.Enumerate sums over all states.
func Certify(ctx context.Context, m energy.Model, x []int32, logZ func(context.Context) (value, stdErr float64, err error)) (*Certificate, error) {
	sites, _, err := check.Model("fit", "Certify", "the model", m)
	if err != nil {
		return nil, err
	}
	n := len(x) / sites
	if n == 0 || len(x)%sites != 0 {
		return nil, fmt.Errorf("fit: Certify: len(x) = %d, want a positive multiple of %d", len(x), sites)
	}
	c := &Certificate{States: n}
	if logZ == nil {
		all, err := energy.Enumerate(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("fit: Certify: %w", err)
		}
		c.LogZ = all.LogZ
	} else if c.LogZ, c.LogZErr, err = logZ(ctx); err != nil {
		return nil, fmt.Errorf("fit: Certify: %w", err)
	}
	e := make([]float64, n)
	m.Energy(e, x)
	mean, squares := 0.0, 0.0
	for _, v := range e {
		mean += v / float64(n)
	}
	for _, v := range e {
		squares += float64((v - mean) * (v - mean))
	}
	se := math.Sqrt(squares/float64(max(n-1, 1))) / math.Sqrt(float64(n))
	c.LogLik, c.StdErr = -mean-c.LogZ, math.Hypot(se, c.LogZErr)
	return c, nil
}

// residuals averages the gradient over a window of steps. It divides the window into chunks whose
// means give the standard error. Windows double in length. A new window starts from nothing, and
// is evaluated when it is complete.
type residuals struct {
	window, chunks, in  int // steps of the window, complete chunks, steps of the current chunk
	chunk, sum, squares []float64
	// mean gradient of the last complete window, and its standard error
	mean, se []float64
	known    bool
}

// chunksPerWindow is the number of chunks in a window. With 16, the standard error is itself
// accurate to about a sixth.
const chunksPerWindow = 16

func newResiduals(n int) residuals {
	v := func() []float64 { return make([]float64, n) }
	return residuals{window: chunksPerWindow, chunk: v(), sum: v(), squares: v(), mean: v(), se: v()}
}

// add adds the gradient of one step.
func (r *residuals) add(g []float64) {
	for k, v := range g {
		r.chunk[k] += v
	}
	size := r.window / chunksPerWindow
	if r.in++; r.in < size {
		return
	}
	for k, v := range r.chunk {
		m := v / float64(size)
		r.sum[k] += m
		r.squares[k] += float64(m * m)
	}
	clear(r.chunk)
	r.in = 0
	if r.chunks++; r.chunks < chunksPerWindow {
		return
	}
	r.close(r.mean, r.se)
	clear(r.sum)
	clear(r.squares)
	r.chunks, r.known = 0, true
	r.window *= 2
}

// close stores in mean and se the mean and the standard error over the chunks so far.
func (r *residuals) close(mean, se []float64) {
	n := float64(r.chunks)
	for k, v := range r.sum {
		m := v / n
		mean[k] = m
		se[k] = math.Sqrt(max(0, r.squares[k]/n-float64(m*m)) / (n - 1))
	}
}
