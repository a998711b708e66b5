package train

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy/neural"
)

// strip is a part of the weights that one worker updates.
type strip struct {
	from, to int
	decays   bool
}

// stripLen bounds a strip, so that few big tensors keep all workers busy.
const stripLen = 1 << 14

// strips cuts the tensors of a network.
func strips(tensors []neural.Tensor) []strip {
	var all []strip
	at := 0
	for _, t := range tensors {
		end := at + len(t.Data)
		for ; at < end; at = min(at+stripLen, end) {
			all = append(all, strip{at, min(at+stripLen, end), len(t.Shape) == 2})
		}
	}
	return all
}

// adam is the state of the optimiser.
type adam struct {
	m, v, average []float32
}

// step describes one update.
type step struct{ rate, c1, c2, clip, decay, average float64 }

func newStep(c Config, n int, norm float64) step {
	k := float64(n + 1)
	return step{
		rate: c.rate(n), c1: 1 / (1 - math.Pow(beta1, k)), c2: 1 / (1 - math.Pow(beta2, k)),
		clip: min(1, c.Clip/norm), decay: c.Decay, average: min(c.Average, (1+k)/(10+k)),
	}
}

// update moves the weights of a strip against the gradient g:
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  w ← w − rate·(c₁m/(√(c₂v) + ε) + decay·w).
func (a *adam) update(w, g []float32, at strip, s step) {
	decay := 0.0
	if at.decays {
		decay = s.decay
	}
	for i := at.from; i < at.to; i++ {
		d := float64(g[i]) * s.clip
		m := float64(beta1*float64(a.m[i])) + float64((1-beta1)*d)
		v := float64(beta2*float64(a.v[i])) + float64((1-beta2)*float64(d*d))
		a.m[i], a.v[i] = float32(m), float32(v)
		move := float64(m*s.c1)/(math.Sqrt(v*s.c2)+epsilon) + float64(decay*float64(w[i]))
		w[i] -= float32(s.rate * move)
		a.average[i] = float32(float64(s.average*float64(a.average[i])) + float64((1-s.average)*float64(w[i])))
	}
}
