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

// Decoding selects how tokens are chosen from a projected prediction (see [Projection]). A
// prediction has one row per site, which holds a log-weight for each token. A [Drawer] draws the
// tokens itself under DecodeLast; for the other decodings only its method Project is used.
type Decoding uint8

const (
	// DecodeLast draws the token of every site from its row of the projected prediction. In the
	// last step it takes the most likely token of each row instead. The sample then satisfies the
	// constraint, provided that the projection guarantees it for these tokens together with the
	// tokens unmasked before. Among equally likely tokens the lowest is taken, so the projection
	// should make the intended token more likely than the others by a margin.
	DecodeLast Decoding = iota

	// DecodeRows draws the token of every site from the site's row of the projected prediction. The
	// draws of different sites are independent, so together the tokens may violate the constraint.
	DecodeRows

	// DecodeGreedy takes the most likely token of each row in every step. These tokens are the
	// predicted clean sample. The choice of the masks to reveal is then the only randomness.
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

// UnmarshalText sets d to the decoding of the given name. It lets flags and files hold a Decoding.
func (d *Decoding) UnmarshalText(name []byte) error {
	return check.UnmarshalName("decoding", d, DecodeGreedy, name)
}

// Config holds the settings of a [Runner]. The zero value makes 128 steps with seed 0 and without
// constraints.
type Config struct {
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

	// First and Count select a part of a run. The part begins with sample First and makes at most
	// Count samples; a Count of 0 sets no limit. Its samples have the same bits as in the whole
	// run. Parts may have any size and run anywhere, in any order. A projection that remembers
	// earlier samples (a [Committer]) cannot be used with parts.
	First, Count int

	Meta any // conditioning, such as a label or a prompt, that is passed to the denoiser

	// Clamp fixes tokens (infilling). It has one entry per site: the token, or −1 where the sample
	// is free. ClampReal does the same for reals, with NaN where the sample is free. The denoiser
	// finds clamped sites marked in energy.Noised.Clean. See also [Runner.Fill].
	//
	// Projections of reals ignore clamping. If a projection moves a clamped entry in the last step,
	// the sample fails. To prevent this, add the equation x_i = value to the projector's set.
	Clamp     []int32
	ClampReal []float32

	// Projector, if not nil, moves the prediction of every step to the set of allowed samples,
	// called the feasible set. A projection that is a [Committer] also receives every finished
	// sample.
	//
	// If the projection is a [Drawer] and Decode is DecodeLast, a step from time t to time s makes
	// two draws. The first is the clean sample x_0, drawn jointly from the prediction restricted to
	// the set. The second is the next state, from q(x_s | x_t, x_0). The finished sample is in the
	// set, or it fails with an error that wraps constraint.ErrInfeasible (see [Runner.Sample]).
	Projector Projector

	// ProjectStart limits projections to steps that begin at a time t ≤ ProjectStart; 0 means all
	// steps. If ProjectEvery is k, only every k-th step projects; 0 means every step, and −1
	// means none. The last step of a sample is always projected. A step without projection may
	// lead to a state from which the set cannot be reached; the sample then fails.
	ProjectStart float64
	ProjectEvery int

	// ProjectState, for reals, projects the state instead of the prediction. After a step to time
	// s, the state moves the fraction (1−s)^ProjectPower of the way to its projection. With power
	// 0, the projection replaces the state.
	//
	// With a [Gaussian] process, the zero value of these fields gives constrained posterior
	// sampling. Other settings give methods for comparison:
	//
	//	ProjectState                     projected diffusion models (Christopher, Baek, Fioretto 2024)
	//	ProjectState, ProjectPower > 0   PRODIGY (Sharma, Kumar, Trivedi 2024)
	//	ProjectState, ProjectEvery: −1   only the finished sample, COP-FT (Coletta et al. 2023)
	//	Gaussian.Recompute               noise computed from the projected prediction
	//	Penalised, no projector          guidance by a penalty
	ProjectState bool
	ProjectPower float64

	// ColdStart discards, before every step, the data that a [Warm] projection keeps between the
	// steps of a sample. By default they are discarded only at the start of a sample.
	ColdStart bool

	// Decode selects how tokens are chosen from projected predictions. With a [Drawer], leave it at
	// DecodeLast.
	Decode Decoding

	// Retries limits how often a sample is drawn again after a [Committer] has refused it; 0 means
	// 100, −1 means never.
	Retries int

	// Checkpoint makes the runner keep its finished samples and save them to the file Path. An
	// empty Path means no checkpoints. The previous file is kept as Path.old. For a failed sample,
	// the file holds the text of the error and whether it wrapped constraint.ErrInfeasible.
	//
	// Sample and Fill save when they end, even if ctx has ended. If Every is k > 0, they also save
	// after every k samples. Each save writes all samples. If saving fails, the call ends. New asks
	// the model for two predictions, which identify the model in the file.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Observe, if not nil, is called after every step of every sample. It is called for the steps
	// of one sample in order, and for different samples possibly at the same time.
	Observe func(*Snapshot)

	// Progress, if not nil, is called by Sample, in the goroutine of the call, after every step of
	// a batch. It receives the number of steps made, summed over the samples, and the number that
	// the whole call will make.
	Progress func(done, total int)

	// tables is the number of predictions held at the same time; 0 means one per slot.
	tables int
}

// Snapshot describes one step of one sample to an observer. Its slices are overwritten after the
// call.
type Snapshot struct {
	Sample, Step int
	From, To     float64   // times before and after the step
	X            []int32   // state after the step, for tokens; nil for reals
	Real         []float32 // state after the step, for reals; nil for tokens
	// V is the prediction of the clean sample that the step used, after any projection.
	V         []float32
	Projected bool
	// Violation is the amount by which V still violates the constraint after the projection. With
	// ProjectState it refers to the state instead of V.
	Violation float64
	// LogZ is the log Z that a [Drawer] returned in this step: the log of the total weight of the
	// feasible set under the prediction. It is 0 if no Drawer drew in this step.
	LogZ float64
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
