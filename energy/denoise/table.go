package denoise

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// maxTable is the largest number of entries, states × sites, of a [Table]: 256 MiB at 4 bytes
// each.
const maxTable = 1 << 26

// Table is the exact denoiser of a model with so few states that all can be listed. It predicts
//
//	p(x_0,i = l | x_t) ∝ Σ_{x_0: x_0,i = l} p(x_0) Π_j q(x_t,j | x_0,j),
//
// where p is the model and q(x_t,j | x_0,j) is the probability that the corruption turns token
// x_0,j into x_t,j. A prediction costs one pass over all states. If a corrupted state is impossible
// under the model, its prediction is −Inf everywhere. A Table is immutable and safe for concurrent
// use.
type Table struct {
	sites, k   int
	corruption Corruption
	p          []float64 // probability of each possible state, up to a common factor
	x          []int32   // the possible states, states × sites
}

// NewTable returns the exact denoiser of the model m under the corruption c. It lists all
// levels^sites states. It returns an error if levels^sites·sites exceeds 2²⁶, if an energy is NaN
// or −Inf, or if no state has positive probability.
func NewTable(m energy.Model, c Corruption) (*Table, error) {
	sites, levels, err := check.Model("denoise", "NewTable", "m", m)
	if err != nil {
		return nil, err
	}
	if err := c.check("NewTable"); err != nil {
		return nil, err
	}
	n := 1
	for range sites {
		if n > maxTable/sites/levels {
			return nil, fmt.Errorf("denoise: NewTable: %d^%d states of %d sites, want at most %d entries", levels, sites, sites, maxTable)
		}
		n *= levels
	}
	d := &Table{sites: sites, k: levels, corruption: c}
	x := make([]int32, sites)
	var e [1]float64
	least := math.Inf(1)
	for range n {
		m.Energy(e[:], x)
		if math.IsNaN(e[0]) || math.IsInf(e[0], -1) {
			return nil, fmt.Errorf("denoise: NewTable: E(%v) = %v", x, e[0])
		}
		if !math.IsInf(e[0], 1) {
			least = min(least, e[0])
			d.p = append(d.p, e[0])
			d.x = append(d.x, x...)
		}
		for i := range x {
			if x[i]++; int(x[i]) < levels {
				break
			}
			x[i] = 0
		}
	}
	if len(d.p) == 0 {
		return nil, fmt.Errorf("denoise: NewTable: no state has probability")
	}
	for j, v := range d.p {
		d.p[j] = simd.Exp(least - v)
	}
	normalise(d.p)
	return d, nil
}

// Shape returns the numbers of sites and levels of the model. If the corruption is Absorbing,
// the mask is an additional level.
func (d *Table) Shape() (sites, levels int) { return d.sites, d.corruption.levels(d.k) }

// TimeFree reports whether predictions are independent of time: true for Absorbing, false for
// Noisy.
func (d *Table) TimeFree() bool { return d.corruption == Absorbing }

// MaskLevel returns the level of the mask, or −1 if the corruption is [Noisy], which has no mask.
// It implements [energy.Masking].
func (d *Table) MaskLevel() int32 { return d.corruption.mask(d.k) }

// Denoise stores in v the exact log-posteriors of all tokens; it implements [energy.Denoiser].
func (d *Table) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.corruption.denoise(ctx, v, q, d.sites, d.k, 0, d)
}

func (d *Table) posterior(p, like, _ []float64) {
	clear(p)
	for j, w := range d.p {
		x := d.x[j*d.sites : (j+1)*d.sites]
		for i, l := range x {
			w = float64(w * like[i*d.k+int(l)])
		}
		if w == 0 {
			continue
		}
		for i, l := range x {
			p[i*d.k+int(l)] += w
		}
	}
}
