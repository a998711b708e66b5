package anneal

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// part is the chains first … first+count−1 of a run of so many chains.
type part struct {
	first, count, chains int
	settings             *fingerprint.List // of the whole run; nil unless this is less
}

// block returns the number of chains of a block in a run of so many, whose
// multiples parts begin at.
func block(chains int) int { return sampler.Config{Chains: chains}.Block() }

// fillPart checks First and Count against the number of chains of the whole run
// and replaces a Count of 0.
func fillPart(config string, chains, first int, count *int) error {
	size := block(chains)
	switch {
	case first < 0 || first >= chains:
		return fmt.Errorf("anneal: %s.First = %d, want 0 … %d", config, first, chains-1)
	case first%size != 0:
		return fmt.Errorf("anneal: %s.First = %d, want a multiple of the block of %d", config, first, size)
	case *count < 0 || *count > chains-first:
		return fmt.Errorf("anneal: %s.Count = %d, want 0 … %d (Chains − First)", config, *count, chains-first)
	}
	if *count == 0 {
		*count = chains - first
	}
	if *count%size != 0 && first+*count != chains {
		return fmt.Errorf("anneal: %s.Count = %d, want a multiple of the block of %d, or %d (all that follow)", config, *count, size, chains-first)
	}
	return nil
}

// cut returns First and Count of part k of n, see [sampler.Config.Part].
func cut(chains, first, count, k, n int) (f, c int, err error) {
	p, err := sampler.Config{Chains: chains, First: first, Count: count}.Part(k, n)
	return p.First, p.Count, err
}

// whole reports whether the part is all of the run.
func (p *part) whole() bool { return p.count == p.chains }

// append makes p longer by its neighbour, part i.
func (p *part) append(i int, next part) error {
	if next.first != p.first+p.count {
		return fmt.Errorf("part %d begins with chain %d, want %d", i, next.first, p.first+p.count)
	}
	if next.whole() && i == 0 {
		p.count = next.count
		return nil
	}
	if next.settings == nil || p.settings == nil {
		return fmt.Errorf("part %d is no part of a run", i)
	}
	if err := fingerprint.Compare(p.settings, next.settings); err != nil {
		return fmt.Errorf("part %d: %w", i, err)
	}
	p.count += next.count
	return nil
}

// end returns an error unless the part is the whole run.
func (p *part) end() error {
	if !p.whole() {
		return fmt.Errorf("the parts end with chain %d, want %d", p.first+p.count-1, p.chains-1)
	}
	return nil
}
