package dual

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Path holds the settings of [Thermodynamic], which estimates log Z(λ) by integration along the
// straight line from the multipliers 0 to λ. The zero value is the recommended setting.
type Path struct {
	// number of points of the trapezoid rule from multipliers 0 to λ (both included), at least
	// 2; 0 means 16
	Points int
	// number of draws per chain that are discarded at each point before the counted draws; 0 means
	// 50, −1 means none
	Discard int
	Draws   int // number of counted draws per chain at each point; 0 means 200
}

// Thermodynamic estimates log Z(λ) − log Z(0) of a target. It returns the estimate and its standard
// error. Here Z(λ) is the partition function of the energy (f0 + λᵀg)/β, with the base energy f0,
// the multipliers λ, the violations g and the temperature β. The estimate is an integral along the
// line from 0 to λ (Kirkwood 1935), by the trapezoid rule:
//
//	log Z(λ) − log Z(0) = −(1/β) ∫₀¹ λᵀE_{uλ}[g] du.
//
// The standard error does not include the bias of the trapezoid rule, of order 1/Points². Raise
// Points until the value no longer changes. When Thermodynamic returns, the target's multipliers
// are λ.
//
// If p_λ is the distribution at λ, the estimate gives the dual function D and the divergence from
// p_0:
//
//	D(λ) = D(0) − β·(log Z(λ) − log Z(0))
//	KL(p_λ‖p_0) = −λᵀE_λ[g]/β − (log Z(λ) − log Z(0))
//
// Thermodynamic returns an error if the target or the primal returns an error, or a field is out of
// range.
func Thermodynamic[S energy.Site](ctx context.Context, t Target[S], p Primal[S], lambda []float64, path Path) (logZ, se float64, err error) {
	if err := cmp.Or(path.fill(), check.Given("dual: Thermodynamic", "t", t), check.Given("dual: Thermodynamic", "p", p)); err != nil {
		return 0, 0, err
	}
	if t.Sites() < 1 || len(lambda) != t.Len() {
		return 0, 0, fmt.Errorf("dual: Thermodynamic: len(lambda) = %d on %d sites, want %d on ≥ 1", len(lambda), t.Sites(), t.Len())
	}
	at, along := make([]float64, t.Len()), make([]float64, path.Draws)
	width := 1 / float64(path.Points-1)
	variance := 0.0
	for k := range path.Points {
		for j, v := range lambda {
			at[j] = float64(v*float64(k)) / float64(path.Points-1)
		}
		means, err := drawMeans(ctx, "Thermodynamic", t, p, at, path.Discard, path.Draws, nil)
		if err != nil {
			return 0, 0, err
		}
		for d := range along {
			along[d] = weighted.Dot(lambda, means[d*len(at):(d+1)*len(at)])
		}
		m, s := batchMeans(len(along), func(t int) float64 { return along[t] })
		w := width / t.Beta()
		if k == 0 || k == path.Points-1 {
			w /= 2
		}
		logZ -= float64(w * m)
		variance += float64(float64(w*s) * float64(w*s))
	}
	return logZ, math.Sqrt(variance), nil
}

// fill checks the path and replaces zero fields by defaults.
func (p *Path) fill() error {
	p.Points, p.Discard, p.Draws = cmp.Or(p.Points, 16), cmp.Or(p.Discard, 50), cmp.Or(p.Draws, 200)
	if p.Discard == -1 {
		p.Discard = 0
	}
	return check.If(p.Points < 2 || p.Discard < 0 || p.Draws < 2, "dual: Path: Points = %d, Discard = %d, Draws = %d, want ≥ 2, ≥ −1 and ≥ 2", p.Points, p.Discard, p.Draws)
}
