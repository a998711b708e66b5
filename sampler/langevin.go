package sampler

import (
	"fmt"
	"runtime"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tune"
)

// LangevinConfig says how Langevin chains run. The zero value runs 4 chains of
// seed 0 from standard normal states with the Metropolis-adjusted algorithm,
// tuned in a warm-up of 1000 steps.
type LangevinConfig struct {
	// StepSize is h. 0 means: start at sites^(−1/3)/2 and adapt during warm-up,
	// per block, to the mean acceptance probability Target of the adjusted
	// algorithm; a positive value is fixed. Unadjusted chains need one.
	StepSize float64
	Target   float64 // 0 means 0.574 (Roberts and Rosenthal 1998)

	// Unadjusted leaves the acceptance step out (ULA): the law is off by O(h).
	Unadjusted bool

	// Project, if not nil, moves every state of unadjusted chains into a
	// domain after each step, in place: projected Langevin (Bubeck, Eldan and
	// Lehec 2018). It must be safe for concurrent use.
	Project func(x []float32)

	Chains  int    // number of chains; 0 means 4
	Seed    uint64 // chain i draws from stream (Seed, i)
	Warmup  int    // steps of the first Run that adapt and are not kept; 0 means 1000, −1 none
	Thin    int    // steps per draw; 0 means 1
	Workers int    // goroutines; 0 means GOMAXPROCS; never changes results

	// Init holds the initial states: one per chain, or one for all chains. If
	// nil, coordinates are standard normal, then projected.
	Init []float32

	// Observe, if not nil, is told of every draw.
	Observe RealObserver
}

// RealObserver is [Observer] for reals. A [Trace] takes part through
// [RealTrace].
type RealObserver func(chain, draw int, x []float32, info *Info)

// Langevin runs Markov chains on a real-valued target,
//
//	y = x + h·s(x) + √(2h)·ξ,  s = −∇E,  ξ ~ N(0, I),
//
// accepted with min(1, exp(E(x) − E(y) + log q(x|y) − log q(y|x))), which
// leaves e^{−E} invariant (MALA; Roberts and Tweedie 1996), or always (ULA). A
// proposal whose energy or score is not finite is rejected by the former,
// counted in [Info.Invalid] if the energy is NaN or −Inf, and ends the run of
// the latter. The states are float32; proposals round to that grid, finer than
// √(2h) by orders.
//
// A run is a function of (target, LangevinConfig without Workers, numbers of
// steps); blocks of [BlockSize] chains are worked on as in [Chains]. Methods
// must not be called concurrently with each other.
type Langevin struct {
	cfg     LangevinConfig
	target  energy.Scored
	sites   int
	x       []float32 // chains × sites
	streams []Stream
	info    []Info
	blocks  []langevinBlock
	kept    int
	ready   bool
}

// NewLangevin returns chains on the target, ready to run. It returns an error
// for a nil target or a field out of range.
func NewLangevin(target energy.Scored, cfg LangevinConfig) (*Langevin, error) {
	if target == nil {
		return nil, fmt.Errorf("sampler: NewLangevin: target = nil")
	}
	sites := target.Sites()
	if sites < 1 {
		return nil, fmt.Errorf("sampler: NewLangevin: sites = %d, want ≥ 1", sites)
	}
	tuned := cfg.StepSize == 0
	if err := cfg.fill(sites); err != nil {
		return nil, err
	}
	l := &Langevin{cfg: cfg, target: target, sites: sites,
		x: make([]float32, cfg.Chains*sites), streams: make([]Stream, cfg.Chains), info: make([]Info, cfg.Chains)}
	for i := range l.streams {
		l.streams[i] = Stream{seed: cfg.Seed, chain: uint64(i)}
	}
	for first := 0; first < cfg.Chains; first += BlockSize {
		b := newLangevinBlock(first, min(BlockSize, cfg.Chains-first), sites, cfg.StepSize)
		if tuned {
			var err error
			if b.tune, err = tune.New("sampler: Langevin", cfg.StepSize, cfg.Target); err != nil {
				return nil, err
			}
		}
		l.blocks = append(l.blocks, b)
	}
	l.initStates()
	return l, nil
}

// fill checks the configuration and replaces zeros by defaults.
func (c *LangevinConfig) fill(sites int) error {
	bad := func(name string, v any, want string) error {
		return fmt.Errorf("sampler: LangevinConfig.%s = %v, want %s", name, v, want)
	}
	switch {
	case !(c.StepSize >= 0) || c.StepSize > 1e30: // √(2h) must be a float32
		return bad("StepSize", c.StepSize, "0 ≤ StepSize ≤ 1e30")
	case !(c.Target >= 0 && c.Target < 1):
		return bad("Target", c.Target, "0 ≤ Target < 1")
	case c.Unadjusted && c.StepSize == 0:
		return bad("StepSize", 0, "> 0 for unadjusted chains, which have no acceptance to tune by")
	case c.Project != nil && !c.Unadjusted:
		return bad("Project", "set", "nil unless Unadjusted: the acceptance step does not know of it")
	case c.Chains < 0:
		return bad("Chains", c.Chains, "≥ 0")
	case c.Warmup < -1:
		return bad("Warmup", c.Warmup, "≥ -1")
	case c.Thin < 0:
		return bad("Thin", c.Thin, "≥ 0")
	case c.Workers < 0:
		return bad("Workers", c.Workers, "≥ 0")
	}
	if c.StepSize == 0 {
		c.StepSize = 0.5 * cubeRootInverse(sites)
	}
	if c.Chains == 0 {
		c.Chains = defaultChains
	}
	switch c.Warmup {
	case 0:
		c.Warmup = defaultWarmup
	case -1:
		c.Warmup = 0
	}
	c.Thin = max(c.Thin, 1)
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	if n := len(c.Init); n != 0 && n != sites && n != c.Chains*sites {
		return fmt.Errorf("sampler: len(LangevinConfig.Init) = %d, want %d (one state) or %d (one per chain)", n, sites, c.Chains*sites)
	}
	return nil
}

// cubeRootInverse returns n^(−1/3), how the best step of MALA scales with the
// number of coordinates (Roberts and Rosenthal 1998).
func cubeRootInverse(n int) float64 { return simd.Exp(-simd.Log(float64(n)) / 3) }

func (l *Langevin) initStates() {
	if init := l.cfg.Init; len(init) > 0 {
		for at := 0; at < len(l.x); at += len(init) {
			copy(l.x[at:], init)
		}
		return
	}
	for i := range l.streams {
		x := l.state(i)
		normal.Fill(x, &l.streams[i])
		if l.cfg.Project != nil {
			l.cfg.Project(x)
		}
	}
}

// state returns the state of chain i.
func (l *Langevin) state(i int) []float32 { return l.x[i*l.sites : (i+1)*l.sites] }

// States returns the current states, chains × sites, the runner's own. Who
// writes to it must call Reset.
func (l *Langevin) States() []float32 { return l.x }

// Info returns what is known of each chain's last step.
func (l *Langevin) Info() []Info { return l.info }

// Len returns the number of draws made.
func (l *Langevin) Len() int { return l.kept }

// StepSizes returns the step size of every block.
func (l *Langevin) StepSizes() []float64 {
	h := make([]float64, len(l.blocks))
	for i := range l.blocks {
		h[i] = l.blocks[i].h
	}
	return h
}

// Stats returns the statistics of all chains since warm-up; Moved counts
// coordinates, all or none per step.
func (l *Langevin) Stats() Stats {
	var t Stats
	for i := range l.blocks {
		s := &l.blocks[i].stats
		t.Steps += s.Steps
		t.Accept += s.Accept
		t.Moved += s.Moved
		t.Invalid += s.Invalid
	}
	if t.Steps > 0 {
		t.Accept /= float64(t.Steps)
		t.Moved /= float64(t.Steps)
	}
	return t
}

// RealTrace returns a [Trace] of functions of real states, and the observer that
// feeds it. The functions must be safe for concurrent use. A trace of reals
// keeps no states.
func RealTrace(chains int, f ...func(x []float32) float64) (*Trace, RealObserver) {
	values := make([][]float64, chains)
	for c := range values {
		values[c] = make([]float64, len(f))
	}
	read := make([]func(x []int32) float64, len(f))
	for i := range f {
		// The state that the trace passes on is the number of the chain.
		read[i] = func(x []int32) float64 { return values[x[0]][i] }
	}
	t := NewTrace(chains, read...)
	who := make([][]int32, chains)
	for c := range who {
		who[c] = []int32{int32(c)}
	}
	return t, func(chain, draw int, x []float32, info *Info) {
		for i := range f {
			values[chain][i] = f[i](x)
		}
		t.Observe(chain, draw, who[chain], info)
	}
}
