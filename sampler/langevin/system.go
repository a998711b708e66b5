package langevin

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// system is a real-valued target and how to move on it.
type system struct {
	target     energy.Scored
	sites      int
	tuned      bool
	step, goal float64
	unadjusted bool
	project    func(x []float32)
}

func (l *system) Name() string { return "langevin" }

func (l *system) String() string { return "langevin" }

func (l *system) Sites() int { return l.sites }

// Start draws standard normal numbers, then projects them.
func (l *system) Start(x []float32, r []sampler.Stream, _ sampler.Transition[float32]) error {
	for i := range r {
		own := x[i*l.sites : (i+1)*l.sites]
		normal.Fill(own, &r[i])
		if l.project != nil {
			l.project(own)
		}
	}
	return nil
}

func (l *system) Check(x []float32, first int) error {
	for i, v := range x {
		if v-v != 0 { // Inf − Inf and NaN
			return fmt.Errorf("site %d of chain %d = %v, want a finite number", i%l.sites, first+i/l.sites, v)
		}
	}
	return nil
}

func (l *system) Energy(e []float64, x []float32) { l.target.Energy(e, x) }

// Settings adds the configuration and what fixed states say of the target and
// of the projection.
func (l *system) Settings(add func(name string, value any)) {
	add("Config.Unadjusted", l.unadjusted)
	add("Config.StepSize tuned", l.tuned)
	add("Config.StepSize", l.step)
	add("Config.Target", l.goal)
	if n, ok := l.target.(sampler.Named); ok {
		add("target", n.Name())
	}
	x := make([]float32, probes*l.sites)
	r := sampler.NewStream(probes, 0)
	normal.Fill(x, r)
	e := make([]float64, probes)
	l.target.Energy(e, x)
	add("energies of test states", e)
	score := make([]float32, len(x))
	l.target.Score(score, x)
	var slopes []float64
	for k := range probes {
		slopes = probe.Spread(slopes, score[k*l.sites:(k+1)*l.sites], shown)
	}
	add("scores of test states", slopes)
	add("Config.Project set", l.project != nil)
	if l.project == nil {
		return
	}
	var moved []float64
	for _, scale := range []float32{1, 30} { // inside most domains, and outside
		for k := range probes {
			y := make([]float32, l.sites)
			for i := range y {
				y[i] = scale * x[k*l.sites+i]
			}
			l.project(y)
			moved = probe.Spread(moved, y, shown)
		}
	}
	add("Config.Project of test states", moved)
}

// probes is the number of states by which targets and projections are told
// apart.
const probes = 4

// shown bounds the coordinates of a state that are compared.
const shown = 32
