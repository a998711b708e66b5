package anneal

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// saved holds the session of a run and provides its Save and Load methods.
type saved struct{ life session.Session }

// Save writes a checkpoint to w. A run that continues after Load gets the same bits as if it had
// not stopped. For a [Runner], call Run with the number of steps that were left.
func (r *saved) Save(w io.Writer) error { return r.life.Save(w) }

// Load restores a checkpoint into a run that was made with the same arguments. Only Workers and
// Checkpoint may differ and, for a [Runner], also Seed, Init and Progress. If another setting
// differs, such as the schedule, the error names the first such setting. On an error the run is
// unchanged.
func (r *saved) Load(ctx context.Context, in io.Reader) error { return r.life.Load(ctx, in) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure; see [sampler.Runner.SaveFile].
func (r *saved) SaveFile(path string) error { return r.life.SaveFile(path) }

// LoadFile restores a checkpoint that SaveFile saved; see Load. If the file is missing or damaged,
// it restores the previous checkpoint, path.old.
func (r *saved) LoadFile(ctx context.Context, path string) error { return r.life.LoadFile(ctx, path) }

// part describes a range of chains, first … first+count−1, of a run with the given total number
// of chains.
type part struct {
	first, count, chains int
	// settings of the whole run; nil if the part is the whole run
	settings *fingerprint.List
}

// whole reports whether the part is all of the run.
func (p *part) whole() bool { return p.count == p.chains }

// append extends p by the chains of next, which is part i and must begin where p ends.
func (p *part) append(i int, next part) error {
	if next.first != p.first+p.count {
		return fmt.Errorf("part %d begins with chain %d, want %d", i, next.first, p.first+p.count)
	}
	if next.whole() && i == 0 {
		p.count = next.count
		return nil
	}
	if next.settings == nil || p.settings == nil {
		return fmt.Errorf("part %d is no part of a run", i)
	}
	if err := fingerprint.Compare(p.settings, next.settings); err != nil {
		return fmt.Errorf("part %d: %w", i, err)
	}
	p.count += next.count
	return nil
}

// end returns an error unless the part is the whole run.
func (p *part) end() error {
	return check.If(!p.whole(), "the parts end with chain %d, want %d", p.first+p.count-1, p.chains-1)
}

// join returns the run that consecutive parts form. It returns an error unless the parts form a
// whole run. The function of returns the part that a value covers.
func join[T any](things []*T, of func(*T) (part, error)) (all part, err error) {
	for i, t := range things {
		if t == nil {
			return all, fmt.Errorf("anneal: Join: part %d = nil", i)
		}
		next, err := of(t)
		if err != nil {
			return all, fmt.Errorf("anneal: Join: part %d %w", i, err)
		}
		if i == 0 {
			all = part{chains: next.chains, settings: next.settings}
		}
		if err := all.append(i, next); err != nil {
			return all, fmt.Errorf("anneal: Join: %w", err)
		}
	}
	if err := all.end(); err != nil {
		return all, fmt.Errorf("anneal: Join: %w", err)
	}
	return all, nil
}

// newSettings returns the settings of model and method, which must equal the settings in a
// checkpoint.
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

// digest returns a string that identifies the numbers v.
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

// LogZ is an estimate of log Z, where Z = Σ_x exp(−E(x)). The sum is over all levels^sites states.
// If the method confines its chains to a set of states (see [sampler.Confined]), as with a field
// Within, the sum is over that set.
type LogZ struct {
	Value float64 // estimate of log Z, in nats

	// StdErr is the standard error of Value, to first order. It does not account for modes that
	// no chain has visited.
	StdErr float64
}

// logMeanExp returns log((1/n) Σ exp(l_i)) and the relative standard error √(Σ(w/w̄−1)²/(n(n−1)))
// of the mean of the w_i = exp(l_i). Both have the same bits on every processor. If all l_i are
// −Inf, they are −Inf and NaN.
func logMeanExp(l []float64) (mean, relative float64) {
	top := slices.Max(l)
	if math.IsInf(top, -1) {
		return top, math.NaN()
	}
	n := float64(len(l))
	sum := 0.0
	for _, v := range l {
		sum += simd.Exp(v - top)
	}
	w := sum / n
	squares := 0.0
	for _, v := range l {
		d := simd.Exp(v-top)/w - 1
		squares += float64(d * d)
	}
	return top + simd.Log(w), math.Sqrt(squares / float64(n*max(n-1, 1)))
}
