package unmask

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// masks is what the steps of this package share: a state of tokens and masks.
type masks struct {
	mask          int32
	schedule      noise.Schedule
	sites, levels int
	p             []float32 // scratch: a row
}

// bind checks what every process here has.
func bind(name string, mask int32, schedule noise.Schedule, sites, levels int) (masks, error) {
	if sites < 1 {
		return masks{}, fmt.Errorf("unmask: %s: sites = %d, want ≥ 1", name, sites)
	}
	if err := check.Entries("unmask: "+name, "sites × levels", sites, levels); err != nil {
		return masks{}, err
	}
	if mask < 0 || int(mask) >= levels {
		return masks{}, fmt.Errorf("unmask: %s: Mask = %d, want 0 … %d", name, mask, levels-1)
	}
	if levels < 2 {
		return masks{}, fmt.Errorf("unmask: %s: levels = %d, want ≥ 2: a mask and a token", name, levels)
	}
	c, err := noise.Resolve("unmask: "+name, schedule)
	if err != nil {
		return masks{}, err
	}
	return masks{mask: mask, schedule: c, sites: sites, levels: levels, p: make([]float32, levels)}, nil
}

// Alpha implements diffusion.Steps.
func (m *masks) Alpha(t float64) float64 { return m.schedule.Alpha(t) }

// Prior masks every token.
func (m *masks) Prior(x []int32, _ *sampler.Stream) {
	for i := range x {
		x[i] = m.mask
	}
}

var _ diffusion.Absorbing = (*masks)(nil)

// Masks implements diffusion.Absorbing.
func (m *masks) Masks(l int32) bool { return l == m.mask }

// left returns the number of masks.
func (m *masks) left(x []int32) int {
	n := 0
	for _, l := range x {
		if l == m.mask {
			n++
		}
	}
	return n
}

// after returns the time at which a share of the sites is expected to be masked:
// what the denoiser is told before the next step. It is 0 for none.
func (m *masks) after(left int) float64 {
	if left <= 0 {
		return 0
	}
	hidden := float64(left) / float64(m.sites)
	return max(m.schedule.Time(1-float64(hidden*(1-m.schedule.Alpha(1)))), math.SmallestNonzeroFloat64)
}

// Condition implements diffusion.Renoiser: one-hot rows for tokens that show, and
// no weight for masks.
func (m *masks) Condition(v []float32, x []int32, _ float64, _ bool) {
	for i, l := range x {
		row := m.row(v, i)
		if l != m.mask {
			for j := range row {
				row[j] = never
			}
			row[l] = 0
		}
		row[m.mask] = never
	}
}

var never = float32(math.Inf(-1))

func (m *masks) row(v []float32, i int) []float32 { return v[i*m.levels : (i+1)*m.levels] }

// draw returns a token for site i, by inverse CDF with a 53-bit uniform.
func (m *masks) draw(v []float32, i int, r *sampler.Stream) (int32, error) {
	var idx [1]int32
	u := [1]float64{r.Float64()}
	row := m.row(v, i)
	row[m.mask] = never
	simd.Categorical(idx[:], row, m.levels, u[:])
	if idx[0] < 0 {
		return 0, m.bad(row, i)
	}
	return idx[0], nil
}

// bad says why a row cannot be drawn from.
func (m *masks) bad(row []float32, i int) error {
	for _, w := range row {
		if w != w || math.IsInf(float64(w), 1) {
			return &diffusion.PredictionError{Site: i}
		}
	}
	return &diffusion.PredictionError{Site: i, Empty: true}
}

// share returns the probability of a token at site i, and the likeliest token
// with its own. A row without weight gives zeros.
func (m *masks) share(v []float32, i int, token int32) (p float64, best int32, top float64) {
	var total [1]float64
	row := m.row(v, i)
	row[m.mask] = never
	simd.Weights(m.p, total[:], row, m.levels, 0)
	if !(total[0] > 0) {
		return 0, token, 0
	}
	var idx [1]int32
	simd.ArgMax(idx[:], row, m.levels)
	return float64(m.p[token]) / total[0], idx[0], float64(m.p[idx[0]]) / total[0]
}

// entropy returns the entropy of the row of site i in nats.
func (m *masks) entropy(v []float32, i int) float64 {
	var h [1]float64
	row := m.row(v, i)
	row[m.mask] = never
	simd.Entropy(h[:], row, m.levels)
	return h[0]
}

// shuffle stores n of the masked sites of x, in random order, at the front of
// sites and returns them; n ≤ the number of masks.
func (m *masks) shuffle(sites []int, x []int32, n int, r *sampler.Stream) []int {
	sites = sites[:0]
	for i, l := range x {
		if l == m.mask {
			sites = append(sites, i)
		}
	}
	n = min(n, len(sites))
	for k := range n {
		j := k + r.IntN(len(sites)-k)
		sites[k], sites[j] = sites[j], sites[k]
	}
	return sites[:n]
}
