package diffusion

import (
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Guide is a denoiser that may lead the reverse step of [Factorised] steps in
// place of the prediction. Runners find it through energy.As, so a wrapper keeps
// it by answering As; they set Noised.Guided for it.
type Guide interface {
	// Guidance returns the weight γ and what the step is led by: a denoiser
	// without the condition, as in [ClassifierFree], or a classifier, as in
	// [ClassifierGuided]. Both are nil if Denoise does all there is to do.
	Guidance() (scale float64, unconditional energy.Denoiser[int32], by Classifier)
}

// Classifier says how likely a condition y is when one site changes: package
// users supply it through [ExactClassifier], [FirstOrderClassifier] or a type
// of their own.
type Classifier interface {
	// Table stores log p(y | x with x_i = l, t) + c_i for every site i and
	// level l of one state x at time t; −Inf rules a level out. It must be safe
	// for concurrent use.
	Table(dst []float32, x []int32, t float64) error
}

// errUnseen is what a denoiser says whose guidance the caller does not apply.
var errUnseen = errors.New("guidance at the posterior is not seen by the caller; a wrapper has to pass energy.As on")

// leads reports whether the denoiser d leads reverse steps.
func leads(d any) bool {
	g, ok := energy.As[Guide](d)
	if !ok {
		return false
	}
	_, unconditional, by := g.Guidance()
	return unconditional != nil || by != nil
}

// checkInside returns what [noise.Checked] denoisers inside another say, and an
// error if one leads reverse steps, which nobody would see. name is the other's.
func checkInside(name string, inside ...energy.Denoiser[int32]) error {
	for _, d := range inside {
		if c, ok := energy.As[noise.Checked](d); ok {
			if err := c.Check(); err != nil {
				return err
			}
		}
		if leads(d) {
			return fmt.Errorf("diffusion: %s: a denoiser inside is guided at the posterior, want at the prediction", name)
		}
	}
	return nil
}

// checkScale returns an error unless γ is finite and ≥ 0.
func checkScale(name string, gamma float64) error {
	if !(gamma >= 0) || math.IsInf(gamma, 1) {
		return fmt.Errorf("diffusion: %s: Scale = %v, want ≥ 0 and finite", name, gamma)
	}
	return nil
}

// blend stores γ·c + (1−γ)·u in c. What c rules out stays ruled out.
func blend(c, u []float32, gamma float64) {
	if gamma == 1 {
		return
	}
	for i, a := range c {
		switch {
		case gamma == 0:
			c[i] = u[i]
		case !math.IsInf(float64(a), -1):
			c[i] = float32(float64(gamma*float64(a)) + float64((1-gamma)*float64(u[i])))
		}
	}
}

// lean adds γ·c to v. What either rules out stays ruled out.
func lean(v, c []float32, gamma float64) {
	if gamma == 0 {
		return
	}
	for i, w := range v {
		if !math.IsInf(float64(w), -1) {
			v[i] = float32(float64(w) + float64(gamma*float64(c[i])))
		}
	}
}
