package denoise

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// HMM is the exact denoiser of a hidden Markov model. The hidden states z form a Markov chain with
// start and transition probabilities, and each of them emits the token of one site:
//
//	p(x) = Σ_z start(z_0) emit(z_0; x_0) Π_{i≥1} trans(z_{i−1}; z_i) emit(z_i; x_i).
//
// For L sites, H hidden states and K tokens, a prediction takes 2·L·H·(H+K) multiplications
// (forward–backward algorithm). If a corrupted sequence is impossible under the model, its
// prediction is −Inf everywhere. An HMM is immutable and safe for concurrent use.
type HMM struct {
	sites, hidden, k   int
	corruption         Corruption
	start, trans, emit []float64
}

// NewHMM returns the exact denoiser of a hidden Markov model under the corruption c. Sequences have
// the given number of sites. The argument start holds one probability per hidden state. For each
// hidden state, trans has a row of transition probabilities and emit a row of token probabilities.
// The tables are copied.
//
// NewHMM returns an error in these cases:
//
//   - sites < 1, a length does not match, or c is unknown;
//   - an entry is negative or NaN;
//   - start or a row does not sum to 1 within 1e-6.
func NewHMM(sites int, start, trans, emit []float64, c Corruption) (*HMM, error) {
	h := len(start)
	switch {
	case sites < 1:
		return nil, fmt.Errorf("denoise: NewHMM: sites = %d, want ≥ 1", sites)
	case h == 0:
		return nil, fmt.Errorf("denoise: NewHMM: len(start) = 0, want ≥ 1")
	case len(trans) != h*h:
		return nil, fmt.Errorf("denoise: NewHMM: len(trans) = %d, want %d", len(trans), h*h)
	case len(emit) == 0 || len(emit)%h != 0:
		return nil, fmt.Errorf("denoise: NewHMM: len(emit) = %d, want a positive multiple of %d", len(emit), h)
	}
	if err := c.check("NewHMM"); err != nil {
		return nil, err
	}
	m := &HMM{sites: sites, hidden: h, k: len(emit) / h, corruption: c}
	for _, t := range []struct {
		name string
		dst  *[]float64
		src  []float64
		row  int
	}{{"start", &m.start, start, h}, {"trans", &m.trans, trans, h}, {"emit", &m.emit, emit, m.k}} {
		if err := check.Probabilities("denoise", "NewHMM", t.name, t.src, t.row); err != nil {
			return nil, err
		}
		*t.dst = append([]float64(nil), t.src...)
	}
	return m, nil
}

// Shape returns the number of sites and the number of levels of a prediction. If the corruption is
// Absorbing, the mask is one of these levels.
func (m *HMM) Shape() (sites, levels int) { return m.sites, m.corruption.levels(m.k) }

// TimeFree reports whether predictions are independent of time: true for Absorbing, false for
// Noisy.
func (m *HMM) TimeFree() bool { return m.corruption == Absorbing }

// MaskLevel returns the level of the mask, or −1 if the corruption is [Noisy], which has no mask.
// It implements [energy.Masking].
func (m *HMM) MaskLevel() int32 { return m.corruption.mask(m.k) }

// Denoise stores in v the exact log-posteriors of all tokens; it implements [energy.Denoiser].
func (m *HMM) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return m.corruption.denoise(ctx, v, q, m.sites, m.k, (2*m.sites+2)*m.hidden, m)
}

// posterior runs forward–backward on one sequence. ahead[i] is the distribution of z_i given
// tokens 0 … i−1. seen[i] is the likelihood of token i for every z_i.
func (m *HMM) posterior(p, like, b []float64) {
	h, k, n := m.hidden, m.k, m.sites
	ahead, seen := b[:n*h], b[n*h:2*n*h]
	after, before := b[2*n*h:2*n*h+h], b[2*n*h+h:]
	clear(p)
	copy(ahead[:h], m.start)
	for i := range n {
		now, here := ahead[i*h:(i+1)*h], seen[i*h:(i+1)*h]
		total := 0.0
		for z := range here {
			here[z] = simd.Dot64(m.emit[z*k:(z+1)*k], like[i*k:(i+1)*k])
			total += float64(now[z] * here[z])
		}
		if !(total > 0) {
			return
		}
		if i+1 == n {
			break
		}
		next := ahead[(i+1)*h : (i+2)*h]
		clear(next)
		for z, w := range now {
			if w = float64(w*here[z]) / total; w != 0 {
				simd.Axpy64(w, m.trans[z*h:(z+1)*h], next)
			}
		}
	}
	for z := range after {
		after[z] = 1
	}
	for i := n - 1; i >= 0; i-- {
		row := p[i*k : (i+1)*k]
		for z, w := range ahead[i*h : (i+1)*h] {
			if w = float64(w * after[z]); w != 0 {
				simd.Axpy64(w, m.emit[z*k:(z+1)*k], row)
			}
			after[z] = float64(after[z] * seen[i*h+z])
		}
		for l, e := range like[i*k : (i+1)*k] {
			row[l] = float64(row[l] * e)
		}
		for z := range before {
			before[z] = simd.Dot64(m.trans[z*h:(z+1)*h], after)
		}
		normalise(before)
		after, before = before, after
	}
}
