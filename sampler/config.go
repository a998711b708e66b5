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
	Chains int    // number of chains of the whole run; 0 means 4
	Seed   uint64 // chain i draws from stream (Seed, i)
	// adaptation steps of the first Run, which are not kept; 0 means 1000, −1 means none; see
	// also Runner.Warm
	Warmup int
	Thin   int // steps per draw; 0 means 1
	// number of goroutines, also used within a chain on large lattices; 0 means GOMAXPROCS; does
	// not change results
	Workers int

	// Generator selects the random number generator; the zero value is Philox4x32-10. Runs that do
	// little besides drawing random numbers, such as Gibbs on lattices, are up to twice as fast
	// with ARS4x32 on processors with AES instructions. Like Seed, Generator changes results, and
	// checkpoints record it.
	Generator Generator

	// BlockChains, if not 0, is the block size that [Config.Block] returns; at most [BlockSize].
	// It makes the block size independent of Chains. Runs with different values of Chains then
	// agree bit for bit in the whole blocks that they share: a run of 20 chains in blocks of 4
	// equals the first fifth of a run of 100.
	//
	// If BlockChains is 0, the block size depends on Chains. So do the step sizes that warm-up
	// finds and, for some kernels, the random numbers that a chain uses.
	BlockChains int

	// First and Count select a part of the run: chains First … First+Count−1, with the same bits
	// as in the whole run. Parts may run anywhere, in any order. Observers and errors use the
	// chain numbers of the whole run, but States, Info and Init begin with chain First. A Count
	// of 0 means all chains from First on. First and Count must be multiples of the block size
	// (see [Config.Block]), except that the last part may end with a smaller block. [Config.Part]
	// divides a run into parts.
	First, Count int

	// DrawsFile, if not empty, is the path of a file to which every draw is written during the
	// run. The file holds states, energies, acceptance probabilities and moves, with checksums
	// and the settings of the run. A level takes as few bits as it needs, 1 for a spin.
	// diagnose.Replay reads the file.
	//
	// A killed process loses at most the draws of its last milliseconds. A checkpoint never
	// counts more draws than are on disk. Chains that load it continue the file from there, bit
	// for bit as if the run had not stopped. It is an error if the file belongs to another run,
	// holds fewer draws than the chains have made, or is in use by another run. A Run locks the
	// file with DrawsFile.lock, see Checkpoint.
	DrawsFile string

	// Init holds the initial states: one per chain, or one for all chains. If Init is nil, every
	// level is drawn uniformly. An energy.Supported model then repairs states of probability
	// zero; any other model that has such states needs an Init.
	Init []int32

	// Observe, if not nil, is called after every draw of every chain. Calls for different blocks
	// of chains run concurrently. Either accumulate per chain, in a slice indexed by chain, or
	// protect shared data, such as a map, with a mutex.
	Observe Observer

	// Checkpoint saves the chains to the file Path, as SaveFile does, if Path is not empty. It
	// saves at the end of every Run, even if the context ended. If Every is not 0, it also saves
	// during a Run, after every Every draws. A save waits for the end of a round of steps, at
	// most some milliseconds, so a small Every does not save continually. If saving fails, the
	// Run ends.
	//
	// A Run locks the file Path with a file Path.lock, which exists for the duration of the Run.
	// Run returns an error if another run, in this or another process, has locked Path or has
	// replaced the file since it was loaded. Locks between processes use flock on Linux, macOS
	// and BSD, and its counterparts on Windows and other systems. There are none on js, on wasip1
	// and on file systems without locks.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called from the goroutine of Run, at most once every few
	// milliseconds, with the number of steps done and the total of this Run, warm-up included.
	Progress func(done, total int)
}

// fill checks the configuration and replaces zero fields by their defaults.
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
	defaultChains = 4    // default number of chains, as in Stan: enough for R-hat to compare
	defaultWarmup = 1000 // default number of warm-up steps, as in Stan
)

// Block returns the number of consecutive chains that a kernel moves together, 1 … [BlockSize];
// the last block may be smaller. It is BlockChains if that is set, and otherwise depends only on
// Chains, the number of chains of the whole run. Below 64 chains it is a quarter of them, so that
// 4 chains keep 4 cores busy. From 64 on it is the largest size that makes the number of blocks
// even, because kernels that use matrix products or sweep by colour are fastest on large blocks.
// Parts of a run begin at multiples of this number.
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
