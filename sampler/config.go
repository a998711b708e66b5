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

// Config holds the settings of a run: the number of chains, their initial states and their
// observers. The zero value runs 4 chains with seed 0 from uniform random states, after a warm-up
// of 1000 steps.
type Config struct {
	Chains  int    // number of chains of the whole run; 0 means 4
	Seed    uint64 // chain i draws from stream (Seed, i)
	Warmup  int    // steps of the first Run that adapt and are not kept; 0 means 1000, −1 none; see also Warm
	Thin    int    // steps per draw; 0 means 1
	Workers int    // goroutines; on large lattices also within a chain; 0 means GOMAXPROCS; never changes results

	// Generator selects the random number generator; the zero value is Philox4x32-10. Runs that do
	// little besides drawing random numbers, such as Gibbs on lattices, are up to twice as fast
	// with ARS4x32 on processors with AES instructions. Like Seed, Generator changes results, and
	// checkpoints record it.
	Generator Generator

	// BlockChains, if not 0, is the block size that [Config.Block] returns, whatever Chains is; at
	// most [BlockSize]. Runs with different values of Chains then agree bit for bit in the whole
	// blocks that they share: a run of 20 chains in blocks of 4 is the first fifth of a run of 100.
	// If BlockChains is 0, the block size depends on Chains. So do the step sizes that warm-up
	// finds and, for some kernels, the random numbers that a chain uses.
	BlockChains int

	// First and Count make this a part of a run: its chains First … First+Count−1, with the same
	// bits as in the whole run. Parts may run anywhere, in any order. Observers and errors use the
	// whole run's chain numbers, but States, Info and Init begin with chain First. First and Count
	// must be multiples of the block size, see [Config.Block], except that the last part ends with
	// the run. A Count of 0 means all chains from First on. [Config.Part] divides a run into parts.
	First, Count int

	// DrawsFile, if not empty, is the path of a file to which every draw is written while the
	// chains run: states, energies, acceptance and moves, with checksums and the settings of the
	// run. A level takes as few bits as it needs, 1 for a spin. diagnose.Replay reads the file. A
	// killed process loses at most the draws of its last milliseconds. A checkpoint never counts
	// more draws than are on disk: chains that load it continue the file from there, bit for bit as
	// if the run had not stopped. It is an error if the file belongs to another run, holds fewer
	// draws than the chains have made, or is in use by another run. A Run locks the file with
	// DrawsFile.lock, see Checkpoint.
	DrawsFile string

	// Init holds the initial states: one per chain, or one for all chains. If Init is nil, every
	// level is drawn uniformly, and a model that is energy.Supported repairs a state of probability
	// zero. Any other model that has such states needs an Init.
	Init []int32

	// Observe, if not nil, is called after every draw of every chain. Calls for different blocks of
	// chains run concurrently: accumulate per chain, in a slice indexed by chain, or protect shared
	// data, such as a map, with a mutex.
	Observe Observer

	// Checkpoint, if it has a Path, saves the chains there as SaveFile does: at the end of every
	// Run, even if its context ended, and during a Run each time Every more draws have been made
	// (0: at the end only). A save waits for the end of a round of chains, at most some
	// milliseconds of steps, so a small Every does not save continually. If saving fails, the Run
	// ends.
	//
	// A Run locks the file Path with a file Path.lock, which exists for the duration of the Run.
	// Run returns an error if another run has locked Path, in this or another process, or has
	// replaced the file since it was loaded. Locks between processes use flock on Linux, macOS and
	// BSD, and its counterparts on Windows and other systems; js, wasip1 and file systems without
	// locks have none.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called from the goroutine of Run, at most once every few
	// milliseconds, with the number of steps done and the total of this Run, warm-up included.
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

// Block returns the number of consecutive chains that a kernel moves together in the whole run of
// cfg.Chains chains, 1 … [BlockSize]; the last block may be smaller. Parts of the run begin at
// multiples of this number. It is BlockChains if that is set, and otherwise depends on Chains
// alone. Below 64 chains it is a quarter of them, so that 4 chains keep 4 cores busy. From 64 on it
// is the largest size that makes the number of blocks even, because kernels that use matrix
// products or sweep by colour are fastest on large blocks.
func (cfg Config) Block() int {
	if cfg.BlockChains > 0 {
		return min(cfg.BlockChains, BlockSize)
	}
	return session.Block(cmp.Or(max(cfg.Chains, 0), defaultChains))
}

// Part returns cfg with First and Count set to part k, counted from 0, of n nearly equal parts of
// the run:
//
//	part, err := cfg.Part(task, tasks)
//	ch, err := sampler.NewChains(ctx, m, method, part)
//
// It returns an error if k or n is out of range (n is at most the number of blocks) or if cfg is
// already a part.
func (cfg Config) Part(k, n int) (Config, error) {
	err := session.Cut("sampler: Config", &cfg.Chains, &cfg.First, &cfg.Count, defaultChains, min(cfg.BlockChains, BlockSize), k, n)
	return cfg, err
}
