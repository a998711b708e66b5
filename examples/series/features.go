package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint/series"
)

// feature adds limits to a builder, so that channel c agrees with the real window x. The
// argument lag is that of the autocorrelation.
type feature func(b *series.Builder, c int, x []float64, lag int)

// featureNames lists the features in the order of the documentation.
var featureNames = []string{"mean", "change", "argmax", "argmin", "extremes", "values", "acf"}

var features = map[string]feature{
	"mean": func(b *series.Builder, c int, x []float64, _ int) { b.Mean(c, mean(x)) },
	"change": func(b *series.Builder, c int, x []float64, _ int) {
		b.MeanChange(c, (x[len(x)-1]-x[0])/float64(len(x)-1))
	},
	"argmax": func(b *series.Builder, c int, x []float64, _ int) { b.ArgMax(c, extreme(x, 1)) },
	"argmin": func(b *series.Builder, c int, x []float64, _ int) { b.ArgMin(c, extreme(x, -1)) },
	"extremes": func(b *series.Builder, c int, x []float64, _ int) {
		for _, sign := range []float64{1, -1} {
			t := extreme(x, sign)
			b.At(c, t, x[t])
		}
	},
	"values": func(b *series.Builder, c int, x []float64, _ int) {
		for _, t := range []int{0, len(x) / 2, len(x) - 1} {
			b.At(c, t, x[t])
		}
	},
	"acf": func(b *series.Builder, c int, x []float64, lag int) {
		b.Autocorrelation(c, lag, autocorrelation(x, lag))
	},
}

// limits holds user-defined bounds on a channel.
type limits struct {
	channel      int
	lower, upper float64
}

// parseLimits parses a list such as close=90:110,volume=0: (the last bound is open).
func parseLimits(text string, t *table) ([]limits, error) {
	if text == "" {
		return nil, nil
	}
	var out []limits
	for _, part := range strings.Split(text, ",") {
		name, span, _ := strings.Cut(part, "=")
		low, high, ok := strings.Cut(span, ":")
		if !ok {
			return nil, fmt.Errorf("-bounds: %q, want channel=lower:upper, either number may be left out", part)
		}
		l := limits{t.channel(strings.TrimSpace(name)), math.Inf(-1), math.Inf(1)}
		if l.channel < 0 {
			return nil, fmt.Errorf("-bounds: no channel %q; there are %s", name, strings.Join(t.names, ", "))
		}
		for text, to := range map[string]*float64{strings.TrimSpace(low): &l.lower, strings.TrimSpace(high): &l.upper} {
			if text == "" {
				continue
			}
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("-bounds: %q: %w", part, err)
			}
			*to = v
		}
		if !(l.lower <= l.upper) {
			return nil, fmt.Errorf("-bounds: %s between %v and %v, want lower ≤ upper", t.names[l.channel], l.lower, l.upper)
		}
		out = append(out, l)
	}
	return out, nil
}

// hide chooses the entries of held-out windows that imputation fills.
func (p *problem) hide(share float64, seed uint64) {
	if !p.impute {
		return
	}
	random := rand.New(rand.NewPCG(seed, 43))
	for range p.starts {
		p.hides = append(p.hides, p.mask(share, random))
	}
}

// mask returns the entries of a window that imputation fills: the middle third of the rows, or a
// share of all entries at random.
func (p *problem) mask(share float64, random *rand.Rand) []bool {
	mask := make([]bool, p.sites())
	for j := range mask {
		t := j / p.channels()
		mask[j] = t >= p.length/3 && t < p.length-p.length/3
		if share > 0 {
			mask[j] = random.Float64() < share
		}
	}
	return mask
}

// hidden returns the entries of held-out window i that imputation fills, or nil.
func (p *problem) hidden(i int) []bool {
	if !p.impute {
		return nil
	}
	return p.hides[i]
}

// limit returns the set of limits for samples of held-out window i.
func (p *problem) limit(i int) (*series.System, error) {
	channels := make([][]float64, p.channels())
	for c := range channels {
		for t := range p.length {
			channels[c] = append(channels[c], p.at(p.starts[i]+t, c))
		}
	}
	return p.limitsOf(channels, p.hidden(i))
}

// limitsOf returns the set of limits for samples that share features or entries with a window. The
// channels of the window are in raw units.
func (p *problem) limitsOf(channels [][]float64, hidden []bool) (*series.System, error) {
	b := series.NewBuilder(p.shape())
	if p.ordered {
		b.OHLC(p.prices[0], p.prices[1], p.prices[2], p.prices[3])
	}
	for _, l := range p.limits {
		b.Bounds(l.channel, l.lower, l.upper)
	}
	if p.impute {
		x, n := make([]float64, p.sites()), p.channels()
		for j := range x {
			if x[j] = channels[j%n][j/n]; hidden[j] {
				x[j] = math.NaN()
			}
		}
		b.Impute(x)
		return b.Build()
	}
	for c, x := range channels {
		for _, name := range p.features {
			features[name](b, c, x, p.lag)
		}
	}
	return b.Build()
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// extreme returns the first index at which sign·x is largest.
func extreme(x []float64, sign float64) int {
	at := 0
	for t, v := range x {
		if sign*v > sign*x[at] {
			at = t
		}
	}
	return at
}

// autocorrelation returns Σ_t u_t·u_{t+lag} / Σ_t u_t² with u = x − mean, and 0 for a constant
// series.
func autocorrelation(x []float64, lag int) float64 {
	m, cross, square := mean(x), 0.0, 0.0
	for t, v := range x {
		square += (v - m) * (v - m)
		if t+lag < len(x) {
			cross += (v - m) * (x[t+lag] - m)
		}
	}
	if !(square > 0) {
		return 0
	}
	return cross / square
}
