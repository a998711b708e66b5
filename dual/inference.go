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

// Config holds the settings of an [Inference]. With the zero value, a dual step makes one draw per
// chain, and the rule is [Auto] (or AdaGrad for more than 2000 multipliers). The multipliers λ
// start from 0 and are not bounded.
type Config struct {
	// rule that updates λ; nil means Auto{}, or AdaGrad{} for more than 2000 multipliers
	Rule  Rule
	Inner int       // number of draws that each chain makes in a dual step; 0 means 1
	Start []float64 // initial multipliers λ, for instance from an earlier run; nil means zeros
	Max   *float64  // upper bound on every |λ_j|, ≥ 0; nil means no bound; see [Inference.Run]

	// Uniform gives all steps the same weight in the average λ̄ of the multipliers and in the
	// certificate, as in theorem 1 of Hadou et al. 2026. By default, step t has a weight ∝ t² in
	// λ̄, and the certificate omits the first quarter of the steps.
	Uniform bool

	// Diverge is a limit for the sum Σ_j |λ_j| of the multipliers; 0 means 10⁴. If the sum exceeds
	// this limit and no recent sample satisfies the constraints, Run returns a [DivergedError],
	// even without a proof that the constraints are infeasible.
	Diverge float64

	// Observe, if not nil, is called after every dual step. It receives the multipliers at
	// which the batch was drawn and the mean violation of the batch. It must not keep the
	// slices.
	Observe func(step int, lambda, mean []float64)

	// Checkpoint, if its Path is set, saves the loop to that file and keeps the previous file as
	// Path.old. It saves at the end of every Run, even if the context ended Run. If Every is k > 0,
	// it also saves after every k steps. If saving fails, Run returns the error.
	Checkpoint struct {
		Path  string
		Every int
	}

	most float64 // the value of Max, or +Inf if Max is nil
}

const defaultDiverge = 1e4 // default of Config.Diverge, checked by TestDiverges

// Inference is the primal–dual loop, which finds the multipliers λ of a [Target]. Each dual step
// sets the multipliers of the target, resets the [Primal] and makes new draws. The step then
// measures the mean violation of the new states and updates λ by the [Rule]. All states share λ.
// For separate multipliers, run one Inference per group of chains, each with its own target.
//
// The result of a run depends on the configuration and the primal, not on the number of workers.
// Methods must not be called concurrently with each other.
type Inference[S energy.Site] struct {
	cfg    Config
	target Target[S]
	primal Primal[S]
	life   session.Session
	state

	rows  []Row
	drawn []float64 // scratch: multipliers at which the current batch was drawn
	batch Batch
	g     []float64 // violations of the present states, states × n
}

// state is the part of an Inference that a checkpoint stores.
type state struct {
	updater Updater
	lambda  []float64 // multipliers of the step in progress, or of the next step
	open    bool      // whether a step is in progress, with λ set on the target
	due     int       // total draws per chain that the primal must have made at the end of the step
	steps   int
	way     trajectory
	chains  chains
	streak  streak
}

// newState returns the state of a loop before its first step. The state starts at the multipliers
// lambda and keeps the slice.
func (c *Config) newState(ctx context.Context, lambda []float64, states int) (s state, err error) {
	s = state{lambda: lambda, way: newTrajectory(len(lambda), c.Uniform), chains: newChains(states, len(lambda)), streak: newStreak()}
	s.updater, err = c.Rule.Bind(ctx, len(lambda))
	return s, err
}

// NewInference returns a loop that finds the multipliers of the target t. The primal p is the
// sampler and must draw from t. If p is [Energetic], such as the chains of package sampler,
// NewInference checks this: it rejects a primal whose energies do not change with λ.
//
// NewInference returns an error if an argument is nil, if a field is out of range, if the rule
// returns an error, or if p is rejected.
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

// fill checks the configuration for n multipliers and replaces zero fields by defaults. equal
// marks the multipliers of equalities.
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

// Run makes n dual steps. With n = math.MaxInt it continues until ctx ends.
//
// If ctx ends, Run returns the error of ctx, and a later Run continues the interrupted step. Other
// errors are
//
//   - a [*DivergedError] if no distribution seems to satisfy the constraints;
//   - a [*NotConverged] with Tolerance 0 if, after n steps, the average of a multiplier is
//     Config.Max and its constraint is still violated;
//   - an error that names the constraint if a mean violation is NaN or infinite;
//   - an error of the primal or the rule.
//
// The loop keeps its state after every error.
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

// draw starts a dual step, or continues an interrupted one, and runs the primal to the end of the
// step.
func (i *Inference[S]) draw(ctx context.Context) error {
	c, counts := i.primal.(Counter)
	if !i.open {
		if err := i.enter(); err != nil {
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

// enter sets the target to the multipliers of the step. A target may reject multipliers that a rule
// has chosen; then enter halves the step, several times if needed.
func (i *Inference[S]) enter() error {
	err := i.target.SetLambda(i.lambda)
	if err == nil || i.steps == 0 {
		return err
	}
	for range mostHalvings {
		for j, last := range i.way.last {
			i.lambda[j] = last + (i.lambda[j]-last)/2
		}
		if i.target.SetLambda(i.lambda) == nil {
			return nil
		}
	}
	return fmt.Errorf("dual: step %d: the multipliers are pressed against the limit of the target; relax the constraints, or take smaller steps: %w", i.steps, err)
}

// mostHalvings is the number of times that a step of the multipliers is halved.
const mostHalvings = 20

// measure computes the violations of the present states and stores their statistics in the batch.
func (i *Inference[S]) measure() error {
	i.target.Violation(i.g, i.primal.States())
	if err := i.batch.Measure(i.g); err != nil {
		return fmt.Errorf("dual: step %d: %w", i.steps, err)
	}
	return nil
}

// Len returns the number of completed dual steps.
func (i *Inference[S]) Len() int { return i.steps }

// Lambda returns a copy of the multipliers for the next step.
func (i *Inference[S]) Lambda() []float64 { return slices.Clone(i.lambda) }

// belongs checks that the primal runs on the target's model. It returns an error if the primal is
// [Energetic] and its energies do not follow a change of λᵀg. On return the multipliers of the
// target are those in start.
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
		probe[j] = l + float64(j+1)/float64(2*n*(n+1)) // adds 1/4 in total
	}
	if err := t.SetLambda(probe); err != nil {
		return nil // the target rejects these multipliers: no check is possible
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
		// larger than rounding can explain
		said = said || check.Finite(e) && math.Abs(d) > float64(1e-9*(1+math.Abs(e)))
	}
	if said {
		return fmt.Errorf("dual: NewInference: the energies that the primal draws by do not change with the target's multipliers: it runs on another model")
	}
	return nil
}

// Average returns the weighted mean λ̄ of the multipliers over all steps. The weight of step t is ∝
// t² or, if Config.Uniform is set, constant. The convergence theory holds for λ̄, not for the
// multipliers of the last step. Before the first step, Average returns the initial multipliers.
func (i *Inference[S]) Average() []float64 {
	if i.steps == 0 {
		return i.Lambda()
	}
	return slices.Clone(i.way.average)
}

// Certificate returns the certificate of the samples that the loop has drawn while λ moved. Use it
// if these samples are the result; for the distribution at the average λ̄ use [Inference.Certify].
// Unless Config.Uniform is set, the certificate omits the first quarter of the steps. Certificate
// returns nil before the first step.
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

// Certify returns the certificate of new samples at the fixed multipliers lambda, or at
// [Inference.Average] if lambda is nil. In each chain, it first skips as many draws as the argument
// discard, and then uses as many as the argument draws. The certificate includes the dual value if
// the target can be enumerated and has at most 2²² states. The next dual step uses the multipliers
// of the loop again.
//
// Certify returns an error of the primal or of SetLambda. It also returns an error if draws < 1,
// discard < 0 or a step was interrupted.
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

// drawMeans sets the multipliers of a target and runs the primal. It discards the first draws per
// chain and returns the mean violations of the draws after them, draws × n. If way is not nil,
// drawMeans also adds the violations of every chain to the accumulator way.
func drawMeans[S energy.Site](ctx context.Context, who string, t Target[S], p Primal[S], lambda []float64, discard, draws int, way *chains) (means []float64, err error) {
	if err := t.SetLambda(lambda); err != nil {
		return nil, err
	}
	if err = p.Reset(); err == nil {
		err = p.Run(ctx, discard)
	}
	n := len(lambda)
	g := make([]float64, len(p.States())/t.Sites()*n)
	for range draws { // means grows as needed: draws may be larger than the number ever made
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

// dualValue adds the dual value to c if the target can compute it by enumeration.
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

// NotConverged is the error of a loop whose optimality conditions do not hold after the allowed
// number of steps. The loop keeps its state. The field Certificate describes all samples so far.
type NotConverged struct {
	Steps int // total number of steps made
	// requested tolerance; 0 if Run returned the error because multipliers are at Config.Max
	Tolerance   float64
	Certificate *Certificate
}

func (e *NotConverged) Error() string {
	if e.Tolerance == 0 {
		return fmt.Sprintf("dual: after %d steps %s", e.Steps, e.Certificate.held())
	}
	return fmt.Sprintf("dual: after %d steps %s", e.Steps, e.Certificate.failures(e.Tolerance))
}

// firstCheck is the step at which Solve first checks the conditions. By then about twelve batch
// means are available to estimate errors. Each later check comes after an eighth more steps,
// because a check costs a pass over the trajectory.
const firstCheck = 256

// Solve makes dual steps until the optimality conditions hold within the tolerance tol, but at most
// the given number of further steps. The conditions are tested by [Certificate.Holds] on
// [Inference.Certificate]. This certificate describes the samples drawn while λ moved; for the
// distribution at the average λ̄ use [Inference.Certify]. If the conditions do not hold after these
// steps, the error is a [*NotConverged]. Solve also returns the errors of [Inference.Run].
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

// magic starts a checkpoint of a loop. A checkpoint holds three frames (see [session.Frames]),
// which contain, in order, the settings, the state, and an end mark. The primal's own checkpoint
// follows, if the primal has one.
const magic = "gibbsite dual 6\n"

// frames describes the checkpoint frames that store the state s of the loop.
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
	if !i.open { // during an open step the target and the primal already agree
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

// standing returns the multipliers of the last step that set them. The target and the caches of the
// primal have these multipliers.
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

// Save writes a checkpoint of the loop to w. If the primal has a method Save, its checkpoint
// follows. A loop that loads the checkpoint continues bit for bit. Save first sets the target to
// the multipliers of the last dual step, because calls such as [Inference.Certify] may have changed
// them.
func (i *Inference[S]) Save(w io.Writer) error { return i.life.Save(w) }

// Load restores a checkpoint written by Save into a loop built with the same arguments. Only Start,
// Observe and Checkpoint may differ. If anything else differs, the error names the first
// difference. Schedules are compared by their values. Load reads no further than the end of the
// checkpoint. If Load returns an error, the loop is unchanged, and the target has the multipliers
// of the loop's last step.
func (i *Inference[S]) Load(ctx context.Context, r io.Reader) error { return i.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure. See [sampler.Runner.SaveFile].
func (i *Inference[S]) SaveFile(path string) error { return i.life.SaveFile(path) }

// LoadFile restores a checkpoint written by [Inference.SaveFile]. If the file is missing or
// damaged, LoadFile restores the previous checkpoint, path.old. The rules of [Inference.Load]
// apply.
func (i *Inference[S]) LoadFile(ctx context.Context, path string) error {
	return i.life.LoadFile(ctx, path)
}

// probes is the number of fixed states whose violations identify a target in checkpoints.
const probes = 4

// settings returns the settings that must be equal in a checkpoint and in the loop that loads the
// checkpoint.
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

// probe returns the violations of a few fixed states. The states have uniform levels if the
// target has a known number of levels, and standard normal values if they are real. Otherwise
// they are 0.
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
