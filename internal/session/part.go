package session

import "fmt"

// BlockSize is the largest number of consecutive chains that move together.
const BlockSize = 32

// fewBlocks is the number of blocks of a small run.
const fewBlocks = 4

// Block returns the number of consecutive chains in a block of a run of the given number of
// chains, at least one: see sampler.Config.Block.
func Block(chains int) int {
	blocks := min(fewBlocks, chains)
	if chains >= 2*BlockSize {
		blocks = (chains-1)/BlockSize + 1
		blocks += blocks % 2
	}
	return (chains-1)/blocks + 1
}

// Cut divides a run into n nearly equal parts and returns the first chain of part k,
// counted from 0, and the number of its chains. Errors: first or count is not 0 (the run is
// a part already), chains < 1, k or n out of range; n is at most the number of blocks.
func Cut(config string, chains, first, count, k, n int) (int, int, error) {
	if first != 0 || count != 0 {
		return first, count, fmt.Errorf("%s.Part: First = %d and Count = %d, want 0: the configuration of the whole run", config, first, count)
	}
	if chains < 1 {
		return first, count, fmt.Errorf("%s.Part: Chains = %d, want ≥ 0", config, chains)
	}
	size := Block(chains)
	blocks := (chains-1)/size + 1
	if n < 1 || n > blocks {
		return first, count, fmt.Errorf("%s.Part: n = %d, want 1 … %d (%d chains in blocks of %d)", config, n, blocks, chains, size)
	}
	if k < 0 || k >= n {
		return first, count, fmt.Errorf("%s.Part: k = %d, want 0 … %d", config, k, n-1)
	}
	at := func(k int) int { // the first parts have a block more
		if k == n {
			return chains
		}
		return (k*(blocks/n) + min(k, blocks%n)) * size
	}
	return at(k), at(k+1) - at(k), nil
}

// Count returns the number of chains of the part of a run that begins with chain first; a
// count of 0 means all that follow. Errors: first or count is out of range or divides a
// block.
func Count(config string, chains, first, count int) (int, error) {
	size := Block(chains)
	if first < 0 || first >= chains {
		return 0, fmt.Errorf("%s.First = %d, want 0 … %d (Chains = %d)", config, first, chains-1, chains)
	}
	if first%size != 0 {
		return 0, fmt.Errorf("%s.First = %d, want a multiple of the block of %d", config, first, size)
	}
	rest := chains - first
	if count == 0 {
		count = rest
	}
	if count < 0 || count > rest {
		return 0, fmt.Errorf("%s.Count = %d from chain %d on, want 0 … %d of %d chains", config, count, first, rest, chains)
	}
	if count%size != 0 && count != rest {
		return 0, fmt.Errorf("%s.Count = %d, want a multiple of the block of %d, or all %d chains to the end", config, count, size, rest)
	}
	return count, nil
}
