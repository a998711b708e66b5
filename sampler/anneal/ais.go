package anneal

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc64"
	"io"
	"math"
	"runtime"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/resample"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// AIS estimates log Z by annealed importance sampling (Neal 2001), where Z = Σ_x exp(−E(x)) is the
// normaliser of a model. Every chain starts at a draw x_0 from the base distribution. It then
// passes through stages k = 1 … K, in which an inverse temperature rises from β_0 = 0 to β_K = 1.
// The energy at stage k is
//
//	E_k = (1 − β_k)·E_base + β_k·E,
//
// where E_base is the energy of the base (0 for uniform states). If the model is [Tempered], it
// supplies the term β_k·E. The weight w of a chain starts at the normaliser Z_0 of the base. Stage
// k first updates the weight and then moves the chain,
//
//	log w ← log w + E_{k−1}(x_{k−1}) − E_k(x_{k−1}),  x_k ← x_{k−1} after AISConfig.Moves steps of the method on E_k.
//
// The last stage does not move the chain. A chain that starts at a state of probability zero has
// weight 0.
//
// If the method leaves its target invariant (mcmc.DULA does not), E[w] = Z, however badly the
// chains mix. On average log w is too low. Methods do not tune themselves here, so set their step
// sizes.
//
// With AISConfig.Population, AIS becomes population annealing (Hukushima and Iba 2003; Machta
// 2010). A population is a group of consecutive chains. When its effective number of chains,
// (Σw)²/Σw², falls below half of its size, its chains are resampled in proportion to w (systematic
// resampling). Each then gets the mean weight.
//
// All results have the same bits on every processor.
//
// AIS returns an error in these cases:
//
//   - a setting is out of range, or the method does not fit the model;
//   - an energy is NaN or −Inf, or a step fails;
//   - ctx ends;
//   - all chains start at states of probability zero ([sampler.ErrZero]).
//
// Use an [AISRunner] for a run that can stop and resume.
func AIS(ctx context.Context, m energy.Model, method sampler.Method, cfg AISConfig) (*AISResult, error) {
	a, err := NewAIS(m, method, cfg)
	if err != nil {
		return nil, err
	}
	return a.Run(ctx)
}

// AISConfig holds the settings of annealed importance sampling, which estimates the log of a
// model's normaliser (see [AIS]). The zero value runs 64 chains through 200 stages of rising
// inverse temperature.
type AISConfig struct {
	// Chains is the number of chains of the whole run, at least 2; 0 means 64. Each chain gives one
	// independent weight.
	Chains  int
	Seed    uint64 // seed of the random streams; chain i draws from stream (Seed, i)
	Workers int    // number of goroutines; 0 means GOMAXPROCS; does not change results

	// Population is the number of consecutive chains that are resampled together; 0 means that
	// chains are not resampled. Chains must be a multiple of Population, at least 2·Population,
	// because the error is estimated from the variation between populations. If Chains is 0, there
	// are 16 populations.
	Population int

	// First and Count select the chains of a part of a run: First … First+Count−1. A Count of 0
	// means all chains from First on. First and Count must be multiples of Population or, if that
	// is 0, of the block size (see [sampler.Config.Block]). Only the last part may end with fewer
	// chains. The weights and states of a part equal those of the whole run bit for bit; see
	// [AISResult.Join].
	First, Count int

	Stages int // number of stages, each of which raises β; 0 means 200
	Moves  int // number of steps of the method per stage; 0 means 1

	// Schedule(t) is the inverse temperature β after the fraction t of the run, 0 ≤ t ≤ 1. It
	// ascends from Schedule(0) = 0 to Schedule(1) = 1. Nil means Linear(0, 1).
	Schedule Schedule

	// Base is the distribution of the initial states; nil means uniform states. The closer it is to
	// the model, the fewer stages are needed. Every possible state of the model must be possible
	// under Base.
	//
	// Base can be a model of independent sites, such as a model.Independent fitted to data. It can
	// also be an energy.Factored model on a narrow graph that suits package projection/junction,
	// such as a chain.
	Base energy.Model

	// Exact, if not nil, holds independent exact draws from the model, one per chain of the part.
	// AIS then runs backwards, from these draws to the base. This estimate of log Z is biased
	// upwards, so the two directions bracket log Z. If some states have probability zero, the bias
	// does not vanish with more chains; see AISResult.LogWeights.
	Exact []int32

	// Checkpoint makes Run save the run to the file Path, as SaveFile does. An empty Path means no
	// checkpoints. Run saves when it ends, even if the context ended. If Every is k > 0, it also
	// saves after every k stages. If saving fails, Run returns the error.
	Checkpoint struct {
		Path  string
		Every int
	}
}

const (
	defaultAISChains   = 64
	defaultPopulations = 16
)

// AISResult is the result of [AIS]: the estimate of log Z, and the weights and final states of the
// chains.
type AISResult struct {
	LogZ

	// LogWeights holds log w for the weight w of each chain (see [AIS]), where E[w] = Z exactly. It
	// is −Inf for a chain that started at a state of probability zero.
	//
	// If AISConfig.Exact is set, E[w] = P_0/Z instead. Here P_0 is the probability, under the base,
	// of the states that are possible under the model. It is 1 if no state has probability zero.
	LogWeights []float64

	// ESS is the effective number of chains, (Σw)²/Σw², where w are their weights. If Population
	// is set, it is the effective number of populations, and w are their mean weights. Below a few
	// tens, Value and StdErr are unreliable: use more stages, or more populations. ESS is 0 if all
	// weights of a part are 0.
	ESS float64

	// States holds the last states of the chains, chains × sites. Weighted by exp(LogWeights), they
	// represent the target distribution.
	States []int32

	run        part // part of the run that this result covers
	population int  // number of chains whose weights are averaged together, at least 1
	back       bool // the run goes backwards, from exact draws
}

// Part returns cfg with First and Count set to part k of n nearly equal parts of the run; see
// [sampler.Config.Part].
func (cfg AISConfig) Part(k, n int) (AISConfig, error) {
	err := cmp.Or(
		check.If(cfg.Population < 0, "anneal: AISConfig.Population = %d, want ≥ 0", cfg.Population),
		session.Cut("anneal: AISConfig", &cfg.Chains, &cfg.First, &cfg.Count, cfg.chains(), max(cfg.Population, 0), k, n),
	)
	return cfg, err
}

// chains returns the default number of chains.
func (cfg *AISConfig) chains() int {
	if cfg.Population > 0 {
		return defaultPopulations * min(cfg.Population, math.MaxInt32)
	}
	return defaultAISChains
}

// block returns the number of chains that move together.
func (cfg *AISConfig) block() int { return cmp.Or(cfg.Population, session.Block(cfg.Chains)) }

// fill checks the configuration and replaces zero fields by their defaults.
func (cfg *AISConfig) fill() (err error) {
	if err := cmp.Or(check.If(cfg.Chains < 0 || cfg.Chains == 1, "anneal: AISConfig.Chains = %d, want ≥ 2 (0 for the default)", cfg.Chains), check.Defaults("anneal: AISConfig.",
		check.Number("Population", &cfg.Population, 0, 0), check.Number("Chains", &cfg.Chains, 0, cfg.chains()), check.Number("Workers", &cfg.Workers, 0, runtime.GOMAXPROCS(0)),
		check.Number("Stages", &cfg.Stages, 0, defaultStages), check.Number("Moves", &cfg.Moves, 0, 1),
		check.Number("Checkpoint.Every", &cfg.Checkpoint.Every, 0, 0),
	)); err != nil {
		return err
	}
	if n := cfg.Population; n > 0 && (cfg.Chains%n != 0 || cfg.Chains < 2*n) {
		return fmt.Errorf("anneal: AISConfig.Chains = %d, want a multiple of Population = %d, at least twice: the error is that between populations", cfg.Chains, n)
	}
	if cfg.Schedule == nil {
		cfg.Schedule = Linear(0, 1)
	}
	cfg.Count, err = session.Count("anneal: AISConfig", cfg.Chains, cfg.block(), cfg.First, cfg.Count)
	return err
}

// Populations returns, for every population, the logarithm of its mean weight. A population is a
// group of chains that are resampled together. If AISConfig.Population is 0, every chain is a
// population of its own. The entries are independent of each other.
func (r *AISResult) Populations() []float64 {
	var means []float64
	for of := range slices.Chunk(r.LogWeights, max(r.population, 1)) {
		mean, _ := logMeanExp(of)
		means = append(means, mean)
	}
	return means
}

// sum computes the estimate from the weights. If no weight is positive, sum returns an error for
// a whole run, but not for a part.
func (r *AISResult) sum() error {
	means := r.Populations()
	r.Value, r.StdErr = logMeanExp(means)
	if math.IsInf(r.Value, -1) {
		if !r.run.whole() {
			return nil
		}
		return fmt.Errorf("anneal: AIS: all %d chains began at states of probability zero, want one or more at another: choose another Base, or raise Chains: %w", len(r.LogWeights), sampler.ErrZero)
	}
	// (Σw)²/Σw² = n/(1 + Σ(w/w̄−1)²/n).
	n := float64(len(means))
	r.ESS = n / (1 + float64(float64(r.StdErr*r.StdErr)*(n-1)))
	if r.back {
		r.Value = -r.Value
	}
	return nil
}

// Join combines the result r of the first part of a run with the results of the other parts, in
// order. It returns the result of the whole run, with the same bits as an undivided run. The part
// that r covers must begin with chain 0.
//
// Join returns an error in these cases:
//
//   - a part belongs to another run (the error names the setting that differs);
//   - chains of the run are missing, or parts overlap;
//   - all chains start at states of probability zero ([sampler.ErrZero]).
func (r *AISResult) Join(parts ...*AISResult) (*AISResult, error) {
	all := &AISResult{back: r.back, population: r.population}
	var err error
	all.run, err = join(append([]*AISResult{r}, parts...), func(p *AISResult) (part, error) {
		all.LogWeights = append(all.LogWeights, p.LogWeights...)
		all.States = append(all.States, p.States...)
		return p.run, nil
	})
	if err != nil {
		return nil, err
	}
	return all, all.sum()
}

// AISRunner is a run of [AIS] that can stop between stages and resume, in the same process or from
// a checkpoint in another process. Create it with [NewAIS]. Its methods must not be called
// concurrently with each other.
type AISRunner struct {
	saved
	*path
	cfg  AISConfig
	size int // number of chains per block

	// x, logw and streams hold the states, log-weights and random streams of the chains of this
	// part. They begin with chain cfg.First of the run.
	x       []int32
	logw    []float64
	streams []sampler.Stream
	stage   []int // per block: number of completed stages
}

// NewAIS returns a run of [AIS] that is ready to start. It returns an error if a setting is out
// of range.
func NewAIS(m energy.Model, method sampler.Method, cfg AISConfig) (*AISRunner, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	way, err := newPath("AIS", m, method, cfg.Base, cfg.Schedule, cfg.Stages, cfg.Count)
	if err != nil {
		return nil, err
	}
	sites, levels := way.sites, way.levels
	if cfg.Exact != nil && len(cfg.Exact) != cfg.Count*sites {
		return nil, fmt.Errorf("anneal: AIS: len(AISConfig.Exact) = %d, want %d (%d chains of %d sites)", len(cfg.Exact), cfg.Count*sites, cfg.Count, sites)
	}
	for i, l := range cfg.Exact {
		if l < 0 || int(l) >= levels {
			return nil, fmt.Errorf("anneal: AIS: AISConfig.Exact[%d] = %d, want 0 … %d", i, l, levels-1)
		}
	}
	a := newAISRunner(way, cfg)
	a.life = session.Session{Who: "anneal: AIS", Checkpoint: cfg.Checkpoint, Len: a.Stage, Write: a.write, Read: a.read}
	a.cfg.Exact = slices.Clone(cfg.Exact)
	copy(a.x, cfg.Exact)
	for s := range a.streams {
		r := &a.streams[s]
		r.Seed(cfg.Seed, uint64(cfg.First+s))
		a.logw[s] = -way.logZ
		if cfg.Exact == nil {
			way.draw(a.x[s*sites:(s+1)*sites], r)
			a.logw[s] = way.logZ
		}
	}
	return a, nil
}

func newAISRunner(way *path, cfg AISConfig) *AISRunner {
	n, size := cfg.Count, cfg.block()
	return &AISRunner{
		path: way, cfg: cfg, size: size,
		x: make([]int32, n*way.sites), logw: make([]float64, n), streams: make([]sampler.Stream, n), stage: make([]int, (n+size-1)/size),
	}
}

// Stage returns the number of stages (steps of the inverse temperature) that every chain has
// completed, 0 … AISConfig.Stages.
func (a *AISRunner) Stage() int { return slices.Min(a.stage) }

// Run runs all remaining stages and returns the result. The result of a part covers only its own
// chains. If the context ends or a step fails, every chain stays at the stage it has reached, and a
// later Run continues from there. Run returns the same errors as [AIS], and an error if another Run
// is under way. Once all stages are done, Run returns the same result again.
func (a *AISRunner) Run(ctx context.Context) (*AISResult, error) {
	if err := a.life.BeginSaving(ctx, "Run", 0); err != nil {
		return nil, err
	}
	defer a.life.End()
	if err := a.confine(ctx); err != nil {
		return nil, err
	}
	err := a.life.Advance(ctx, a.cfg.Stages-a.Stage(), func(to int) error { return a.advance(ctx, to) })
	if err = a.life.Finish(ctx, err); err != nil {
		return nil, err
	}
	res := &AISResult{
		LogWeights: slices.Clone(a.logw), States: slices.Clone(a.x),
		run: part{first: a.cfg.First, count: a.cfg.Count, chains: a.cfg.Chains}, population: max(a.cfg.Population, 1), back: a.cfg.Exact != nil,
	}
	if !res.run.whole() {
		res.run.settings = a.whole()
	}
	return res, res.sum()
}

// advance moves all blocks to the given stage.
func (a *AISRunner) advance(ctx context.Context, to int) error {
	workers := pool.New(min(a.cfg.Workers, len(a.stage)))
	workers.Start()
	defer workers.Stop()
	scratch := make([]aisScratch, workers.Workers())
	errs := make([]error, len(a.stage))
	workers.Each(0, len(a.stage), func(w, b int) {
		for a.stage[b] < to && errs[b] == nil {
			errs[b] = a.step(ctx, &scratch[w], b)
		}
	})
	return cmp.Or(errs...)
}

// aisScratch is a worker's scratch space. A stage runs in the scratch space, which is copied back
// if the stage succeeds.
type aisScratch struct {
	x       []int32
	logw    []float64
	streams []sampler.Stream
	info    []sampler.Info
	e       []float64
	copies  []int // number of copies of each chain of a population after resampling
}

// step moves block b to the next stage. On an error the block is unchanged.
func (a *AISRunner) step(ctx context.Context, s *aisScratch, b int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	first := b * a.size
	n := min(a.size, a.cfg.Count-first)
	x, logw, streams := a.x[first*a.sites:(first+n)*a.sites], a.logw[first:first+n], a.streams[first:first+n]
	s.x, s.logw, s.streams = append(s.x[:0], x...), append(s.logw[:0], logw...), append(s.streams[:0], streams...)
	s.info, s.e = slices.Grow(s.info[:0], n)[:n], slices.Grow(s.e[:0], n)[:n]
	clear(s.info)

	k, last := a.stage[b]+1, len(a.betas)-1
	// Backwards, stage k goes from E_{last−k+1} to E_{last−k}.
	by, at, sign, back := k, k, 1.0, a.cfg.Exact != nil
	if back {
		by, at, sign = last-k+1, last-k, -1
	}
	increments, err := a.increments(by)
	if err != nil {
		return err
	}
	if err := increments(s.e, s.x); err != nil {
		chain := a.cfg.First + first
		if bad, ok := err.(*energyError); ok {
			chain += bad.state
		}
		return fmt.Errorf("anneal: AIS: chain %d, stage %d: %w", chain, k-1, err)
	}
	for i, v := range s.e {
		if back && math.IsInf(v, 1) {
			return fmt.Errorf("anneal: AIS: chain %d: AISConfig.Exact has a state of probability zero: %w", a.cfg.First+first+i, sampler.ErrZero)
		}
		s.logw[i] -= float64(sign * v)
	}
	if k == 1 && !back && !a.replaceDead(s) {
		k = last // no chain of the block has positive weight, so the remaining stages are skipped
	}
	if k < last {
		if a.cfg.Population > 0 {
			a.resample(s)
		}
		if err := a.move(ctx, s, a.cfg.First+first, at); err != nil {
			return err
		}
	}
	copy(x, s.x)
	copy(logw, s.logw)
	copy(streams, s.streams)
	a.stage[b] = k
	return nil
}

// replaceDead copies the state of a chain of positive weight to each chain of weight 0, so that
// kernels can run. Chains of weight 0 keep that weight. It returns false if all weights are 0.
func (a *AISRunner) replaceDead(s *aisScratch) bool {
	alive := slices.IndexFunc(s.logw, func(w float64) bool { return !math.IsInf(w, -1) })
	if alive < 0 {
		return false
	}
	for d, v := range s.logw {
		if math.IsInf(v, -1) {
			copy(s.x[d*a.sites:(d+1)*a.sites], s.x[alive*a.sites:])
		}
	}
	return true
}

// resample resamples the states of a population by weight if its effective number of chains is
// below half of its size. At least one weight must be positive.
func (a *AISRunner) resample(s *aisScratch) {
	n := len(s.logw)
	top, sum, squares := resample.Moments(s.logw)
	if 2*sum*sum >= float64(n)*squares {
		return
	}
	s.copies = slices.Grow(s.copies[:0], n)[:n]
	resample.Systematic(s.copies, s.logw, s.streams[0].Float64())
	resample.Spread(s.copies, func(to, from int) {
		copy(s.x[to*a.sites:(to+1)*a.sites], s.x[from*a.sites:(from+1)*a.sites])
	})
	mean := top + simd.Log(sum/float64(n))
	for i := range s.logw {
		s.logw[i] = mean
	}
}

// move makes the steps of stage k for the chains in s. The argument first is the index of the first
// of these chains.
func (a *AISRunner) move(ctx context.Context, s *aisScratch, first, k int) error {
	m, err := a.at(k)
	if err != nil {
		return err
	}
	size := min(len(s.info), session.BlockSize)
	for at := 0; at < len(s.info); at += size {
		n := min(at+size, len(s.info))
		if err := a.steps(ctx, m, s.info[at:n], s.x[at*a.sites:n*a.sites], s.streams[at:n], first+at, k); err != nil {
			return err
		}
	}
	return nil
}

// steps makes the steps of stage k for chains that one kernel moves together.
func (a *AISRunner) steps(ctx context.Context, m energy.Model, info []sampler.Info, x []int32, streams []sampler.Stream, first, k int) error {
	kernel, err := a.method.Kernel(ctx, m, len(info))
	if err != nil {
		return err
	}
	ctl := sampler.Control{Stop: func() bool { return poll.Err(ctx) != nil }}
	if err := kernel.Reset(sampler.Control{}, x); err != nil {
		return err
	}
	for range a.cfg.Moves {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		if done := kernel.Step(ctl, info, x, streams); done != 1 {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fmt.Errorf("anneal: AIS: %s: chain %d and on, stage %d: the kernel says that Step made %d steps, want 1", fingerprint.Name(a.method), first, k, done)
		}
		for i := range info {
			if err := info[i].Err; err != nil {
				return fmt.Errorf("anneal: AIS: %s: chain %d, stage %d: %w", fingerprint.Name(a.method), first+i, k, err)
			}
		}
	}
	return nil
}

// Settings calls add with the name and value of every setting on which the weights depend. These
// settings must agree between a run and its checkpoint, and between all parts of a run.
func (a *AISRunner) Settings(add func(name string, value any)) {
	a.settings(add, setting{"Chains", a.cfg.Chains}, setting{"Seed", a.cfg.Seed}, setting{"Stages", a.cfg.Stages}, setting{"Moves", a.cfg.Moves})
	add("AISConfig.Exact", a.cfg.Exact != nil)
	if a.cfg.Population > 0 {
		add("AISConfig.Population", a.cfg.Population)
	}
}

// whole returns the settings of the whole run, which are the same for all of its parts.
func (a *AISRunner) whole() *fingerprint.List {
	l := &fingerprint.List{Sites: a.sites, Levels: a.levels}
	a.Settings(l.Add)
	return l
}

// aisMagic begins a checkpoint of AIS, which consists of a frame of settings, a frame for every
// block of chains, and an end frame; see [session.Frames].
const aisMagic = "gibbsite ais 1\n"

func (a *AISRunner) frames() *session.Frames {
	l := a.whole()
	l.Add("AISConfig.First", a.cfg.First)
	l.Add("AISConfig.Count", a.cfg.Count)
	if a.cfg.Exact != nil {
		sum := crc64.Checksum(wire.AppendInt32s(nil, a.cfg.Exact), crc64.MakeTable(crc64.ECMA))
		l.Text("checksum of AISConfig.Exact", fmt.Sprintf("%016x", sum))
	}
	return &session.Frames{Magic: aisMagic, Settings: l, Count: len(a.stage), Limit: a.size*(4*a.sites+64) + 64, Frame: a.frame}
}

// frame reads or writes the stage, states, weights and streams of block b.
func (a *AISRunner) frame(f *wire.Fields, b int) {
	first := b * a.size
	last := min(first+a.size, a.cfg.Count)
	f.Int("stage", &a.stage[b], 0, a.cfg.Stages)
	f.Tokens(a.x[first*a.sites:last*a.sites], a.levels)
	f.Float64s(a.logw[first:last])
	for s, v := range a.logw[first:last] {
		if !(v < math.Inf(1)) {
			f.Fail(fmt.Errorf("log-weight of chain %d = %v, want < +Inf", a.cfg.First+first+s, v))
		}
	}
	for s := range a.streams[first:last] {
		f.Binary(&a.streams[first+s], streamSize)
	}
}

const streamSize = 24 // bytes of a marshalled stream

func (a *AISRunner) write(w io.Writer) error { return a.frames().Write(w, nil) }

func (a *AISRunner) read(ctx context.Context, r io.Reader) error {
	n := newAISRunner(a.path, a.cfg)
	if err := n.frames().Read(ctx, r, nil); err != nil {
		return err
	}
	a.x, a.logw, a.streams, a.stage = n.x, n.logw, n.streams, n.stage
	return nil
}
