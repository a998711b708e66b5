package anneal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Tempered is a model that also provides models at other inverse temperatures β. These models form
// a path from a constant energy at β = 0 to the original model at β = 1. [AIS] and [SteppingStone]
// follow this path instead of multiplying the energy by β. All models on the path have the
// structure of the original. On the path of a model.RBM, for instance, all models have hidden
// units.
type Tempered interface {
	energy.Model

	// Tempered returns the model on the path at 0 ≤ beta ≤ 1. At beta = 1 its energies are those of
	// the original model. At beta = 0 all states have the same finite energy. The energies are
	// continuous in beta.
	Tempered(beta float64) (energy.Model, error)
}

// path is a sequence of energies that leads from a distribution with a known normaliser to the
// model:
//
//	E_β = (1−β)·E_base + β·E,  or (1−β)·E_base + T_β of a Tempered model,
//
// where the base is uniform (E_base = 0) unless base is set.
type path struct {
	caller        string
	model         energy.Model
	method        sampler.Method // moves the chains along the path
	tempered      Tempered       // the model, if it is Tempered; otherwise nil
	base          energy.Model
	sites, levels int
	betas         []float64
	logZ          float64 // log Z of the distribution at β = 0
	// cumulative probabilities, sites × levels, of a base of independent sites; otherwise nil
	rows   []float64
	drawer *drawer // draws from any other base; otherwise nil

	// allows reports whether a state is in the language of the method; nil before confine.
	allows func(x []int32) bool
}

// newPath checks the model, the method, the base (nil for none) and the schedule with the given
// number of stages. It also checks that the states of all chains fit in memory.
func newPath(caller string, m energy.Model, method sampler.Method, base energy.Model, schedule Schedule, stages, chains int) (*path, error) {
	if check.Nil(method) {
		return nil, fmt.Errorf("anneal: %s: method = nil", caller)
	}
	p := &path{caller: caller, model: m, method: method}
	var err, uneven error
	p.sites, p.levels, err = check.Shape("anneal: "+caller, m, 1, sampler.BlockSize)
	p.betas, uneven = inverses(caller, schedule, stages)
	if err = cmp.Or(err, uneven); err != nil {
		return nil, err
	}
	if most := check.MaxEntries / p.sites; chains > most {
		return nil, fmt.Errorf("anneal: %sConfig.Chains = %d of %d sites, want ≤ %d in a part", caller, chains, p.sites, most)
	}
	p.logZ = float64(float64(p.sites) * simd.Log(float64(p.levels)))
	if t, ok := energy.As[Tempered](m); ok {
		p.tempered = t
		start, err := t.Tempered(0)
		if err != nil {
			return nil, fmt.Errorf("anneal: %s: %w", caller, err)
		}
		e := make([]float64, 1)
		start.Energy(e, make([]int32, p.sites))
		p.logZ -= e[0]
	}
	if base != nil {
		if err := p.setBase(base); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// setBase sets the base to a model of independent sites, or of factors with a graph of low width.
func (p *path) setBase(base energy.Model) error {
	sites, levels, err := check.Model("anneal", p.caller, "Base", base)
	if err != nil {
		return err
	}
	if sites != p.sites || levels != p.levels {
		return fmt.Errorf("anneal: %s: Base has %d sites and %d levels, want %d and %d as the model", p.caller, sites, levels, p.sites, p.levels)
	}
	g, graphical := energy.As[energy.Graphical](base)
	c, conditional := energy.As[energy.Conditional](base)
	p.base = base
	apart := graphical && conditional
	if apart {
		_, adj := g.Graph()
		apart = len(adj) == 0
	}
	if !apart {
		d, logZ, err := newDrawer(base)
		if err != nil {
			return fmt.Errorf("anneal: %s: Base is %T: %w", p.caller, base, err)
		}
		p.drawer = d
		p.logZ += logZ - float64(float64(sites)*simd.Log(float64(levels)))
		return nil
	}
	x, e, d := make([]int32, sites), make([]float64, 1), make([]float64, levels)
	if s, ok := energy.As[energy.Supported](base); ok {
		s.Repair(x)
	}
	if base.Energy(e, x); !check.Finite(e[0]) {
		return fmt.Errorf("anneal: %s: energy of a state of Base = %v, want a finite number", p.caller, e[0])
	}
	p.logZ += -e[0] - float64(float64(sites)*simd.Log(float64(levels)))
	p.rows = make([]float64, 0, sites*levels)
	for i := range sites {
		c.Conditional(d, i, x)
		least, sum := math.Inf(1), 0.0
		for _, v := range d {
			least = min(least, v)
		}
		for _, v := range d {
			sum += simd.Exp(least - v)
			p.rows = append(p.rows, sum)
		}
		p.logZ += simd.Log(sum) - least
	}
	return nil
}

// draw stores in x a state drawn from the distribution at β = 0.
func (p *path) draw(x []int32, r *sampler.Stream) {
	if p.drawer != nil {
		p.drawer.draw(x, r)
		return
	}
	for i := range x {
		if p.base == nil {
			x[i] = int32(r.IntN(p.levels))
			continue
		}
		row := p.rows[i*p.levels : (i+1)*p.levels]
		u, l := float64(r.Float64()*row[p.levels-1]), 0
		for l < p.levels-1 && u >= row[l] {
			l++
		}
		x[i] = int32(l)
	}
}

// drawer draws exact states from a model of factors.
type drawer struct {
	reduced *elimination.Reduced
	run     *elimination.Run
	y       []int32
	src     []rand.Source
}

// newDrawer returns a drawer for a model of factors and the model's log Z.
func newDrawer(m energy.Model) (*drawer, float64, error) {
	var cards []int32
	var scopes [][]int32
	var tables [][]float64
	f, ok := energy.As[energy.Factored](m)
	if ok {
		cards, scopes, tables, ok = f.Factors()
	}
	if !ok {
		return nil, 0, errors.New("want a model of independent sites such as model.Independent, or an energy.Factored one")
	}
	reduced, err := elimination.Reduce(cards, scopes, tables)
	if err != nil {
		return nil, 0, err
	}
	plan, err := elimination.New(context.Background(), reduced.Cards, reduced.Scopes, elimination.Options{})
	if err != nil {
		return nil, 0, err
	}
	d := &drawer{reduced: reduced, run: plan.NewRun(), y: make([]int32, len(reduced.Cards)), src: make([]rand.Source, 1)}
	logZ, err := d.run.Prepare(context.Background(), reduced.Tables)
	return d, logZ, err
}

// draw stores in x a state drawn from the model.
func (d *drawer) draw(x []int32, r *sampler.Stream) {
	d.src[0] = r
	if err := d.run.Draw(context.Background(), d.y, d.src); err != nil {
		panic(err) // Prepare has succeeded with the same tables
	}
	d.reduced.States(x, d.y, 1)
}

// confine finds the language of the method. States outside it have probability zero.
func (p *path) confine(ctx context.Context) error {
	if p.allows != nil {
		return nil
	}
	m, err := p.at(1)
	if err != nil {
		return err
	}
	kernel, err := p.method.Kernel(ctx, m, 1)
	if err != nil {
		return err
	}
	p.allows = func([]int32) bool { return true }
	if c, ok := sampler.As[sampler.Confined](kernel); ok {
		p.allows = c.Allows
	}
	return nil
}

// at returns the model of stage k, where 0 < k < len(betas).
func (p *path) at(k int) (energy.Model, error) {
	m, err := p.part(k)
	if err == nil && p.base != nil && p.betas[k] < 1 {
		var b energy.Model
		if b, err = energy.Scale(p.base, 1-p.betas[k]); err == nil {
			m, err = energy.Sum(m, b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("anneal: %s: stage %d: %w", p.caller, k, err)
	}
	return m, nil
}

// part returns the model of stage k without the base.
func (p *path) part(k int) (energy.Model, error) {
	if p.tempered != nil {
		return p.tempered.Tempered(p.betas[k])
	}
	return energy.Scale(p.model, p.betas[k])
}

// increments returns a function that stores in d the differences E_k − E_{k−1} of the states x.
// For k = 1 the difference is +Inf outside the language of the method. The function is safe for
// concurrent use.
func (p *path) increments(k int) (func(d []float64, x []int32) error, error) {
	f, err := p.differences(k)
	if err != nil || k > 1 {
		return f, err
	}
	return func(d []float64, x []int32) error {
		if err := f(d, x); err != nil {
			return err
		}
		for s := range d {
			if !p.allows(x[s*p.sites : (s+1)*p.sites]) {
				d[s] = math.Inf(1)
			}
		}
		return nil
	}, nil
}

// differences is increments without the language.
func (p *path) differences(k int) (func(d []float64, x []int32) error, error) {
	step := p.betas[k] - p.betas[k-1]
	to, from := p.model, energy.Model(nil)
	if p.tempered != nil {
		var err error
		if to, err = p.part(k); err == nil {
			from, err = p.part(k - 1)
		}
		if err != nil {
			return nil, fmt.Errorf("anneal: %s: stage %d: %w", p.caller, k, err)
		}
	}
	return func(d []float64, x []int32) error {
		to.Energy(d, x)
		for s, v := range d {
			if math.IsNaN(v) || math.IsInf(v, -1) {
				return &energyError{s, v}
			}
		}
		if from != nil {
			subtract(d, 1, from, x)
		} else {
			for s, v := range d {
				d[s] = float64(step * v)
			}
		}
		if p.base == nil {
			return nil
		}
		subtract(d, step, p.base, x)
		for s, v := range d {
			if math.IsNaN(v) || math.IsInf(v, -1) {
				return &energyError{s, math.Inf(-1)} // probability zero under the base
			}
		}
		return nil
	}, nil
}

// subtract subtracts c times the energies of the states x from d.
func subtract(d []float64, c float64, m energy.Model, x []int32) {
	e := scratch.Float64s.Get(len(d))
	defer scratch.Float64s.Put(e)
	m.Energy(*e, x)
	for s, v := range *e {
		d[s] -= float64(c * v)
	}
}

// energyError is the error of a state of a batch whose energy is NaN or −Inf.
type energyError struct {
	state int
	value float64
}

func (e *energyError) Error() string { return fmt.Sprintf("energy = %v", e.value) }

// Unwrap returns [sampler.ErrNaN], so that errors.Is finds it.
func (*energyError) Unwrap() error { return sampler.ErrNaN }

// setting is the name and value of one setting of a run.
type setting struct {
	name  string
	value any
}

// settings adds everything on which the results of a run depend: model, method, schedule, base, and
// the settings in own, which only this kind of run has.
func (p *path) settings(add func(name string, value any), own ...setting) {
	addTarget(add, p.model, p.method)
	for _, s := range append(own, setting{"Schedule", digest(p.betas)}) {
		add(p.caller+"Config."+s.name, s.value)
	}
	if p.rows != nil {
		add(p.caller+"Config.Base", digest(p.rows))
	}
	if p.drawer != nil {
		add(p.caller+"Config.Base", digest(slices.Concat(p.drawer.reduced.Tables...)))
	}
}
