package samplertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// target returns the distribution that the method should leave invariant on m. It returns
// errNothing if none is known, if it has a single state, or if the model is too large to
// enumerate.
func (s *subject) target(m energy.Model) ([]float64, error) {
	sites, levels := m.Shape()
	if size(sites, levels) > mostStates {
		return nil, errNothing
	}
	if s.opt.Target != nil {
		p := s.opt.Target(m)
		if p == nil {
			return nil, errNothing
		}
		if len(p) != laws.Size(sites, levels) {
			return nil, fmt.Errorf("Options.Target: len = %d, want %d", len(p), laws.Size(sites, levels))
		}
		return p, nil
	}
	w := laws.Energies(m)
	for k, x := range laws.States(sites, levels) {
		if w[k] = -w[k]; s.opt.Support != nil && !s.opt.Support(x) {
			w[k] = math.Inf(-1)
		}
	}
	if math.IsInf(slices.Max(w), -1) {
		return nil, errNothing
	}
	laws.Normalize(w)
	if slices.Max(w) == 1 {
		return nil, errNothing
	}
	return w, nil
}

// draw fills x with independent states drawn from the distribution p.
func draw(x []int32, p []float64, sites, levels int, r *rand.Rand) {
	for ; len(x) > 0; x = x[sites:] {
		u, k := r.Float64(), 0
		for k < len(p)-1 && u >= p[k] || p[k] == 0 {
			u -= p[k]
			k = (k + 1) % len(p)
		}
		laws.State(x[:sites], k, levels)
	}
}

// move starts each chain at a state stored by the function start, and moves the chain. The slice at
// holds ascending numbers of steps, after each of which move counts the states of the chains. The
// kernel moves one block of chains after the other.
func (s *subject) move(m energy.Model, chains int, at []int, start func(x []int32, r *rand.Rand)) (counts [][]int, err error) {
	sites, levels := m.Shape()
	k, err := s.method.Kernel(s.ctx, m, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	counts = make([][]int, len(at))
	for i := range counts {
		counts[i] = make([]int, laws.Size(sites, levels))
	}
	r := rand.New(rand.NewPCG(s.opt.Seed, 0x1a35))
	x, info, streams := make([]int32, sampler.BlockSize*sites), make([]sampler.Info, sampler.BlockSize), streams(s.opt.Seed)
	for done := 0; done < chains; done += sampler.BlockSize {
		if err := s.ctx.Err(); err != nil {
			return nil, err
		}
		start(x, r)
		first := slices.Clone(x[:sites])
		if err := reset(k, x); err != nil {
			return nil, fmt.Errorf("method Reset at states of positive probability, the first of which is %v: %w", first, err)
		}
		next := 0
		for t := 1; next < len(at); t++ {
			step(k, info, x, streams)
			for i := range info {
				if info[i].Err != nil {
					return nil, fmt.Errorf("step %d, chain %d, now at %v: %w", t, i, x[i*sites:(i+1)*sites], info[i].Err)
				}
			}
			if t == at[next] {
				laws.Tally(counts[next], x, sites, levels)
				next++
			}
		}
	}
	return counts, nil
}

// streams returns one stream per chain of a block.
func streams(seed uint64) []sampler.Stream {
	all := make([]sampler.Stream, sampler.BlockSize)
	for i := range all {
		all[i] = *sampler.NewStream(seed, uint64(i))
	}
	return all
}

// agree returns an error if the counts of states are unlikely for draws from p. The argument tests
// is the number of such tests per model.
func (s *subject) agree(counts []int, p []float64, sites, levels, tests int, what string) error {
	v := laws.PValue(counts, p)
	if v >= laws.Rate/float64(tests*len(s.opt.Models)) {
		return nil
	}
	k, _ := laws.WorstCell(counts, p)
	x := make([]int32, sites)
	laws.State(x, k, levels)
	n := laws.Total(counts)
	return fmt.Errorf("%s: %d of %d chains are at %v, want about %.0f (p-value %.2g, seed %d)", what, counts[k], n, x, float64(n)*p[k], v, s.opt.Seed)
}

// twin returns the model with all energies multiplied by 1.5, and its distribution. It returns
// nil if the method rejects that model, or if the distribution is not known or too close to p.
func (s *subject) twin(p []float64) (energy.Model, []float64) {
	m, err := energy.Scale(s.model, 1.5)
	if err != nil {
		return nil, nil
	}
	if _, err := s.method.Kernel(s.ctx, m, 1); err != nil {
		return nil, nil
	}
	q, err := s.target(m)
	if err != nil {
		return nil, nil
	}
	sites, levels := m.Shape()
	all := laws.States(sites, levels)
	class, from := s.classes(p, all)
	_, to := s.classes(q, all)
	distance := 0.0
	for k := range p {
		if c := class(all[k]); from[c] > 0 {
			distance += math.Abs(p[k]-q[k]*from[c]/to[c]) / 2
		}
	}
	// 0.017 for 131072 draws: at least ten standard deviations of a probability
	if distance < 6/math.Sqrt(float64(s.opt.Draws)) {
		return nil, nil
	}
	return m, q
}

// mostSteps is the maximum number of steps in which a kernel must visibly move.
const mostSteps = 200

func checkInvariance(s *subject) error {
	p, err := s.target(s.model)
	if err != nil {
		return err
	}
	sites, levels := s.model.Shape()
	start := func(x []int32, r *rand.Rand) { draw(x, p, sites, levels, r) }
	several := 3
	if twin, _ := s.twin(p); twin != nil {
		for ; ; several *= 4 {
			if several > mostSteps {
				return fmt.Errorf("in %d steps from the distribution of the model the method does not come near that of one whose energies are half as large again: it does not move, or not by the energy", several/4)
			}
			counts, err := s.move(twin, s.opt.Draws, []int{s.opt.Settle + several}, start)
			if err != nil {
				return fmt.Errorf("with energies half as large again: %w", err)
			}
			if laws.PValue(counts[0], p) < laws.Rate {
				break
			}
		}
	}
	steps := []int{s.opt.Settle + 1, s.opt.Settle + several}
	counts, err := s.move(s.model, s.opt.Draws, steps, start)
	if err != nil {
		return err
	}
	for i, n := range steps {
		if err := s.agree(counts[i], p, sites, levels, len(steps), fmt.Sprintf("after %d steps from draws of the target", n)); err != nil {
			return err
		}
	}
	return nil
}

// mixed is the number of chains used to check whether chains have forgotten their start.
const mixed = 512

func checkMixing(s *subject) error {
	p, err := s.target(s.model)
	if err != nil {
		return err
	}
	sites, levels := s.model.Shape()
	p, first := s.class(p, laws.States(sites, levels))
	if p == nil {
		return errNothing
	}
	total := make([]int, len(p))
	for late := range 2 {
		counts, err := s.move(s.model, mixed/2, []int{s.opt.Mix + late}, func(x []int32, _ *rand.Rand) {
			for i := range x {
				x[i] = first[i%sites]
			}
		})
		if err != nil {
			return err
		}
		for k, n := range counts[0] {
			total[k] += n
		}
	}
	return s.agree(total, p, sites, levels, 1, fmt.Sprintf("after %d steps from %v, half of them after one more", s.opt.Mix, first))
}

// class returns p conditional on its most likely class, and the least likely state of that class.
// It returns nil if the class has a single state.
func (s *subject) class(p []float64, all [][]int32) (given []float64, first []int32) {
	class, weight := s.classes(p, all)
	best := class(all[0])
	for _, x := range all {
		if c := class(x); weight[c] > weight[best] {
			best = c
		}
	}
	given = make([]float64, len(p))
	least := math.Inf(1)
	for k, x := range all {
		if class(x) != best {
			continue
		}
		given[k] = p[k] / weight[best]
		if p[k] > 0 && p[k] < least {
			least, first = p[k], x
		}
	}
	if slices.Max(given) == 1 {
		return nil, nil
	}
	return given, first
}

// classes returns the function Options.Class and the probability of each class under p.
func (s *subject) classes(p []float64, all [][]int32) (class func([]int32) int, weight map[int]float64) {
	class = s.opt.Class
	if class == nil {
		class = func([]int32) int { return 0 }
	}
	weight = map[int]float64{}
	for k, x := range all {
		weight[class(x)] += p[k]
	}
	return class, weight
}

// mostMoved is the maximum number of chains of a runner whose states are counted.
const mostMoved = 4096

func checkStates(s *subject) error {
	p, err := s.target(s.model)
	if err != nil {
		return err
	}
	sites, levels := s.model.Shape()
	r := rand.New(rand.NewPCG(s.opt.Seed, 0x5e7))
	moved := min(s.opt.Draws, mostMoved)
	x := make([]int32, moved*sites)
	draw(x, p, sites, levels, r)
	c, err := sampler.NewChains(s.ctx, s.model, s.method, sampler.Config{Chains: moved, Seed: s.opt.Seed, Warmup: -1, Init: x})
	if err != nil {
		return err
	}
	settled := func(p []float64, what string) error {
		draw(x, p, sites, levels, r)
		if err := c.SetStates(x); err != nil {
			return fmt.Errorf("SetStates %s: %w", what, err)
		}
		if err := c.Run(s.ctx, s.opt.Settle+1); err != nil {
			return fmt.Errorf("method Run %s: %w", what, err)
		}
		counts := make([]int, len(p))
		laws.Tally(counts, c.States(), sites, levels)
		if err := s.agree(counts, p, sites, levels, 2, fmt.Sprintf("%d steps after SetStates %s", s.opt.Settle+1, what)); err != nil {
			return err
		}
		for i, info := range c.Info() {
			if err := s.energyOf(what, i, info.Energy, c.States()[i*sites:(i+1)*sites]); err != nil {
				return err
			}
		}
		return nil
	}
	if err := c.Run(s.ctx, 2); err != nil {
		return err
	}
	if err := settled(p, "to draws of the target"); err != nil {
		return err
	}
	twin, q := s.twin(p)
	if twin == nil {
		return nil
	}
	if err := sampler.Retarget(s.ctx, c, twin); err != nil {
		return fmt.Errorf("sampler.Retarget to energies half as large again: %w", err)
	}
	on := *s
	on.model, s = twin, &on
	return settled(q, "after Retarget, to draws of the new target")
}
