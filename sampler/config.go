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

// Config holds the settings of a run: the number of chains, their initial states, and the functions
// that observe their draws. The zero value runs 4 chains with seed 0 from uniform random states,
// after a warm-up of 1000 steps.
type Config struct {
	// Chains is the number of chains of the whole run; 0 means 4. It is the same for every part
	// that First and Count select.
	Chains int
	Seed   uint64 // seed of the random streams; chain i draws from stream (Seed, i)
	// Warmup is the number of warm-up steps that the first Run makes before its first draw; 0 means
	// 1000, and −1 means none. See also Runner.Warm.
	Warmup int
	Thin   int // number of steps per draw; 0 means 1
	// Workers is the number of goroutines; 0 means GOMAXPROCS. On large lattices they also share
	// the work of a single chain. Workers does not change results.
	Workers int

	// Generator selects the random number generator; the zero value is Philox4x32. On processors
	// with AES instructions, ARS4x32 is faster than Philox4x32. A run is up to twice as fast if
	// drawing random numbers dominates the cost, as in Gibbs sampling on lattices. Like Seed,
	// Generator changes results, and checkpoints record it.
	Generator Generator

	// BlockChains sets the number of consecutive chains that move together, at most [BlockSize]. If
	// it is 0, [Config.Block] derives the number from Chains. Tuned step sizes, and the random
	// numbers of some kernels, depend on it.
	//
	// Set BlockChains if runs with different numbers of chains should agree bit for bit. With
	// BlockChains 4, a run of 20 chains equals the first 20 chains of a run of 100.
	//
	// Kernels that hold the states of chains as bits, such as mcmc.Gibbs for couplings ±J, prefer
	// large blocks. For example, tempering of 32 chains on a lattice of 8 × 8 × 8 spins takes three
	// times as much processor time in four blocks of 8 as in one block of 32.
	BlockChains int

	// First and Count select a part of the run: chains First … First+Count−1. A Count of 0 means
	// all chains from First on. A part gives its chains the same bits as the whole run.
	// [Config.Part] sets both fields.
	//
	// First must be a multiple of the block size (see [Config.Block]), and so must Count except in
	// the last part. Observers and errors number the chains as in the whole run. States, Info and
	// Init begin with chain First.
	First, Count int

	// DrawsFile, if not empty, is the path of a file to which a Run writes every draw: state,
	// energy, acceptance probability and number of moves. Read it with diagnose.Replay.
	//
	// A killed process loses at most the draws of its last milliseconds, and none that a checkpoint
	// counts. After a checkpoint is loaded, a Run continues the file as if there had been no stop.
	// It is an error if the file
	//
	//   - belongs to another run;
	//   - holds fewer draws than the chains have made;
	//   - is in use by another run. A Run locks it with a file DrawsFile.lock; see Checkpoint.
	DrawsFile string

	// Init holds the initial states: one per chain, or one for all chains. If Init is nil, the
	// level of every site is drawn uniformly. A random state may then have probability zero. If the
	// model is an energy.Supported, its method Repair replaces such states by possible ones; for
	// other models, set Init.
	Init []int32

	// Observe, if not nil, is called after every draw of every chain. It is called for the chains
	// of a block one after the other (see [Config.Block]), and for chains of different blocks
	// concurrently. Observe should therefore accumulate into a slice indexed by chain, or protect
	// shared data with a mutex.
	Observe Observer

	// Checkpoint makes Run save the chains to the file Path, as SaveFile does. An empty Path means
	// no checkpoints. Run saves when it ends, even if ctx has ended. If Every is k > 0, it also
	// saves after every k draws, but at most once every few milliseconds. If saving fails, Run
	// returns the error.
	//
	// To resume, create chains with the same settings and call LoadFile before Run. Observe does
	// not receive the earlier draws; for these, set DrawsFile and call diagnose.Replay.
	//
	// During a Run, a file Path.lock locks Path. Run returns an error if another run has locked
	// Path, or has replaced the file since it was loaded. Locks work between processes, except on
	// js, on wasip1 and on file systems without locks.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called by Run, in the goroutine of Run and at most once every few
	// milliseconds. It receives the number of steps done and the total for this Run. Both include
	// warm-up steps.
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
				return fmt.Errorf("%s: Config.DrawsFile = %q, want a different file from those of Config.Checkpoint.Path = %q", name, cfg.DrawsFile, cfg.Checkpoint.Path)
			}
		}
	}
	return nil
}

const (
	defaultChains = 4    // default number of chains, as in Stan: enough for R-hat to compare
	defaultWarmup = 1000 // default number of warm-up steps, as in Stan
)

// Block returns the number of consecutive chains that one kernel moves together, 1 … [BlockSize].
// The last block may be smaller. Config.First must be a multiple of this number, and so must
// Config.Count except in the last part.
//
// The result is BlockChains if that is set. Otherwise it depends only on the field Chains, which
// counts the chains of the whole run:
//
//   - Below 64 chains it is a quarter of Chains, so that 4 chains keep 4 cores busy.
//   - From 64 chains on it is the largest size for which the number of blocks is even.
//
// Large blocks suit kernels that use matrix products. They also suit kernels that update many sites
// at once.
func (cfg Config) Block() int {
	if cfg.BlockChains > 0 {
		return min(cfg.BlockChains, BlockSize)
	}
	return session.Block(cmp.Or(max(cfg.Chains, 0), defaultChains))
}

// Part returns a copy of cfg for part k of n nearly equal parts of the run, counted from k = 0. It
// sets First and Count. Each task of a distributed run can then sample its own part:
//
//	part, err := cfg.Part(task, tasks)
//	ch, err := sampler.NewChains(ctx, m, method, part)
//
// It returns an error if cfg already selects a part, or if k or n is out of range. The largest n is
// the number of blocks.
func (cfg Config) Part(k, n int) (Config, error) {
	err := session.Cut("sampler: Config", &cfg.Chains, &cfg.First, &cfg.Count, defaultChains, min(cfg.BlockChains, BlockSize), k, n)
	return cfg, err
}
