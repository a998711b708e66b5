package letters

import (
	"context"
	_ "embed"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/site/engine"
)

// Free marks a position that is not fixed.
const Free = '·'

// Runes returns the runes that may occur in strings of a pattern: printable ASCII, and all runes
// of named, the text of the pattern.
func Runes(named string) []rune {
	var a []rune
	for r := ' '; r <= '~'; r++ {
		a = append(a, r)
	}
	for _, r := range named {
		if r > '~' && r != Free && r != utf8.RuneError {
			a = append(a, r)
		}
	}
	slices.Sort(a)
	return slices.Compact(a)
}

// Draw fills x with draws from p, a model conditioned on a language, with the given log-weights. It
// returns the mean of −log₂ P over the draws, which estimates the entropy in bits.
func Draw(ctx context.Context, p *prior.Conditional, x []int32, weights []float32, source *sampler.Stream) (bits float64, err error) {
	sites, _ := p.Shape()
	logs := make([]float64, len(x)/sites)
	if _, err := p.Sample(ctx, x, weights, source); err != nil {
		return 0, engine.Explain(err)
	}
	if err := p.LogProbs(ctx, logs, x, weights); err != nil {
		return 0, engine.Explain(err)
	}
	for _, log := range logs {
		bits -= log / math.Ln2 / float64(len(logs))
	}
	return bits, nil
}

//go:embed letters.go
var learning string

//go:embed frequencies.go
var counting string

//go:embed text.go
var english string

// AddTo adds the function [Learn] and the default English text to the Go program p.
func AddTo(p *engine.Source) {
	p.Use(".strings", "projection/prior")
	p.Append(learning)
	p.Append(english)
}

// AddFrequenciesTo adds the function [Frequencies] and the default English text to the Go program
// p.
func AddFrequenciesTo(p *engine.Source) {
	p.Use(".math")
	p.Append(counting)
	p.Append(english)
}
