package dual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/multiplier"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
	"github.com/gibbsite-go/gibbsite/internal/wire"
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

// Average returns λ̄, the mean of the multipliers over the trajectory with weights ∝ t², or
// with equal weights if Config.Uniform. The convergence theory holds for λ̄, not for the
// last iterate. Before the first step, Average returns the initial multipliers.
func (i *Inference[S]) Average() []float64 {
	if i.steps == 0 {
		return i.Lambda()
	}
	return slices.Clone(i.way.average)
}

// Certificate returns the certificate of the trajectory: λ̄ and the mean violations of all
// samples drawn on the way, without the first quarter unless Config.Uniform. It describes
// programs that use the samples of the loop itself. It returns nil before the first step.
func (i *Inference[S]) Certificate() *Certificate {
	if i.steps == 0 {
		return nil
	}
	c := newCertificate(i.Average(), i.rows, i.batch.States)
	c.Max = i.cfg.most
	for j := range c.Lambda {
		var v, se float64
		v, se, c.Steps = i.way.violation(j)
		skip := 1
		if i.cfg.Uniform {
			skip = 0
		}
		c.agree(j, v, se, i.chains.agreement(j, skip))
	}
	return c
}

// Certify fixes the multipliers at lambda (nil means [Inference.Average]), runs the primal
// for discard draws per chain that are not counted and then for draws draws per chain, and
// returns the certificate of the latter. The certificate has the dual value if the target
// has at most 2²² states and can be enumerated. The next dual step continues from the
// loop's own multipliers.
//
// It returns the errors of Run and SetLambda, and an error if draws is less than 1.
func (i *Inference[S]) Certify(ctx context.Context, lambda []float64, discard, draws int) (*Certificate, error) {
	if err := i.life.Begin(ctx, "Certify", 0); err != nil {
		return nil, err
	}
	defer i.life.End()
	if err := cmp.Or(
		check.If(draws < 1 || discard < 0, "dual: Certify: discard = %d and draws = %d, want ≥ 0 and ≥ 1", discard, draws),
		check.If(i.open, "dual: Certify: step %d was interrupted, finish it first", i.steps),
	); err != nil {
		return nil, err
	}
	if lambda == nil {
		lambda = i.Average()
	}
	lambda = slices.Clone(lambda)
	way := newChains(i.batch.States, len(lambda))
	means, err := drawMeans(ctx, "Certify", i.target, i.primal, lambda, discard, draws, &way)
	if err != nil {
		return nil, err
	}
	c := newCertificate(lambda, i.rows, i.batch.States)
	c.Steps, c.Frozen, c.Max = draws, true, i.cfg.most
	for j := range lambda {
		v, se := batchMeans(draws, func(t int) float64 { return means[t*len(lambda)+j] })
		c.agree(j, v, se, way.agreement(j, 0))
	}
	return c, i.dualValue(ctx, c)
}

// drawMeans sets the multipliers of a target, runs the primal for the discarded draws per
// chain and then for the counted ones, and returns the mean violations of the latter, draws
// × n. way, if not nil, receives the violations of every chain.
func drawMeans[S energy.Site](ctx context.Context, who string, t Target[S], p Primal[S], lambda []float64, discard, draws int, way *chains) (means []float64, err error) {
	if err := t.SetLambda(lambda); err != nil {
		return nil, err
	}
	if err = p.Reset(); err == nil {
		err = p.Run(ctx, discard)
	}
	n := len(lambda)
	g := make([]float64, len(p.States())/t.Sites()*n)
	for range draws { // means grow as they come: draws may be more than ever do
		if err == nil {
			err = p.Run(ctx, 1)
		}
		if err != nil {
			return nil, fmt.Errorf("dual: %s: %w", who, err)
		}
		t.Violation(g, p.States())
		means = append(means, make([]float64, n)...)
		meanOf(means[len(means)-n:], g)
		if way != nil {
			way.add(g, nil)
		}
	}
	return means, nil
}

// dualValue adds the dual value to c if the target knows it.
func (i *Inference[S]) dualValue(ctx context.Context, c *Certificate) error {
	t, ok := i.target.(Enumerable)
	if !ok {
		return nil
	}
	if sites, levels := t.Shape(); countStates(sites, levels) < 0 {
		return nil
	}
	var err error
	c.Dual, err = t.Dual(ctx, c.Lambda)
	c.HasDual = err == nil
	return err
}

// NotConverged reports that the conditions did not hold within the steps allowed. The
// loop's state is kept, and Certificate is the certificate of the trajectory so far.
type NotConverged struct {
	Steps       int     // total number of steps made
	Tolerance   float64 // requested tolerance; 0 if returned by Run, for multipliers at their bound
	Certificate *Certificate
}

func (e *NotConverged) Error() string {
	if e.Tolerance == 0 {
		return fmt.Sprintf("dual: after %d steps %s", e.Steps, e.Certificate.held())
	}
	return fmt.Sprintf("dual: after %d steps %s", e.Steps, e.Certificate.failures(e.Tolerance))
}

// firstCheck is the first step at which Solve checks the conditions, when there
// are a dozen batch means from which to estimate errors; each next check comes an
// eighth later, since a check costs a pass over the trajectory.
const firstCheck = 256

// Solve makes dual steps until the certificate of the trajectory holds within tol, an
// absolute tolerance on violations and slacks. This certificate describes the samples drawn
// on the way; for the distribution at λ̄ use [Inference.Certify]. If the certificate does
// not hold within the given number of further steps, the error is a [*NotConverged]; other
// errors are those of Run.
func (i *Inference[S]) Solve(ctx context.Context, steps int, tol float64) error {
	if err := cmp.Or(check.If(!(tol > 0), "dual: Solve: tol = %v, want > 0", tol), check.If(steps < 0, "dual: Solve: steps = %d, want ≥ 1", steps)); err != nil {
		return err
	}
	end := i.steps + min(steps, math.MaxInt-i.steps)
	for i.steps < end {
		next := min(max(firstCheck, i.steps+i.steps/8), end)
		if err := i.run(ctx, next-i.steps); err != nil {
			return err
		}
		if i.Certificate().Holds(tol) {
			return nil
		}
	}
	if i.steps == 0 {
		return fmt.Errorf("dual: Solve: steps = %d, want ≥ 1", steps)
	}
	return &NotConverged{i.steps, tol, i.Certificate()}
}

// A checkpoint is a frame with the settings, one with the state and one for the end, see
// [session.Frames], followed by the primal's own, if it has one.
const magic = "gibbsite dual 6\n"

// frames are those of a state of the loop.
func (i *Inference[S]) frames(s *state) *session.Frames {
	return &session.Frames{Magic: magic, Settings: i.settings(), Count: 1, Limit: math.MaxInt, Frame: func(f *wire.Fields, _ int) {
		f.Counts("a count of steps", &s.steps, &s.due, &s.streak.steps, &s.streak.proof)
		f.Bool("a step in progress", &s.open)
		f.Float64(&s.streak.margin)
		f.Float64s(s.lambda)
		for j, l := range s.lambda {
			if equal := i.batch.Equal != nil && i.batch.Equal[j]; !(math.Abs(l) <= i.cfg.most) || l < 0 && !equal {
				f.Fail(fmt.Errorf("λ[%d] in the checkpoint = %v, want 0 … Config.Max", j, l))
			}
		}
		f.Sized(s.updater)
		s.way.fields(f)
		s.chains.fields(f)
	}}
}

func (i *Inference[S]) write(w io.Writer) error {
	if !i.open { // a step in progress has not let go of the target
		if err := i.target.SetLambda(i.standing()); err != nil {
			return err
		}
		if err := i.primal.Reset(); err != nil {
			return err
		}
	}
	if err := i.frames(&i.state).Write(w, nil); err != nil {
		return err
	}
	if p, ok := i.primal.(Saver); ok {
		return p.Save(w)
	}
	return nil
}

// standing returns the multipliers that the target and the primal's caches are of.
func (s *state) standing() []float64 {
	if s.open || s.steps == 0 {
		return s.lambda
	}
	return s.way.last
}

func (i *Inference[S]) read(ctx context.Context, r io.Reader) error {
	next, err := i.cfg.newState(ctx, make([]float64, len(i.lambda)), i.batch.States)
	if err == nil {
		err = i.frames(&next).Read(ctx, r, nil)
	}
	if err == nil {
		err = i.target.SetLambda(next.standing())
	}
	if err != nil {
		return err
	}
	if p, ok := i.primal.(Saver); ok {
		if err := p.Load(ctx, r); err != nil {
			return errors.Join(err, i.target.SetLambda(i.standing()))
		}
	}
	i.state = next
	return nil
}

// Save writes a checkpoint of the loop, followed by the primal's checkpoint if it has a
// method Save. After Load the loop continues bit for bit as if it had not stopped. Save
// sets the target to the multipliers of the last dual step, since [Inference.Certify], for
// instance, may have changed them.
func (i *Inference[S]) Save(w io.Writer) error { return i.life.Save(w) }

// Load restores a checkpoint written by Save into a loop built with the same arguments.
// Only Start, Observe and Checkpoint may differ; otherwise the error names the first
// argument that differs. Schedules are compared by their values. Load reads no more than
// the checkpoint. On an error the loop is unchanged, and its target has the multipliers of
// the loop's last step.
func (i *Inference[S]) Load(ctx context.Context, r io.Reader) error { return i.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file path and keeps the previous one as path.old, so
// that no failure loses both; see [sampler.Runner.SaveFile].
func (i *Inference[S]) SaveFile(path string) error { return i.life.SaveFile(path) }

// LoadFile restores a checkpoint written by SaveFile, as Load does. If that file is
// missing or damaged, it restores the previous checkpoint, path.old.
func (i *Inference[S]) LoadFile(ctx context.Context, path string) error {
	return i.life.LoadFile(ctx, path)
}

// probes is the number of states by which targets are distinguished.
const probes = 4

// settings returns the settings that a checkpoint must agree on.
func (i *Inference[S]) settings() *fingerprint.List {
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
