package dual

import (
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/normal"
)

// probes is the number of states by which targets are told apart.
const probes = 4

// fingerprint returns the settings that a checkpoint must agree on.
func (i *Inference[S]) fingerprint() *fingerprint.List {
	l := &fingerprint.List{}
	l.Add("multipliers", len(i.lambda))
	l.Add("states", i.batch.States)
	l.Add("sites", i.target.Sites())
	l.Add("Config.Rule", i.cfg.Rule)
	l.Add("Config.Inner", i.cfg.Inner)
	l.Add("Config.Max", i.cfg.most)
	l.Add("Config.Uniform", i.cfg.Uniform)
	l.Add("Config.Diverge", i.cfg.Diverge)
	l.Add("β of the target", i.target.Beta())
	l.Add("violations of test states", i.probe())
	return l
}

// probe returns the violations of fixed states: uniform levels where the target
// knows their number, standard normal reals, or zeros.
func (i *Inference[S]) probe() []float64 {
	src := rand.NewPCG(probes, 0)
	x := make([]S, probes*i.target.Sites())
	switch x := any(x).(type) {
	case []float32:
		normal.Fill(x, src)
	case []int32:
		if m, ok := i.target.(energy.Shaped); ok {
			_, levels := m.Shape()
			for k := range x {
				x[k] = int32(rand.New(src).IntN(levels))
			}
		}
	}
	g := make([]float64, probes*len(i.lambda))
	i.target.Violation(g, x)
	return g
}
