package dual

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// Config holds the settings of an [Inference]. The zero value is one primal draw per dual
// step, [Auto] from λ = 0, and no bound on λ.
type Config struct {
	Rule  Rule      // nil means Auto{}, or AdaGrad{} for more than 2000 multipliers
	Inner int       // primal draws per dual step; 0 means 1
	Start []float64 // initial λ, for instance for a warm start; nil means zeros
	Max   *float64  // upper bound on every |λ_j|, ≥ 0; nil means none, see Run

	// Uniform makes λ̄ and the certificate plain means over all steps, as in theorem 1 of
	// Hadou et al. 2026. Otherwise λ̄ has weights ∝ t², and the certificate omits the first
	// quarter of the steps.
	Uniform bool

	// Diverge is the sum of the multipliers at which a run is abandoned if no sample
	// satisfied the constraints, even if infeasibility could not be proven; 0 means 10⁴.
	// See [DivergedError].
	Diverge float64

	// Observe, if not nil, is called after every dual step with the multipliers at which
	// the batch was drawn and the mean violation of the batch. It must not keep the slices.
	Observe func(step int, lambda, mean []float64)

	// Checkpoint, if it has a Path, saves the loop there as SaveFile does: at the end of
	// every Run, even if its context ended it, and within a Run whenever Every more
	// steps have been made (0: at the end only). A failure to save ends the Run.
	Checkpoint struct {
		Path  string
		Every int
	}

	most float64 // Max, +Inf if that is nil
}

const defaultDiverge = 1e4 // TestDiverges

// Inference is the primal–dual loop. Each dual step sets λ, resets the primal, lets it
// draw, measures the mean violation of the batch of present states and applies the rule.
// All states share λ. To have separate multipliers for groups of chains, run one Inference
// per group, each with its own target and chains.
//
// A run is a function of the configuration and the primal, and does not depend on the
// number of workers. Memory does not grow with the number of steps. Methods must not be
// called concurrently with each other.
type Inference[S energy.Site] struct {
	cfg    Config
	target Target[S]
	primal Primal[S]
	life   session.Session
	state

	rows  []Row
	drawn []float64 // scratch: of the batch in hand
	batch Batch
	g     []float64 // states × n
}

// state is what a checkpoint of a loop holds.
type state struct {
	updater Updater
	lambda  []float64 // of the step in progress, or of the next one
	open    bool      // the step in progress has set λ
	due     int       // draws that the primal must have made at its end
	steps   int
	way     trajectory
	chains  chains
	streak  streak
}

// newState returns the state of a loop before its first step, at the multipliers lambda,
// which it keeps.
func (c *Config) newState(ctx context.Context, lambda []float64, states int) (s state, err error) {
	s = state{lambda: lambda, way: newTrajectory(len(lambda), c.Uniform), chains: newChains(states, len(lambda)), streak: newStreak()}
	s.updater, err = c.Rule.Bind(ctx, len(lambda))
	return s, err
}

// NewInference returns a loop over the target and a primal, which must draw from that
// target. A primal on another model would not follow the multipliers. It is rejected if it
// is [Energetic], as the chains of package sampler are, and its energies do not change with
// λ.
//
// It returns an error if an argument is nil, a field is out of range, the rule returns an
// error, or the primal does not draw from the target.
func NewInference[S energy.Site](ctx context.Context, t Target[S], p Primal[S], cfg Config) (*Inference[S], error) {
	if check.Nil(t) || check.Nil(p) {
		return nil, fmt.Errorf("dual: NewInference: target or primal is nil")
	}
	n, sites := t.Len(), t.Sites()
	rows, equal, err := rowsOf(t, n)
	if err == nil {
		err = cfg.fill(n, equal)
	}
	if err != nil {
		return nil, err
	}
	states := len(p.States()) / sites
	if states < 1 || len(p.States())%sites != 0 {
		return nil, fmt.Errorf("dual: NewInference: the primal has %d entries of states, want a positive multiple of %d", len(p.States()), sites)
	}
	now, err := cfg.newState(ctx, cfg.Start, states)
	if err != nil {
		return nil, err
	}
	if err := belongs(t, p, cfg.Start); err != nil {
		return nil, err
	}
	i := &Inference[S]{
		cfg: cfg, target: t, primal: p, state: now,
		drawn: make([]float64, n),
		batch: Batch{States: states, Beta: t.Beta(), Mean: make([]float64, n), Max: cfg.most, Equal: equal},
		rows:  rows,
		g:     make([]float64, states*n),
	}
	i.life = session.Session{Who: "dual", Checkpoint: cfg.Checkpoint, Len: i.Len, Write: i.write, Read: i.read}
	return i, nil
}

// fill checks the configuration and replaces zeros by defaults.
func (c *Config) fill(n int, equal []bool) error {
	start, most, err := multiplier.Range("dual: Config", n, c.Start, c.Max, equal)
	if err = cmp.Or(
		check.Defaults("dual: Config.", check.Number("Inner", &c.Inner, 0, 1), check.Number("Checkpoint.Every", &c.Checkpoint.Every, 0, 0)),
		err,
		check.If(!(c.Diverge >= 0), "dual: Config.Diverge = %v, want ≥ 0", c.Diverge),
		check.Optional("dual: Config", "Rule", c.Rule),
	); err != nil {
		return err
	}
	c.Start, c.most, c.Diverge = start, most, cmp.Or(c.Diverge, defaultDiverge)
	if c.Rule == nil {
		c.Rule = Auto{}
		if n > autoLargest {
			c.Rule = AdaGrad{}
		}
	}
	return nil
}

// Run makes n dual steps; with n = math.MaxInt it continues until the context ends.
//
// If the context ends, Run returns its error; a later Run continues with the interrupted
// step. If no distribution satisfies the constraints, Run ends with a [*DivergedError]. It
// also ends on a violation that is NaN or infinite, and on an error of the primal or the
// rule. If, after the n steps, mean multipliers are at Config.Max and their constraints are
// still violated, the error is a [*NotConverged] with Tolerance 0. The state is kept in
// every case.
func (i *Inference[S]) Run(ctx context.Context, n int) error {
	if err := i.run(ctx, n); err != nil || math.IsInf(i.cfg.most, 1) || i.steps == 0 {
		return err
	}
	if c := i.Certificate(); c.held() != "" {
		return &NotConverged{i.steps, 0, c}
	}
	return nil
}

func (i *Inference[S]) run(ctx context.Context, n int) error {
	return i.life.Run(ctx, n, func(int) error { return i.step(ctx) })
}

func (i *Inference[S]) step(ctx context.Context) error {
	if err := i.draw(ctx); err != nil {
		return err
	}
	if err := i.measure(); err != nil {
		return err
	}
	i.batch.Step, i.batch.Beta = i.steps, i.target.Beta()
	copy(i.drawn, i.lambda)
	if err := i.updater.Update(i.lambda, &i.batch); err != nil {
		copy(i.lambda, i.drawn)
		return fmt.Errorf("dual: step %d: %w", i.steps, err)
	}
	i.open = false
	i.steps++
	i.way.add(i.drawn, i.batch.Mean)
	if i.batch.States > 1 {
		i.chains.add(i.g, i.batch.Mean)
	}
	if i.cfg.Observe != nil {
		i.cfg.Observe(i.steps-1, i.drawn, i.batch.Mean)
	}
	p, _ := i.target.(Prover)
	if err := i.streak.next(ctx, i.drawn, i.g, i.rows, p, i.cfg.Diverge); err != nil || p == nil || i.steps < firstProof || i.steps&(i.steps-1) != 0 {
		return err
	}
	return i.contradiction(ctx, p)
}

// draw moves the primal to the end of the present step.
func (i *Inference[S]) draw(ctx context.Context) error {
	c, counts := i.primal.(Counter)
	if !i.open {
		if err := i.target.SetLambda(i.lambda); err != nil {
			return err
		}
		if err := i.primal.Reset(); err != nil {
			return fmt.Errorf("dual: step %d: %w", i.steps, err)
		}
		if counts {
			i.due = c.Len() + i.cfg.Inner
		}
		i.open = true
	}
	n := i.cfg.Inner
	if counts {
		n = i.due - c.Len()
	}
	if err := i.primal.Run(ctx, n); err != nil {
		return fmt.Errorf("dual: step %d: %w", i.steps, err)
	}
	return nil
}

// measure fills the batch from the present states.
func (i *Inference[S]) measure() error {
	i.target.Violation(i.g, i.primal.States())
	if err := i.batch.Measure(i.g); err != nil {
		return fmt.Errorf("dual: step %d: %w", i.steps, err)
	}
	return nil
}

// Len returns the number of dual steps made.
func (i *Inference[S]) Len() int { return i.steps }

// Lambda returns a copy of the multipliers for the next step.
func (i *Inference[S]) Lambda() []float64 { return slices.Clone(i.lambda) }

// belongs returns an error if the primal is Energetic and its energies do not change with
// the target's multipliers where λᵀg does. Afterwards, the multipliers are the initial
// ones.
func belongs[S energy.Site](t Target[S], p Primal[S], start []float64) error {
	chains, ok := p.(Energetic[S])
	if !ok {
		return nil
	}
	x, n := p.States(), t.Len()
	states := len(x) / t.Sites()
	g, before, after := make([]float64, states*n), make([]float64, states), make([]float64, states)
	if err := t.SetLambda(start); err != nil {
		return err
	}
	chains.Energy(before, x)
	t.Violation(g, x)
	probe := make([]float64, n)
	for j, l := range start {
		probe[j] = l + float64(j+1)/float64(2*n*(n+1)) // adds a quarter in all
	}
	if err := t.SetLambda(probe); err != nil {
		return nil // out of the target's range: no way to tell
	}
	chains.Energy(after, x)
	if err := t.SetLambda(start); err != nil {
		return err
	}
	for j, l := range start {
		probe[j] -= l
	}
	said := false
	for s, e := range before {
		if after[s] != e {
			return nil
		}
		d := weighted.Dot(probe, g[s*n:(s+1)*n]) / t.Beta()
		// Beyond what rounding may hide.
		said = said || check.Finite(e) && math.Abs(d) > float64(1e-9*(1+math.Abs(e)))
	}
	if said {
		return fmt.Errorf("dual: NewInference: the energies that the primal draws by do not change with the target's multipliers: it runs on another model")
	}
	return nil
}
