package ground

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Pairwise is [energy.Pairwise], a model of two levels. Its energy is a sum of terms for single
// sites and for pairs of sites. A [Search] accepts these models.
type Pairwise = energy.Pairwise

// Config holds the settings of a [Search]. The zero value is recommended.
type Config struct {
	// Chains is the number of simultaneous searches, which take over parts of each other's best
	// states; 0 means 4. There is one exception. If 64 states are annealed at a time (see [Search])
	// and more than 4,096 sites are searched, 0 means 1. A single search then finds lower energies
	// in the same processor time, but uses only one processor.
	Chains  int
	Seed    uint64 // seed of the random streams; search i draws from stream (Seed, i)
	Workers int    // number of goroutines; 0 means GOMAXPROCS; does not change results

	// Init holds the initial states: one per search, or one for all searches. The result is never
	// worse than these. If Init is nil, the searches begin with random states.
	Init []int32

	// Sweeps is the number of sweeps in the shortest rounds of annealing; 0 means 50. A sweep
	// updates every site. Other rounds are longer by powers of two; see [Search].
	Sweeps int

	// Stop, if not nil, is called after every round with the lowest energy so far. If it returns
	// true, the Run ends.
	Stop func(energy float64) bool

	// Checkpoint makes Run save the search to the file Path, as SaveFile does. An empty Path means
	// no checkpoints. Run saves when it ends, even if the context ended. If Every is k > 0, it also
	// saves after every k rounds. If saving fails, Run returns the error.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called during a Run. It receives the number of rounds done so far
	// and the total for this Run.
	Progress func(done, total int)
}

const (
	defaultChains = 4
	defaultSweeps = 50
	maxSweeps     = 1 << 20
)

// fill checks the configuration and replaces zero fields by their defaults.
func (cfg *Config) fill(sites int) error {
	err := check.Defaults("ground: Config.",
		check.Number("Chains", &cfg.Chains, 0, 0), check.Number("Workers", &cfg.Workers, 0, runtime.GOMAXPROCS(0)),
		check.Number("Sweeps", &cfg.Sweeps, 0, defaultSweeps), check.Number("Checkpoint.Every", &cfg.Checkpoint.Every, 0, 0),
	)
	chains := cmp.Or(cfg.Chains, defaultChains)
	n, bad := len(cfg.Init), slices.IndexFunc(cfg.Init, func(v int32) bool { return v != 0 && v != 1 })
	if err = cmp.Or(err,
		check.If(cfg.Sweeps > maxSweeps, "ground: Config.Sweeps = %d, want ≤ %d", cfg.Sweeps, maxSweeps),
		check.Entries("ground: New", "Chains × sites", chains, sites),
		check.If(n > 0 && n != sites && n != chains*sites, "ground: len(Config.Init) = %d, want %d (one state) or %d (one per search)", n, sites, chains*sites),
	); err == nil && bad >= 0 {
		err = fmt.Errorf("ground: Config.Init[%d] = %d, want 0 or 1", bad, cfg.Init[bad])
	}
	if n > sites {
		cfg.Chains = chains
	}
	return err
}
