package anneal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// SteppingStone estimates log Z by stepping-stone sampling (Xie, Lewis, Fan, Kuo and Chen 2011),
// where Z = Σ_x exp(−E(x)) is the normaliser of a model. It runs chains at inverse temperatures 0 =
// β_0 < … < β_K = 1 and adds up the log-ratios of neighbouring normalisers,
//
//	log Z = log Z_0 + Σ_k log ⟨exp(E_{k−1}(x) − E_k(x))⟩_{k−1}.
//
// Here E_k is the energy at β_k, as in [AIS]. The mean ⟨·⟩_k is over draws from exp(−E_k), and Z_0
// is the normaliser of the base distribution. The draws for k = 0 are independent. The chains of a
// stage start from the last states of the previous stage, and may adapt during its warm-up.
//
// The chains must mix at every temperature, unlike those of [AIS]. If they do, SteppingStone is
// more precise at the same cost. StdErr is computed with [diagnose.MCSEMean]. The last digits of
// StdErr may differ between processors; Value has the same bits everywhere.
//
// SteppingStone returns an error if a setting is out of range, and the errors of
// [sampler.Runner.Run]. It returns [sampler.ErrZero] if all draws from the base in a block of
// chains have probability zero. Use a [SteppingStoneRunner] for a run that can stop and resume.
func SteppingStone(ctx context.Context, m energy.Model, method sampler.Method, cfg SteppingStoneConfig) (LogZ, error) {
	r, err := NewSteppingStone(m, method, cfg)
	if err != nil {
		return LogZ{}, err
	}
	return r.Run(ctx)
}

// SteppingStoneConfig holds the settings of stepping-stone sampling, which estimates the log of a
// model's normaliser from chains at several temperatures (see [SteppingStone]). The zero value runs
// 8 chains through 30 stages, one per temperature, each with 200 steps of warm-up and 1000 draws.
type SteppingStoneConfig struct {
	Chains  int    // number of chains of the whole run; 0 means 8
	Seed    uint64 // seed of the run, from which the seed of every stage is derived
	Workers int    // number of goroutines; 0 means GOMAXPROCS; does not change results

	// First and Count select the chains of a part of a run, as in [AISConfig].
	// [SteppingStoneRunner.Join] combines the parts.
	First, Count int

	Stages int // number of stages, one per temperature; 0 means 30
	// Warmup is the number of warm-up steps of every stage, before its first draw; 0 means 200, and
	// −1 means none.
	Warmup int
	Draws  int // number of draws per chain and stage, at least 6; 0 means 1000

	// Schedule(t) is the inverse temperature β after the fraction t of the run, 0 ≤ t ≤ 1. It
	// ascends from Schedule(0) = 0 to Schedule(1) = 1. Nil means Power(1/0.3), recommended by Xie
	// et al. 2011 (quantiles of a Beta(0.3, 1) distribution).
	Schedule Schedule

	Base energy.Model // distribution at β = 0; nil means uniform; see [AISConfig]

	// Checkpoint makes Run save the run to the file Path, as SaveFile does. An empty Path means no
	// checkpoints. Run saves when it ends, even if the context ended. If Every is k > 0, it also
	// saves after every k draws of each chain. If saving fails, Run returns the error.
	Checkpoint struct {
		Path  string
		Every int
	}
}

const (
	defaultStones      = 30
	defaultStoneChains = 8
	defaultStoneWarmup = 200
	defaultStoneDraws  = 1000
	stoneShape         = 0.3
)

// Part returns cfg with First and Count set to part k of n nearly equal parts of the run; see
// [sampler.Config.Part].
func (cfg SteppingStoneConfig) Part(k, n int) (SteppingStoneConfig, error) {
	err := session.Cut("anneal: SteppingStoneConfig", &cfg.Chains, &cfg.First, &cfg.Count, defaultStoneChains, 0, k, n)
	return cfg, err
}

// fill checks the configuration and replaces zero fields by their defaults. NewChains checks the
// rest.
func (cfg *SteppingStoneConfig) fill() (err error) {
	few := cfg.Draws < 0 || cfg.Draws > 0 && cfg.Draws < diagnose.MinDraws
	if err := cmp.Or(check.If(few, "anneal: SteppingStoneConfig.Draws = %d, want ≥ %d (0 for the default)", cfg.Draws, diagnose.MinDraws), check.Defaults("anneal: SteppingStoneConfig.",
		check.Number("Chains", &cfg.Chains, 0, defaultStoneChains), check.Number("Stages", &cfg.Stages, 0, defaultStones),
		check.Number("Workers", &cfg.Workers, 0, 0), check.Number("Warmup", &cfg.Warmup, -1, defaultStoneWarmup),
		check.Number("Draws", &cfg.Draws, 0, defaultStoneDraws), check.Number("Checkpoint.Every", &cfg.Checkpoint.Every, 0, 0),
	)); err != nil {
		return err
	}
	if cfg.Count, err = session.Count("anneal: SteppingStoneConfig", cfg.Chains, session.Block(cfg.Chains), cfg.First, cfg.Count); err != nil {
		return err
	}
	if cfg.Schedule == nil {
		cfg.Schedule = Power(1 / stoneShape)
	}
	most := check.MaxEntries / cfg.Count
	return check.If(cfg.Draws > most, "anneal: SteppingStoneConfig.Draws = %d of %d chains, want ≤ %d", cfg.Draws, cfg.Count, most)
}

// SteppingStoneRunner is a run of [SteppingStone] that can stop at any draw and resume, in the same
// process or from a checkpoint in another process. Create it with [NewSteppingStone]. Its methods
// must not be called concurrently with each other.
type SteppingStoneRunner struct {
	saved
	*path
	cfg SteppingStoneConfig

	terms  []term          // contributions to log Z of the finished stages
	rows   [][][]float64   // per stage: log-weights, chains × draws; nil if not kept
	x      []int32         // initial states of the chains of the current stage
	chains *sampler.Chains // chains of the current stage; nil between stages
	open   bool            // the checkpoint contains chains
	e      []float64
}

// term is the contribution of a stage to log Z, with its standard error.
type term struct{ value, relative float64 }

// NewSteppingStone returns a run of [SteppingStone] that is ready to start. It returns an error if
// a setting is out of range. It does not check whether the method fits the model; Run does.
func NewSteppingStone(m energy.Model, method sampler.Method, cfg SteppingStoneConfig) (*SteppingStoneRunner, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	way, err := newPath("SteppingStone", m, method, cfg.Base, cfg.Schedule, cfg.Stages, cfg.Count)
	if err != nil {
		return nil, err
	}
	r := newSteppingStoneRunner(way, cfg)
	r.life = session.Session{Who: "anneal: SteppingStone", Checkpoint: cfg.Checkpoint, Len: r.made, Write: r.write, Read: r.read}
	return r, nil
}

func newSteppingStoneRunner(way *path, cfg SteppingStoneConfig) *SteppingStoneRunner {
	return &SteppingStoneRunner{
		path: way, cfg: cfg,
		rows: make([][][]float64, len(way.betas)-1), x: make([]int32, cfg.Count*way.sites), e: make([]float64, cfg.Count),
	}
}

// Stage returns the number of finished stages (temperatures), 0 … SteppingStoneConfig.Stages.
func (r *SteppingStoneRunner) Stage() int { return len(r.terms) }

// made returns the number of draws made per chain. The last draw of a stage counts only when the
// stage is finished.
func (r *SteppingStoneRunner) made() int {
	n := len(r.terms) * r.cfg.Draws
	if r.chains != nil {
		n += min(r.chains.Len(), r.cfg.Draws-1)
	}
	return n
}

// Run runs all remaining stages and returns the estimate. The estimate of a part covers only its
// own chains. If the context ends, a later Run continues where this one stopped. Run returns the
// same errors as [SteppingStone], and an error if another Run is under way. Once all stages are
// done, Run returns the same estimate again.
func (r *SteppingStoneRunner) Run(ctx context.Context) (LogZ, error) {
	if err := r.life.BeginSaving(ctx, "Run", 0); err != nil {
		return LogZ{}, err
	}
	defer r.life.End()
	if err := r.confine(ctx); err != nil {
		return LogZ{}, err
	}
	left := len(r.rows)*r.cfg.Draws - r.made()
	if err := r.life.Finish(ctx, r.life.Advance(ctx, left, func(to int) error { return r.advance(ctx, to) })); err != nil {
		return LogZ{}, err
	}
	return r.estimate(r.terms), nil
}

// advance continues to the end of the current stage or to the given number of draws, whichever is
// first.
func (r *SteppingStoneRunner) advance(ctx context.Context, to int) error {
	k := len(r.terms)
	if done, err := r.draw(ctx, k, to-k*r.cfg.Draws); err != nil || !done {
		return err
	}
	value, relative, err := stone(r.rows[k], k > 0)
	if err != nil {
		return fmt.Errorf("anneal: SteppingStone: stage %d: %w", k, err)
	}
	if r.chains != nil {
		copy(r.x, r.chains.States())
		r.chains = nil
	}
	r.terms = append(r.terms, term{value, relative})
	if r.cfg.Count == r.cfg.Chains {
		r.rows[k] = nil
	}
	return nil
}

// draw continues to the given number of draws of stage k and reports whether the stage is
// complete.
func (r *SteppingStoneRunner) draw(ctx context.Context, k, to int) (done bool, err error) {
	if k == 0 {
		return true, r.uniform(ctx)
	}
	if r.chains == nil {
		if r.chains, err = r.stageChains(ctx, k); err != nil {
			return false, err
		}
		r.rows[k] = r.newRows()
	}
	err = r.chains.Run(ctx, max(0, min(to, r.cfg.Draws)-r.chains.Len()))
	return r.chains.Len() == r.cfg.Draws, err
}

func (r *SteppingStoneRunner) newRows() [][]float64 {
	rows := make([][]float64, r.cfg.Count)
	for s := range rows {
		rows[s] = make([]float64, r.cfg.Draws)
	}
	return rows
}

// uniform makes the draws of stage 0, which are independent draws from the base. It also finds an
// initial state of positive probability for every chain: a draw of the chain, or a draw of another
// chain in the same block.
func (r *SteppingStoneRunner) uniform(ctx context.Context) error {
	rows := r.newRows()
	y, e := make([]int32, r.sites), make([]float64, 1)
	own := make([]bool, r.cfg.Count)
	increments, err := r.increments(1)
	if err != nil {
		return err
	}
	for s := range rows {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		g := sampler.NewStream(r.cfg.Seed, uint64(r.cfg.First+s))
		for d := range rows[s] {
			r.path.draw(y, g)
			if err := increments(e, y); err != nil {
				return fmt.Errorf("anneal: SteppingStone: a draw from the base: %w", err)
			}
			rows[s][d] = -e[0]
			if !math.IsInf(e[0], 1) {
				copy(r.x[s*r.sites:(s+1)*r.sites], y)
				own[s] = true
			}
		}
	}
	size := session.Block(r.cfg.Chains)
	for first := 0; first < len(own); first += size {
		if err := r.lend(own, first, min(first+size, len(own))); err != nil {
			return err
		}
	}
	r.rows[0] = rows
	return nil
}

// lend copies an initial state of positive probability to each chain of first … last−1 that lacks
// such a state. It copies from the last chain that has one.
func (r *SteppingStoneRunner) lend(own []bool, first, last int) error {
	alive := -1
	for s := first; s < last; s++ {
		if own[s] {
			alive = s
		}
	}
	if alive < 0 {
		return fmt.Errorf("anneal: SteppingStone: all %d draws from the base of chains %d … %d are states of probability zero, want one or more of another: choose another Base, or raise Draws: %w",
			(last-first)*r.cfg.Draws, r.cfg.First+first, r.cfg.First+last-1, sampler.ErrZero)
	}
	for s := first; s < last; s++ {
		if !own[s] {
			copy(r.x[s*r.sites:(s+1)*r.sites], r.x[alive*r.sites:])
		}
	}
	return nil
}

// stageChains returns the chains of stage k. They start at r.x and store in r.rows[k] the
// log-weights from which stone computes the contribution of the stage.
func (r *SteppingStoneRunner) stageChains(ctx context.Context, k int) (*sampler.Chains, error) {
	m, err := r.at(k)
	if err != nil {
		return nil, err
	}
	increments, err := r.increments(k + 1)
	if err != nil {
		return nil, err
	}
	// a stream that no chain draws from
	seed := sampler.NewStream(r.cfg.Seed, math.MaxUint64-uint64(k))
	return sampler.NewChains(ctx, m, r.method, sampler.Config{
		Chains: r.cfg.Chains, First: r.cfg.First, Count: r.cfg.Count, Seed: seed.Uint64(), Warmup: r.cfg.Warmup, Workers: r.cfg.Workers, Init: r.x,
		Observe: func(chain, draw int, x []int32, _ *sampler.Info) {
			chain -= r.cfg.First
			if increments(r.e[chain:chain+1], x) != nil {
				r.e[chain] = math.NaN()
			}
			r.rows[k][chain][draw] = -r.e[chain]
		},
	})
}

// estimate adds the terms of all stages to log Z_0.
func (r *SteppingStoneRunner) estimate(terms []term) LogZ {
	z := LogZ{Value: r.logZ}
	variance := 0.0
	for _, t := range terms {
		z.Value += t.value
		variance += float64(t.relative * t.relative)
	}
	z.StdErr = math.Sqrt(variance)
	return z
}

// Join combines the first part r of a run with the other parts, in order. All parts must be
// finished, and r must begin with chain 0. Join returns the estimate of the whole run, with the
// same bits as an undivided run.
//
// Join returns an error if a part belongs to another run; the error names the setting that differs.
// Join also returns an error if chains of the run are missing, or if parts overlap.
func (r *SteppingStoneRunner) Join(parts ...*SteppingStoneRunner) (LogZ, error) {
	parts = append([]*SteppingStoneRunner{r}, parts...)
	if _, err := join(parts, func(p *SteppingStoneRunner) (part, error) {
		if len(p.terms) < len(p.rows) {
			return part{}, fmt.Errorf("has finished %d of %d stages", len(p.terms), len(p.rows))
		}
		return part{p.cfg.First, p.cfg.Count, p.cfg.Chains, p.whole()}, nil
	}); err != nil {
		return LogZ{}, err
	}
	if len(parts) == 1 {
		return r.estimate(r.terms), nil
	}
	terms := make([]term, len(r.terms))
	for k := range terms {
		var rows [][]float64
		for _, p := range parts {
			rows = append(rows, p.rows[k]...)
		}
		value, relative, err := stone(rows, k > 0)
		if err != nil {
			return LogZ{}, fmt.Errorf("anneal: Join: stage %d: %w", k, err)
		}
		terms[k] = term{value, relative}
	}
	return r.estimate(terms), nil
}

// whole returns the settings of the whole run, which are the same for all of its parts.
func (r *SteppingStoneRunner) whole() *fingerprint.List {
	l := &fingerprint.List{Sites: r.sites, Levels: r.levels}
	r.settings(l.Add, setting{"Chains", r.cfg.Chains}, setting{"Seed", r.cfg.Seed}, setting{"Stages", r.cfg.Stages},
		setting{"Warmup", r.cfg.Warmup}, setting{"Draws", r.cfg.Draws})
	return l
}

// stoneMagic begins a checkpoint of stepping stones. A checkpoint consists of a frame of
// settings, a frame with the finished terms and the states, one frame for the draws of every
// stage (empty if they are not kept), and the checkpoint of the current stage's chains; see
// [session.Frames].
const stoneMagic = "gibbsite stepping stones 1\n"

func (r *SteppingStoneRunner) frames() *session.Frames {
	l := r.whole()
	l.Add("SteppingStoneConfig.First", r.cfg.First)
	l.Add("SteppingStoneConfig.Count", r.cfg.Count)
	limit := len(r.betas)*16 + len(r.x)*4 + r.cfg.Count*r.cfg.Draws*8 + 64
	return &session.Frames{Magic: stoneMagic, Settings: l, Count: 1 + len(r.rows), Limit: limit, Frame: r.frame}
}

func (r *SteppingStoneRunner) frame(f *wire.Fields, i int) {
	if i > 0 {
		for _, row := range r.rows[i-1] {
			f.Float64s(row)
		}
		return
	}
	done, stages := len(r.terms), len(r.rows)
	r.open = r.chains != nil
	f.Int("finished stages", &done, 0, stages)
	f.Bool("a stage under way", &r.open)
	if f.Reading() {
		if r.open && (done == 0 || done == stages) {
			f.Fail(fmt.Errorf("%d of %d stages finished, one under way", done, stages))
			return
		}
		r.terms = make([]term, done)
		for k := range r.rows {
			if k < done && r.cfg.Count < r.cfg.Chains || r.open && k == done {
				r.rows[k] = r.newRows()
			}
		}
	}
	for k := range r.terms {
		t := &r.terms[k]
		f.Float64(&t.value)
		f.Float64(&t.relative)
		if math.IsNaN(t.value) || !(t.relative >= 0) {
			f.Fail(fmt.Errorf("a term of log Z = %v ± %v", t.value, t.relative))
		}
	}
	f.Tokens(r.x, r.levels)
}

func (r *SteppingStoneRunner) write(w io.Writer) error {
	if r.chains == nil {
		return r.frames().Write(w, nil)
	}
	return r.frames().Write(w, r.chains.Save)
}

func (r *SteppingStoneRunner) read(ctx context.Context, in io.Reader) error {
	n := newSteppingStoneRunner(r.path, r.cfg)
	err := n.frames().Read(ctx, in, func(in io.Reader) (err error) {
		if !n.open {
			return nil
		}
		if n.chains, err = n.stageChains(ctx, len(n.terms)); err != nil {
			return err
		}
		return n.chains.Load(ctx, in)
	})
	if err == nil {
		// The observer of n's chains stores in the rows and the scratch of n, which now belong to
		// r.
		r.terms, r.rows, r.x, r.e, r.chains = n.terms, n.rows, n.x, n.e, n.chains
	}
	return err
}

// stone returns the logarithm of the mean of exp(logs) and its standard error. If markov is true,
// the rows of logs are Markov chains; otherwise all entries are independent.
func stone(logs [][]float64, markov bool) (value, relative float64, err error) {
	var flat []float64
	for _, l := range logs {
		flat = append(flat, l...)
	}
	value, relative = logMeanExp(flat)
	if !markov || relative == 0 {
		return value, relative, nil
	}
	w := make([][]float64, len(logs))
	for s, l := range logs {
		for _, v := range l {
			w[s] = append(w[s], simd.Exp(v-value))
		}
	}
	relative, err = diagnose.MCSEMean(w)
	if errors.Is(err, diagnose.ErrConstant) {
		return value, 0, nil
	}
	return value, relative, err
}
