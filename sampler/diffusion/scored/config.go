package scored

import (
	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

const (
	defaultSteps = 128 // as in package diffusion

	// Unless told otherwise a batch is as large as its predictions fit in this
	// many bytes, within 1 … defaultBatch.
	defaultTables = 1 << 28
	defaultBatch  = 64

	// Of rows with more levels than this, a few drawn ones are candidates.
	allLevels = 16

	defaultCandidates  = 8
	defaultCompletions = 8
	defaultRounds      = 50
)

// Config says what samples must satisfy and how a run goes. The zero value of
// everything but Judge is the recommended setting.
type Config struct {
	// Judge decides: a sample x is feasible if g_j(x) ≤ 0 for all j. It is
	// asked about many states at once, by several goroutines if Workers is not
	// 1. +Inf is infeasible by any measure; NaN is an error of the sample.
	Judge constraint.Set

	// Guide, if not nil, looks ahead in place of Judge: a cheaper set, such as
	// a surrogate. The last token of a sample is always the judge's, and tokens
	// that were taken back are.
	Guide constraint.Set

	// Within, if not nil, is a language that samples must also be in: a
	// projector whose projection is a diffusion.Drawer without a memory, such
	// as projection.Path. Completions are then joint draws within it.
	Within diffusion.Projector

	// Candidates is the number of draws for a token that the look-ahead
	// compares where more than 16 levels have weight, 0 means 8; where fewer
	// do, all of them are candidates.
	Candidates int

	// Completions is how often the masks of a candidate are filled in; 0 means
	// 8, for [Exact] 128.
	Completions int

	// Rounds bounds how often a [Runner] takes tokens of a sample back; 0
	// means 50, −1 never.
	Rounds int

	// Clamp fixes tokens (infilling): one entry per site, −1 where the sample
	// is free.
	Clamp []int32

	Steps    int                   // steps of the time grid; 0 means 128; processes with a clock of their own ignore it
	Batch    int                   // samples that the denoiser sees together; 0: as many as fit in 256 MiB, at most 64
	Workers  int                   // goroutines for all but the denoiser; 0 means GOMAXPROCS; never changes results
	Seed     uint64                // sample i draws from stream (Seed, i)
	First    int                   // number of the first sample: parts of a run give the bits of the whole
	Meta     any                   // conditioning for the denoiser, passed through
	Progress func(done, total int) // if not nil, told of finished samples from the goroutine of Sample
}
