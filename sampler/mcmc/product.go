package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// product multiplies probabilities and takes a single logarithm at the end.
type product struct {
	factor   float64
	exponent int // the product is factor · 2^(−rescaleBy·exponent)
}

// A running factor below 2⁻⁶⁰⁰ is scaled up by 2⁶⁰⁰, so that one more
// probability, at least leastWeight over the number of levels, keeps it normal.
const (
	rescaleBy    = 600
	rescaleBelow = 0x1p-600
	rescale      = 0x1p600
)

func newProduct() product { return product{factor: 1} }

// mul multiplies by the probability q; 0 and NaN stick.
func (p *product) mul(q float64) {
	p.factor *= q
	if p.factor < rescaleBelow && p.factor > 0 {
		p.factor *= rescale
		p.exponent++
	}
}

// log returns the logarithm of the product, −Inf if it is 0.
func (p *product) log() float64 {
	scale := float64(rescaleBy * math.Ln2)
	return simd.Log(p.factor) - float64(float64(p.exponent)*scale)
}
