package session

import (
	"cmp"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// BlockSize is the largest number of consecutive chains in a block. A kernel moves the chains of a
// block together.
const BlockSize = 32

// fewBlocks is the number of blocks in a run with fewer than 2·BlockSize chains.
const fewBlocks = 4

// Block returns the number of consecutive chains per block in a run of the given number of chains,
// which must be ≥ 1. See sampler.Config.Block.
func Block(chains int) int {
	blocks := min(fewBlocks, chains)
	if chains >= 2*BlockSize {
		blocks = (chains-1)/BlockSize + 1
		blocks += blocks % 2
	}
	return (chains-1)/blocks + 1
}

// Cut divides a run into n nearly equal parts and computes part k, counted from 0. It stores the
// first chain of the part in *first and the number of its chains in *count.
//
// The number of chains of the run is *chains. If it is 0, Cut sets it to defaultChains. A part
// consists of whole blocks of blockSize chains each; the last block of the run may be smaller. If
// blockSize is 0, Cut uses the result of [Block].
//
// Cut returns an error if *first or *count is not 0, that is, if the run is already a part. It also
// returns an error if *chains < 1, if n is not between 1 and the number of blocks, or if k is not
// in 0 … n−1. Errors begin with config, the name of the configuration.
func Cut(config string, chains, first, count *int, defaultChains, blockSize, k, n int) error {
	*chains = cmp.Or(*chains, defaultChains)
	blockSize = cmp.Or(blockSize, Block(max(*chains, 1)))
	blocks := (*chains-1)/blockSize + 1
	if err := cmp.Or(
		check.If(*first != 0 || *count != 0, "%s.Part: First = %d and Count = %d, want 0: the configuration of the whole run", config, *first, *count),
		check.If(*chains < 1, "%s.Part: Chains = %d, want ≥ 0", config, *chains),
		check.If(n < 1 || n > blocks, "%s.Part: n = %d, want 1 … %d (%d chains in blocks of %d)", config, n, blocks, *chains, blockSize),
		check.If(k < 0 || k >= n, "%s.Part: k = %d, want 0 … %d", config, k, n-1),
	); err != nil {
		return err
	}
	*first = Share(*chains, blockSize, k, n)
	*count = Share(*chains, blockSize, k+1, n) - *first
	return nil
}

// Share divides a total of elements, such as chains, into n parts. It returns the index of the
// first element of part k, or total if k = n. A part consists of whole blocks of the given size,
// and the first parts may have one extra block.
func Share(total, size, k, n int) int {
	if k == n {
		return total
	}
	blocks := (total-1)/size + 1
	return (k*(blocks/n) + min(k, blocks%n)) * size
}

// Count returns the number of chains in a part of a run. The argument first is the index of the
// part's first chain. If count is positive, Count returns it. If it is 0, the part extends to the
// last chain of the run. A block has blockSize chains. Count returns an error if first or count is
// out of range, or if the part would not consist of whole blocks. Errors begin with config, the
// name of the configuration.
func Count(config string, chains, blockSize, first, count int) (int, error) {
	rest := chains - first
	count = cmp.Or(count, rest)
	return count, cmp.Or(
		check.If(first < 0 || first >= chains, "%s.First = %d, want 0 … %d (Chains = %d)", config, first, chains-1, chains),
		check.If(first%blockSize != 0, "%s.First = %d, want a multiple of the block of %d", config, first, blockSize),
		check.If(count < 0 || count > rest, "%s.Count = %d from chain %d on, want 0 … %d of %d chains", config, count, first, rest, chains),
		check.If(count%blockSize != 0 && count != rest, "%s.Count = %d, want a multiple of the block of %d, or all %d chains to the end", config, count, blockSize, rest),
	)
}
