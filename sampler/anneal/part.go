package anneal

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
)

// part is the chains first … first+count−1 of a run of so many chains.
type part struct {
	first, count, chains int
	settings             *fingerprint.List // of the whole run; nil unless this is less
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
