package diffusion

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/slots"
)

const (
	// default of Config.Steps, of the order used by Sahoo et al. 2024 and Cardei et al. 2025
	defaultSteps = 128
	mostBatch    = 1 << 20

	defaultRetries = 100
)

// Decoding selects how the rows of a projection without joint draws are turned into tokens.
type Decoding uint8

const (
	// DecodeLast draws every token from its projected row, except in the last step, which takes
	// the most likely tokens. The sample then has the properties that the projection guarantees
	// for the arg max of its rows, given the unmasked tokens. Ties go to the first token, so
	// the projection should leave a margin.
	DecodeLast Decoding = iota

	// DecodeRows draws every token from its projected row. The draws are independent, so
	// together they may violate the constraint.
	DecodeRows

	// DecodeGreedy takes the most likely token of every row as the clean sample of every
	// step. The only remaining randomness is which masks are revealed.
	DecodeGreedy
)

// String returns "last", "rows" or "greedy".
func (d Decoding) String() string {
	return check.Name("Decoding", d, "last", "rows", "greedy")
}

// MarshalText returns the name that String returns.
func (d Decoding) MarshalText() ([]byte, error) {
	return check.MarshalName("decoding", d, DecodeGreedy)
}

// UnmarshalText sets d to the value with the name, for flags and files.
func (d *Decoding) UnmarshalText(name []byte) error {
	return check.UnmarshalName("decoding", d, DecodeGreedy, name)
}

// Config holds the settings of a diffusion. The zero value runs 128 steps with seed 0 and without
// constraints.
type Config struct {
	// steps of the time grid; 0 means 128; ignored by processes that determine their own
	// number of steps
	Steps int
	// samples per call of the denoiser; 0 means the number that fits in 256 MiB, at most 64
	Batch int
	// goroutines, apart from those of the denoiser; 0 means GOMAXPROCS; does not affect
	// results
	Workers int
	Seed    uint64 // seed; sample i draws from stream (Seed, i)

	// First and Count select a part of a run. The part makes samples First, First+1, … of the
	// whole run, with the same bits. It makes at most Count samples; if Count is 0, it makes as
	// many as are requested. Parts may have any size and run anywhere, in any order. A
	// [Committer] cannot be used with parts, because it remembers earlier samples.
	First, Count int

	Meta any // conditioning that is passed to the denoiser

	// Clamp fixes tokens (infilling): one entry per site, −1 where the sample is free.
	// ClampReal does the same for reals, NaN where free. Clamped entries hold their clean
	// value at all times and are marked in Noised.Clean.
	//
	// Projections of reals ignore clamping. If a projection moves a clamped entry in the last
	// step, the sample is abandoned. To prevent this, add x_i = value as equations to the
	// projector's set. See also [Runner.Fill].
	Clamp     []int32
	ClampReal []float32

	// Projector, if not nil, moves predictions to a feasible set in every step. A projection
	// that is a [Drawer] draws the clean sample jointly from the prediction restricted to the
	// set, and the step then draws from q(x_s | x_t, x_0). Such a sample is certain to be in
	// the set, or it is abandoned with an error that wraps constraint.ErrInfeasible (see
	// [Runner.Sample]). A [Committer] receives every finished sample.
	Projector Projector

	// ProjectStart restricts projections to steps from times t ≤ ProjectStart; 0 means 1, all
	// steps. ProjectEvery = k projects in every k-th step; 0 means 1, and −1 means in none.
	// The last step of a sample is always projected. Steps without projection may lead to
	// states from which the set cannot be reached; such a sample is abandoned.
	ProjectStart float64
	ProjectEvery int

	// ProjectState projects, for reals, the state x_s after a step instead of the prediction.
	// x_s moves the fraction (1−s)^ProjectPower of the way to its projection. With power 0, or
	// at s = 0, x_s becomes its projection. With a [Gaussian], the zero value is constrained
	// posterior sampling. The following methods serve as comparisons; Π is the projection:
	//
	//	ProjectState                     projected diffusion models (Christopher, Baek, Fioretto 2024)
	//	ProjectState, ProjectPower > 0   PRODIGY (Sharma, Kumar, Trivedi 2024)
	//	ProjectState, ProjectEvery: −1   the finished sample alone, COP-FT (Coletta et al. 2023)
	//	Gaussian.Recompute               Πx̂_0 and its noise: right in the posterior's metric, worse in others
	//	Penalised, no projector          guidance by a penalty
	ProjectState bool
	ProjectPower float64

	// ColdStart resets, before every step instead of only at the start of a sample, the state
	// that a [Warm] projection keeps for the sample.
	ColdStart bool

	// Decode selects how the rows of a projection that is not a [Drawer] are turned into
	// tokens.
	Decode Decoding

	// Retries is the largest number of times that a sample is drawn again because a
	// [Committer] refused it; 0 means 100, −1 means never.
	Retries int

	// Checkpoint, if it has a Path, keeps the finished samples and saves them in that file.
	// The previous file is kept as Path.old. For an abandoned sample it keeps the text of the
	// error and whether the error wrapped constraint.ErrInfeasible.
	//
	// It saves at the end of every call of Sample or Fill, even if the context ended. During
	// a call it saves each time Every more samples are finished; 0 means only at the end.
	// Every file contains all samples, so Every should grow with their number. If saving
	// fails, the call ends. New asks the model for two predictions, which are saved with the
	// settings.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Observe, if not nil, is called after every step of every sample. Calls for one sample
	// come in order. Calls for different samples may be concurrent.
	Observe func(*Snapshot)

	// Progress, if not nil, is called after every step of a batch, in the goroutine of
	// Sample. It receives the number of sample steps made and their total.
	Progress func(done, total int)

	// tables is the number of predictions held at the same time; 0 means one per slot.
	tables int
}

// Snapshot describes one step of one sample for an observer. The slices are overwritten after the
// call.
type Snapshot struct {
	Sample, Step int
	From, To     float64   // times before and after the step
	X            []int32   // state after the step, for tokens; nil for reals
	Real         []float32 // state after the step, for reals; nil for tokens
	V            []float32 // prediction that the step used, after any projection
	Projected    bool
	Violation    float64 // violation that the projection reported, of V or of the state
	LogZ         float64 // log Z reported by a joint draw; 0 if there was none
}

func infinite(x float32) bool { return math.IsInf(float64(x), 0) }

// fill checks the configuration and replaces zero fields by defaults.
func (c *Config) fill(sites, levels int) error {
	const prefix = "diffusion: Config."
	err := check.Defaults(prefix,
		check.Number("Steps", &c.Steps, 0, defaultSteps), check.Number("Batch", &c.Batch, 0, slots.Batch(sites*levels)),
		check.Number("Workers", &c.Workers, 0, runtime.GOMAXPROCS(0)), check.Number("First", &c.First, 0, 0),
		check.Number("Checkpoint.Every", &c.Checkpoint.Every, 0, 0), check.Number("ProjectEvery", &c.ProjectEvery, -1, 1),
		check.Number("Retries", &c.Retries, -1, defaultRetries),
	)
	if err = cmp.Or(err, check.Refuse(prefix,
		check.Rule(c.Count < 0 || c.Count > math.MaxInt-c.First, "Count", c.Count, fmt.Sprintf("0 … %d", math.MaxInt-c.First)),
		check.Rule(!(c.ProjectStart >= 0 && c.ProjectStart <= 1), "ProjectStart", c.ProjectStart, "0 … 1"),
		check.Rule(!(c.ProjectPower >= 0) || math.IsInf(c.ProjectPower, 1), "ProjectPower", c.ProjectPower, "finite and ≥ 0"),
		check.Rule(c.ProjectPower > 0 && !c.ProjectState, "ProjectPower", c.ProjectPower, "0 without ProjectState"),
		check.Rule(c.Projector != nil && check.Nil(c.Projector), "Projector", fmt.Sprintf("(%T)(nil)", c.Projector), "a value"),
		check.Rule(c.ProjectState && c.Projector == nil, "ProjectState", true, "a Projector with it"),
		check.Rule(c.Decode > DecodeGreedy, "Decode", c.Decode, "DecodeLast, DecodeRows or DecodeGreedy"),
		check.Rule(c.ClampReal != nil && len(c.ClampReal) != sites, "ClampReal", fmt.Sprintf("(%d entries)", len(c.ClampReal)), fmt.Sprintf("%d entries", sites)),
		check.Rule(slices.ContainsFunc(c.ClampReal, infinite), "ClampReal", c.ClampReal, "finite entries, NaN where the sample is free"),
		check.Rule(check.Entries("", "", c.Batch, sites, levels) != nil || c.Batch > mostBatch, "Batch", c.Batch, fmt.Sprintf("≤ %d, and × sites × levels ≤ %d", mostBatch, check.MaxEntries)),
	)); err != nil {
		return err
	}
	c.Workers, c.Retries, c.ProjectStart = min(c.Workers, c.Batch), max(c.Retries, 0), cmp.Or(c.ProjectStart, 1)
	return slots.CheckClamp(prefix+"Clamp", c.Clamp, sites, levels)
}
