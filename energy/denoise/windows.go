package denoise

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Windows is the exact denoiser of the kernel density of a data set: the mixture
// of N(w_j, h²I) over all windows w_j, and for h = 0 the empirical distribution
// itself. With u = ᾱh² + 1 − ᾱ,
//
//	E[x_0 | x_t] = Σ_j p_j·(w_j + √ᾱh²/u·(x_t − √ᾱ·w_j)),
//	p_j ∝ exp(−‖x_t − √ᾱ·w_j‖²/2u).
//
// So real data work without a network; for small h the samples are the data,
// blurred. Windows are screened with float32 products, and the ones that can
// have a weight above e⁻⁴⁰ of the largest enter in float64: the result is the
// same on every GOARCH. It is immutable and safe for concurrent use.
type Windows struct {
	sites     int
	bandwidth float64
	top       int
	data      []float32
	square    []float64 // ‖w_j‖²
	longest   float64   // largest ‖w_j‖

	// Of windows that satisfy equations, see Where:
	logw   []float64 // log-weights, or nil
	basis  []float64 // orthonormal rows
	target []float64 // their values
}

// WindowsConfig are the options of [NewWindows]; the zero value is the
// empirical distribution.
type WindowsConfig struct {
	Bandwidth float64 // h ≥ 0, in units of the data
	Top       int     // average the nearest Top windows only; 0 means all that matter
}

// leastWeight is the log of the relative weight below which a window is left
// out: e⁻⁴⁰ of 10⁶ windows is 4e-12 of the result.
const leastWeight = -40

// NewWindows returns the denoiser of windows of the given number of entries,
// row-major in data, which is copied. The error says that there is no window,
// that the length does not fit, that an entry is not finite or an option out of
// range.
func NewWindows(data []float32, sites int, c WindowsConfig) (*Windows, error) {
	switch {
	case sites < 1 || len(data) == 0 || len(data)%sites != 0:
		return nil, fmt.Errorf("denoise: NewWindows: len(data) = %d, want a positive multiple of sites = %d ≥ 1", len(data), sites)
	case !(c.Bandwidth >= 0) || !check.Finite(c.Bandwidth):
		return nil, fmt.Errorf("denoise: NewWindows: Bandwidth = %v, want finite and ≥ 0", c.Bandwidth)
	case c.Top < 0:
		return nil, fmt.Errorf("denoise: NewWindows: Top = %d, want ≥ 0", c.Top)
	}
	w := &Windows{sites: sites, bandwidth: c.Bandwidth, top: c.Top, data: slices.Clone(data)}
	for i, v := range data {
		if !check.Finite(float64(v)) {
			return nil, fmt.Errorf("denoise: NewWindows: data[%d] = %v, want finite", i, v)
		}
	}
	w.measure()
	return w, nil
}

// measure finds the lengths of the windows.
func (w *Windows) measure() {
	w.square = make([]float64, len(w.data)/w.sites)
	for i, v := range w.data {
		w.square[i/w.sites] += float64(float64(v) * float64(v))
	}
	w.longest = math.Sqrt(slices.Max(w.square))
}

// Shape returns the number of entries of a window and 1.
func (w *Windows) Shape() (sites, levels int) { return w.sites, 1 }

// Len returns the number of windows.
func (w *Windows) Len() int { return len(w.square) }

// Denoise implements [energy.Denoiser]. Entries marked clean are known up to the
// bandwidth: they weigh windows by exp(−(x − w)²/2h²) and stay as they are. With
// h = 0 that is an error, because no window has just these values.
func (w *Windows) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	n := w.sites
	states := q.States(n)
	check.Len("denoise", "v", len(v), len(q.X))
	for s := range states {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		x := q.X[s*n : (s+1)*n]
		var clean []bool
		if q.Clean != nil && slices.Contains(q.Clean[s*n:(s+1)*n], true) {
			if clean = q.Clean[s*n : (s+1)*n]; w.bandwidth == 0 {
				return fmt.Errorf("denoise: Windows: clean entries with Bandwidth = 0, want > 0")
			}
		}
		if err := w.denoise(v[s*n:(s+1)*n], x, clean, q.Alpha[s]); err != nil {
			return err
		}
	}
	return nil
}

// denoise predicts one state.
func (w *Windows) denoise(v, x []float32, clean []bool, alpha float64) error {
	n, h2 := w.sites, w.bandwidth*w.bandwidth
	u := float64(alpha*h2) + 1 - alpha
	if !(u > 0) { // no noise at all
		copy(v, x)
		return nil
	}
	near := scratch.Int32s.Get(len(w.square))
	weight := scratch.Float64s.Get(len(w.square) + n)
	state := scratch.Float32s.Get(n)
	defer scratch.Int32s.Put(near)
	defer scratch.Float64s.Put(weight)
	defer scratch.Float32s.Put(state)
	w.place(*state, x, alpha)
	list, p, total, err := w.explain(*near, (*weight)[:len(w.square)], *state, clean, alpha, u)
	if err != nil {
		return err
	}
	mean := (*weight)[len(w.square):]
	w.average(mean, list, p, total)
	signal := math.Sqrt(alpha)
	gain := float64(signal*h2) / u
	for i := range v {
		if v[i] = float32(mean[i] + float64(gain*(float64((*state)[i])-float64(signal*mean[i])))); clean != nil && clean[i] {
			v[i] = x[i]
		}
	}
	return nil
}

// explain returns the windows that may be behind the state x, in list, and their
// weights, in p, with the sum of these.
func (w *Windows) explain(list []int32, p []float64, x []float32, clean []bool, alpha, u float64) ([]int32, []float64, float64, error) {
	list = w.screen(list, p, x, clean, alpha, u)
	p = p[:len(list)]
	top := math.Inf(-1)
	for k, j := range list {
		p[k] = w.prior(int(j)) - float64(w.distance(int(j), x, clean, alpha, u)/2)
		top = max(top, p[k])
	}
	if math.IsNaN(top) || math.IsInf(top, 0) {
		return nil, nil, 0, fmt.Errorf("denoise: Windows: a state is not finite")
	}
	total := 0.0
	for k := range list {
		p[k] = simd.Exp(p[k] - top)
		total += p[k]
	}
	return list, p, total, nil
}

// average stores the mean of the listed windows.
func (w *Windows) average(mean []float64, list []int32, p []float64, total float64) {
	clear(mean)
	for k, j := range list {
		simd.AddWide(mean, p[k], w.window(int(j)))
	}
	for i := range mean {
		mean[i] /= total
	}
}

// prior returns the log-weight of window j.
func (w *Windows) prior(j int) float64 {
	if w.logw == nil {
		return 0
	}
	return w.logw[j]
}

// screen returns the windows that may matter, in list. With clean entries these
// are all. score is scratch.
func (w *Windows) screen(list []int32, score []float64, x []float32, clean []bool, alpha, u float64) []int32 {
	signal, length := math.Sqrt(alpha), 0.0
	for _, a := range x {
		length += float64(float64(a) * float64(a))
	}
	best := math.Inf(-1)
	for j := range score {
		if clean != nil {
			score[j] = w.prior(j) - float64(w.distance(j, x, clean, alpha, u)/2)
		} else {
			score[j] = w.prior(j) + (float64(signal*float64(simd.Dot(x, w.window(j))))-float64(float64(alpha*w.square[j])/2))/u
		}
		best = max(best, score[j])
	}
	// The products are off by at most n·2⁻²³·‖x‖·‖w‖ each.
	slack := 2 * float64(w.sites) * 0x1p-23 * signal * math.Sqrt(length) * w.longest / u
	least := best + leastWeight - slack
	kept := list[:0]
	for j, s := range score {
		if s >= least {
			kept = append(kept, int32(j))
		}
	}
	if w.top == 0 || len(kept) <= w.top {
		return kept
	}
	// Exact distances decide who is among the nearest; ties go to the first.
	for _, j := range kept {
		score[j] = float64(2*w.prior(int(j))) - w.distance(int(j), x, clean, alpha, u)
	}
	slices.SortFunc(kept, func(a, b int32) int {
		if c := cmp.Compare(score[b], score[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	kept = kept[:w.top]
	slices.Sort(kept)
	return kept
}

// distance returns ‖x − √ᾱ·w_j‖²/u, clean entries as they are in units of h².
func (w *Windows) distance(j int, x []float32, clean []bool, alpha, u float64) float64 {
	signal, sum, known := math.Sqrt(alpha), 0.0, 0.0
	if clean == nil {
		return simd.Gap(x, w.window(j), signal) / u
	}
	for i, d := range w.window(j) {
		if clean[i] {
			e := float64(x[i]) - float64(d)
			known += float64(e * e)
			continue
		}
		e := float64(x[i]) - float64(signal*float64(d))
		sum += float64(e * e)
	}
	return sum/u + known/(w.bandwidth*w.bandwidth)
}

func (w *Windows) window(j int) []float32 { return w.data[j*w.sites : (j+1)*w.sites] }

// hold moves x to where its values along the basis are signal times the target.
func (w *Windows) hold(x []float32, signal float64) {
	n := w.sites
	for k, y := range w.target {
		u := w.basis[k*n : (k+1)*n]
		s := float64(signal*y) - simd.Inner(u, x)
		for i, v := range u {
			x[i] = float32(float64(x[i]) + float64(s*v))
		}
	}
}

// place copies a state, without what it has along the basis: that is noise.
func (w *Windows) place(dst, x []float32, alpha float64) {
	copy(dst, x)
	w.hold(dst, math.Sqrt(alpha))
}
