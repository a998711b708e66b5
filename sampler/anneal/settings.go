package anneal

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// newSettings is what all runs of a method on a model must agree on.
func newSettings(m energy.Model, method sampler.Method) *fingerprint.List {
	l := &fingerprint.List{}
	l.Sites, l.Levels = m.Shape()
	addTarget(l.Add, m, method)
	return l
}

func addTarget(add func(name string, value any), m energy.Model, method sampler.Method) {
	check.Must("anneal: Settings", "add", add)
	sites, _ := m.Shape()
	add("sites", sites)
	probe.Target(add, m, method, sampler.NewStream(probe.States, 0).IntN)
}

// digest tells a row of numbers from all others.
func digest(v []float64) string {
	h := uint64(14695981039346656037) // FNV-1a
	for _, f := range v {
		bits := math.Float64bits(f)
		for range 8 {
			h = (h ^ bits&0xff) * 1099511628211
			bits >>= 8
		}
	}
	return fmt.Sprintf("%v … %v by way of %v, digest %016x", v[0], v[len(v)-1], v[len(v)/2], h)
}
