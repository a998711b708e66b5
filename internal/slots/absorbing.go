package slots

import (
	"cmp"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Absorbing holds the settings and methods shared by all diffusion processes that replace tokens
// by a mask token (absorbing processes).
type Absorbing struct {
	Mask int32 // level that replaces tokens
	// probability that a token is not yet masked (signal level), as a function of time
	Schedule      noise.Schedule
	Sites, Levels int
}

// NewAbsorbing returns an Absorbing for the given number of sites and levels. The error begins with
// caller and names the setting that is invalid.
func NewAbsorbing(caller string, mask int32, schedule noise.Schedule, sites, levels int) (Absorbing, error) {
	c, err := noise.Resolve(caller, schedule)
	if err := cmp.Or(
		check.If(sites < 1 || levels < 1, "%s: Bind: sites = %d, levels = %d, want both ≥ 1", caller, sites, levels),
		check.Entries(caller+": Bind", "sites × levels", sites, levels),
		check.If(mask < 0 || int(mask) >= levels, "%s: Mask = %d, want 0 … %d", caller, mask, levels-1),
		check.If(levels < 2, "%s: levels = %d, want ≥ 2: a mask and a token", caller, levels),
		err,
	); err != nil {
		return Absorbing{}, err
	}
	return Absorbing{Mask: mask, Schedule: c, Sites: sites, Levels: levels}, nil
}

// Alpha returns the signal level ᾱ at time t. This is the probability that a token is not yet
// masked.
func (m *Absorbing) Alpha(t float64) float64 { return m.Schedule.Alpha(t) }

// Prior sets every site of x to the mask.
func (m *Absorbing) Prior(x []int32, _ *sampler.Stream) {
	for i := range x {
		x[i] = m.Mask
	}
}

// Masks reports whether l is the mask.
func (m *Absorbing) Masks(l int32) bool { return l == m.Mask }

// Left returns the number of masks in x.
func (m *Absorbing) Left(x []int32) int {
	n := 0
	for _, l := range x {
		if l == m.Mask {
			n++
		}
	}
	return n
}

// Condition turns a prediction v into the posterior distribution of each site's token given the
// state x. A prediction has one row of log-weights per site. The row of an unmasked token becomes
// one-hot: only this token keeps a weight. In the other rows, the mask loses its weight. The last
// argument says whether predictions ignore each site's own token. It has no effect, because a mask
// carries no information about the token.
func (m *Absorbing) Condition(v []float32, x []int32, _ float64, _ bool) {
	check.Len("diffusion", "v", len(v), len(x)*m.Levels)
	for i, l := range x {
		if row := m.Row(v, i); l == m.Mask {
			row[l] = float32(math.Inf(-1))
		} else {
			OneHot(row, l)
		}
	}
}

// Reveal updates v for a step from state xt to state xs. The rows of v are log-weights of each
// site's clean token x_0. Reveal adds log q(x_s | x_t, x_0), where q is the probability of the step
// at the site. For a token that was unmasked in the step, the row becomes one-hot: only this token
// keeps a weight. For a site that is still masked, the row does not change.
func (m *Absorbing) Reveal(v []float32, xt, xs []int32) {
	check.Len("diffusion", "v", len(v), len(xs)*m.Levels)
	for i, l := range xs {
		if l != m.Mask && l != xt[i] {
			OneHot(m.Row(v, i), l)
		}
	}
}

// Row returns the row of v that belongs to site i.
func (m *Absorbing) Row(v []float32, i int) []float32 { return v[i*m.Levels : (i+1)*m.Levels] }

// Draw draws a token for the masked site i from the site's row of log-weights in v. It first sets
// the weight of the mask to zero. It returns −1 if no token has a positive weight.
func (m *Absorbing) Draw(v []float32, i int, r *sampler.Stream) int32 {
	row := m.Row(v, i)
	row[m.Mask] = float32(math.Inf(-1))
	return Draw(row, r)
}

// Draw draws a level from a row of log-weights, by inverse CDF with a 53-bit uniform. It returns −1
// if no level has a positive weight or if a weight is NaN.
func Draw(row []float32, r *sampler.Stream) int32 {
	var l [1]int32
	u := [1]float64{r.Float64()}
	simd.Categorical(l[:], row, len(row), u[:])
	return l[0]
}

// Empty reports whether no level of a row of log-weights has positive weight. It returns false if
// a weight is NaN or +Inf.
func Empty(row []float32) bool { return undefined(row) < 0 }

// OneHot sets a row of log-weights to 0 at the given level and −Inf at all other levels.
func OneHot(row []float32, level int32) {
	for l := range row {
		row[l] = float32(math.Inf(-1))
	}
	row[level] = 0
}
