package diffusion

import (
	"fmt"
	"math"
)

// potential is what [Particles] keep of a ParticlesConfig.Potential, which may be
// nil.
type potential struct {
	of    func(logG []float64, x []int32, t []float64)
	logG  []float64 // by slot, of the present state; 0 at time 1
	moves []bool    // slots that the step moves

	// What it is asked about.
	slot    []int
	x       []int32
	t, next []float64
}

func newPotential(of func(logG []float64, x []int32, t []float64), slots, sites int) potential {
	if of == nil {
		return potential{}
	}
	return potential{
		of: of, logG: make([]float64, slots), moves: make([]bool, slots), slot: make([]int, 0, slots),
		x: make([]int32, slots*sites), t: make([]float64, slots), next: make([]float64, slots),
	}
}

func (v *potential) begin(i int) {
	if v.of != nil {
		v.logG[i] = 0
	}
}

func (v *potential) copy(dst, src int) {
	if v.of != nil {
		v.logG[dst] = v.logG[src]
	}
}

// before notes which slots are about to move.
func (v *potential) before(time []float64) {
	if v.of == nil {
		return
	}
	for i, t := range time {
		v.moves[i] = t > 0
	}
}

// drop forgets that a slot moves.
func (v *potential) drop(i int) {
	if v.of != nil {
		v.moves[i] = false
	}
}

// weigh multiplies the weights of what has moved by G_s(x_s)/G_t(x_t), and says of
// which slots that fails.
func (v *potential) weigh(d *batch[int32], logW []float64, slots int, fails func(slot int, err error)) {
	if v.of == nil {
		return
	}
	v.slot = v.slot[:0]
	for i := range slots {
		if v.moves[i] {
			copy(v.x[len(v.slot)*d.sites:], d.state(i))
			v.t[len(v.slot)] = d.time[i]
			v.slot = append(v.slot, i)
		}
	}
	n := len(v.slot)
	if n == 0 {
		return
	}
	v.of(v.next[:n], v.x[:n*d.sites], v.t[:n])
	for k, i := range v.slot {
		g := v.next[k]
		if g != g || math.IsInf(g, 1) {
			fails(i, fmt.Errorf("potential = %v, want finite or -Inf", g))
			continue
		}
		logW[i] += g - v.logG[i]
		if v.logG[i] = g; math.IsInf(g, -1) {
			d.time[i], d.known[i] = 0, false
		}
	}
}
