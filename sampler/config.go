package sampler

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/session"
)

// Config holds the settings of a run: the number of chains, their initial states and
// what observes them. The zero value runs 4 chains of seed 0 from uniform random states,
// with a warm-up of 1000 steps.
type Config struct {
	Chains  int    // number of chains of the whole run; 0 means 4
	Seed    uint64 // chain i draws from stream (Seed, i)
	Warmup  int    // steps of the first Run that adapt and are not kept; 0 means 1000, −1 none; see also Warm
	Thin    int    // steps per draw; 0 means 1
	Workers int    // goroutines; on large lattices also within a chain; 0 means GOMAXPROCS; never changes results

	// Generator makes the random numbers; the zero value is Philox4x32-10. Runs that draw
	// many numbers and do little else, such as Gibbs on lattices, are up to twice as fast
	// with ARS4x32 where the processor has AES instructions. It changes results
	// as Seed does, and checkpoints keep it.
	Generator Generator

	// BlockChains, if not 0, is what [Config.Block] returns whatever Chains is, at most
	// [BlockSize]. Runs that differ in Chains then have the chains of whole blocks in
	// common, bit by bit: a run of 20 chains in blocks of 4 is the first fifth of one of 100.
	// Otherwise blocks depend on Chains, and with them the step sizes that warm-up finds
	// and, for some kernels, how they draw.
	BlockChains int

	// First and Count make this a part of the run: its chains First … First+Count−1, with
	// the same bits as in the whole run. Parts may run anywhere, in any order. Observers
	// and errors see the numbers of the run; States, Info and Init begin with chain
	// First. Both are multiples of the block, see [Config.Block], except that the last
	// part may end with the run; Count 0 means all chains from First on. [Config.Part]
	// cuts a run.
	First, Count int

	// DrawsFile, if not empty, is the path of a file to which every draw is written while
	// the chains run: states, energies, acceptance and moves, with checksums and the
	// settings of the run. A level takes the bits that it needs, 1 for a spin.
	// diagnose.Replay reads the file. A killed process loses the draws of
	// its last milliseconds at most. A checkpoint never counts more draws than the disk
	// holds: chains that load one continue the file from there, with the bits of a run
	// that was not stopped. A file of another run, one with fewer draws than the
	// chains have made, and one that another run is using is refused. A Run locks it by
	// the file DrawsFile.lock, see Checkpoint.
	DrawsFile string

	// Init holds the initial states: one per chain, or one for all chains. If nil, every
	// level is drawn uniformly, and a model that is energy.Supported repairs a state of
	// probability zero. Other models with such states need an Init.
	Init []int32

	// Observe, if not nil, is called after every draw of every chain. Calls for different
	// blocks of chains run concurrently: accumulate per chain, in a slice indexed by
	// chain, or lock a mutex around what chains share, such as a map.
	Observe Observer

	// Checkpoint, if it has a Path, saves the chains there as SaveFile does: at the
	// end of every Run, even if its context ended it, and within a Run whenever Every
	// more draws have been made (0: at the end only). It waits for the end of a round
	// of chains, which is some milliseconds of steps at most, so that a small Every
	// does not save all the time. A failure to save ends the Run.
	//
	// A Run locks the file Path, by a file Path.lock that exists meanwhile, and refuses
	// one that another run has locked, in this or another process, or has replaced since
	// it was loaded. Locks between processes are those of flock on Linux, macOS and BSD,
	// and their like on Windows and other systems; js, wasip1 and file systems without
	// locks have none.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called from the goroutine of Run with the number
	// of steps done and the total of this Run, warm-up included, every few
	// milliseconds at most.
	Progress func(done, total int)
}

// fill checks the configuration and replaces zeros by defaults.
func (cfg *Config) fill(name string) error {
	if err := check.Defaults(name+": Config.",
		check.Number("Chains", &cfg.Chains, 0, defaultChains), check.Number("Thin", &cfg.Thin, 0, 1),
		check.Number("Workers", &cfg.Workers, 0, runtime.GOMAXPROCS(0)), check.Number("Checkpoint.Every", &cfg.Checkpoint.Every, 0, 0),
		check.Number("Warmup", &cfg.Warmup, -1, defaultWarmup), check.Number("BlockChains", &cfg.BlockChains, 0, 0),
	); err != nil {
		return err
	}
	if cfg.BlockChains > BlockSize {
		return fmt.Errorf("%s: Config.BlockChains = %d, want 0 … %d", name, cfg.BlockChains, BlockSize)
	}
	cfg.Warmup = max(cfg.Warmup, 0)
	if err := cfg.Generator.Check(); err != nil {
		return fmt.Errorf("%s: Config.Generator: %w", name, err)
	}
	if cfg.DrawsFile != "" && cfg.Checkpoint.Path != "" {
		for _, taken := range durable.Files(cfg.Checkpoint.Path) {
			if draws := filepath.Clean(cfg.DrawsFile); draws == filepath.Clean(taken) || draws+".lock" == filepath.Clean(taken) {
				return fmt.Errorf("%s: Config.DrawsFile = %q, want another file than those of Config.Checkpoint.Path = %q", name, cfg.DrawsFile, cfg.Checkpoint.Path)
			}
		}
	}
	return nil
}

const (
	defaultChains = 4    // as Stan: enough for R-hat to compare
	defaultWarmup = 1000 // as Stan
)

// Block returns the number of consecutive chains that a kernel moves together in the run
// of cfg.Chains chains, 1 … [BlockSize]; the last block may be smaller. Parts of the run
// begin at multiples of it. It is BlockChains or, without, a function of Chains alone. Below 64 chains it is a
// quarter of them, so that 4 chains keep 4 cores busy. From 64 on it is the largest that
// makes the number of blocks even, since kernels of matrix products and of colour sweeps
// are fastest on large blocks.
func (cfg Config) Block() int {
	if cfg.BlockChains > 0 {
		return min(cfg.BlockChains, BlockSize)
	}
	return session.Block(cmp.Or(max(cfg.Chains, 0), defaultChains))
}

// Part returns cfg with First and Count set to part k, counted from 0, of n
// nearly equal ones that make up the run:
//
//	part, err := cfg.Part(task, tasks)
//	ch, err := sampler.NewChains(ctx, m, method, part)
//
// Errors: k or n out of range, where n is at most the number of blocks; a cfg
// that is a part already.
func (cfg Config) Part(k, n int) (Config, error) {
	err := session.Cut("sampler: Config", &cfg.Chains, &cfg.First, &cfg.Count, defaultChains, min(cfg.BlockChains, BlockSize), k, n)
	return cfg, err
}
