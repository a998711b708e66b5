// Package scored draws samples of masked diffusion that a judge accepts. A judge is a
// constraint.Set that scores whole sequences. It may be a black box or a network, and need not be a
// language.
//
// Most programs want a [Runner]. It finds feasible samples (samples that the judge accepts) at
// about the cost of a plain run, and needs no derivatives. It looks ahead before it reveals a
// token, and masks tokens again when no acceptable token remains. [Exact] draws from the
// distribution of the denoiser given that the sample is feasible, by guided rejection. It reports a
// bound on its error and the probability of a feasible sample, and costs several times as much.
// [Potential] turns a score into the weights of diffusion.Particles.
//
// A projection is no substitute under masks: it changes predictions, but an unmasked token is never
// reconsidered. With uniform noise, where every token can change until the end, use
// projection/lagrange.
//
// An error of one sample does not affect the others: Runner and Exact return
// [diffusion.SampleErrors] and a [Report] for every sample.
package scored

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

const (
	defaultSteps = 128 // the default of package diffusion

	// largest number of levels with weight for which all these levels are candidates; for more
	// levels, candidates are drawn
	allLevels = 16

	defaultCandidates  = 8
	defaultCompletions = 8
	defaultRounds      = 50
)

// Config states what samples must satisfy, and holds the settings of a [Runner]. Only Judge is
// required. The zero value of every other field is the recommended setting.
type Config struct {
	// Judge decides which samples are feasible: a sample x is feasible if g_j(x) ≤ 0 for every
	// function g_j of the set. Each call passes many states, and calls are concurrent unless
	// Workers is 1. A violation of +Inf is worse than any other. A NaN makes the sample fail with
	// an error.
	Judge constraint.Set

	// Guide, if not nil, replaces Judge when the sampler looks ahead. (To look ahead is to complete
	// the sample for each candidate token and to score the completions.) Guide should be a cheaper
	// set, such as a surrogate of Judge. Judge still decides about the last token of a sample and
	// about tokens that were masked again.
	Guide constraint.Set

	// Within, if not nil, is a projector, such as a projection.Path. Samples must then also belong
	// to the language of the projector. A language is a set of sequences. When the sampler looks
	// ahead, it fills in masks by joint draws within the language. The projection must be a
	// diffusion.Drawer and must not remember earlier samples.
	Within diffusion.Projector

	// Candidates is the number of candidate tokens among which the sampler chooses by looking
	// ahead; 0 means 8. They are drawn from the prediction. If at most 16 levels have weight at a
	// site, all of them are candidates instead.
	Candidates int

	// Completions is the number of completions for each candidate when the sampler looks ahead. A
	// completion fills in the other masks. 0 means 8 for a [Runner] and 128 for [Exact].
	Completions int

	// Rounds limits how often a [Runner] masks tokens of a sample again; 0 means 50, −1 means
	// never.
	Rounds int

	// Clamp fixes tokens (infilling). It has one entry per site: the token, or −1 where the sample
	// is free. If Clamp is nil, all sites are free.
	Clamp []int32

	// Steps is the number of steps from noise to sample; 0 means 128. Processes that determine the
	// number themselves ignore it.
	Steps int
	// Batch is the number of samples per call of the denoiser; 0 means as many as fit in 256 MiB,
	// at most 64.
	Batch int
	// Workers is the number of goroutines, not counting those of the denoiser; 0 means GOMAXPROCS.
	// It does not affect results.
	Workers int
	Seed    uint64 // seed of the random streams; sample i draws from stream (Seed, i)
	// First is the index of the first sample. A run in parts gives the same bits as a single run.
	First int
	Meta  any // conditioning, such as a label or a prompt, that is passed to the denoiser
	// Progress, if not nil, is called by Sample after every finished sample, in the goroutine of
	// the call. It receives the number of finished samples and the number that the call makes.
	Progress func(done, total int)
}

// fill checks the configuration and replaces zero fields by defaults.
func (c *Config) fill(sites, levels, completions int) error {
	const prefix = "scored: Config."
	if err := cmp.Or(check.If(check.Nil(c.Judge), "%sJudge = %v, want a set", prefix, c.Judge), check.Defaults(prefix,
		check.Number("Candidates", &c.Candidates, 0, defaultCandidates), check.Number("Completions", &c.Completions, 0, completions),
		check.Number("Rounds", &c.Rounds, -1, defaultRounds), check.Number("Steps", &c.Steps, 0, defaultSteps),
		check.Number("Batch", &c.Batch, 0, slots.Batch(sites*levels)), check.Number("Workers", &c.Workers, 0, runtime.GOMAXPROCS(0)),
		check.Number("First", &c.First, 0, 0),
	)); err != nil {
		return err
	}
	c.Rounds, c.Workers = max(c.Rounds, 0), min(c.Workers, c.Batch)
	return cmp.Or(checkSet("Config.Judge", c.Judge), checkSet("Config.Guide", c.Guide), slots.CheckClamp(prefix+"Clamp", c.Clamp, sites, levels))
}

// Partial is a set that may be unable to judge sequences, such as a constraint.Score. If its method
// Decides returns false, the set is rejected as a judge or a guide.
type Partial interface{ Decides() bool }

var _ Partial = constraint.Score{}

// checkSet returns an error if the set s is invalid or cannot judge sequences. A nil s is valid.
func checkSet(name string, s constraint.Set) error {
	if s == nil {
		return nil
	}
	if check.Nil(s) {
		return fmt.Errorf("scored: %s = nil %T, want a set", name, s)
	}
	if v, ok := s.(constraint.Validated); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("scored: %s: %w", name, err)
		}
	}
	if p, ok := s.(Partial); ok && !p.Decides() {
		return fmt.Errorf("scored: %s = %T that judges no sequences, want one with Decide or DecideAll", name, s)
	}
	return check.If(s.Len() < 1, "scored: %s.Len() = %d, want ≥ 1", name, s.Len())
}

// violations stores in dst the largest violation of every state of x. The scratch g has
// len(dst)·s.Len() entries. violations returns an error if a violation is NaN.
func violations(dst, g []float64, s constraint.Set, x []int32) error {
	n := s.Len()
	g = g[:len(dst)*n]
	s.Violation(g, x)
	for k := range dst {
		row := g[k*n : (k+1)*n]
		if dst[k] = slices.Max(row); dst[k] != dst[k] {
			sites, j := len(x)/len(dst), slices.IndexFunc(row, math.IsNaN)
			return fmt.Errorf("scored: violation %d of %v is NaN", j, x[k*sites:(k+1)*sites])
		}
	}
	return nil
}
