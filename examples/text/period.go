package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// linear is a logistic regression on counts of features, p(late) = 1/(1 + e^{−s}) with
// s = bias + Σ_f weight_f over the features f of a line.
type linear struct {
	bias   float64
	weight []float64
}

// Settings of the logistic regressions: passes over the lines, the step size of AdaGrad (Duchi,
// Hazan and Singer 2011), and the decay of a weight each time that its feature occurs.
const (
	passes = 8
	pace   = 0.1
	shrink = 3e-3
)

// fitLinear fits a logistic regression to lines, each a list of features below n. draw returns the
// features of a line to learn from, which may be drawn anew in every pass; nil means all.
func fitLinear(lines [][]int32, period []int32, n int, seed uint64, draw func(features []int32, r *rand.Rand) []int32) *linear {
	m, r := &linear{weight: make([]float64, n)}, rand.New(rand.NewPCG(seed, 93))
	square, own := make([]float64, n), 0.0
	for range passes {
		for _, i := range r.Perm(len(lines)) {
			x := lines[i]
			if draw != nil {
				x = draw(x, r)
			}
			slope := logistic(m.score(x)) - float64(period[i])
			own += float64(slope * slope)
			m.bias -= float64(pace*slope) / math.Sqrt(own+1)
			for _, f := range x {
				g := slope + float64(shrink*m.weight[f])
				square[f] += float64(g * g)
				m.weight[f] -= float64(pace*g) / math.Sqrt(square[f]+1)
			}
		}
	}
	return m
}

func logistic(s float64) float64 { return 1 / (1 + math.Exp(-s)) }

// logLogistic returns log 1/(1 + e^{−s}).
func logLogistic(s float64) float64 { return min(s, 0) - math.Log1p(math.Exp(-math.Abs(s))) }

// score returns s of a line with the features.
func (m *linear) score(features []int32) float64 {
	s := m.bias
	for _, f := range features {
		s += m.weight[f]
	}
	return s
}

// accuracy is the share of lines whose period is the more likely one.
func (m *linear) accuracy(lines [][]int32, period []int32) float64 {
	right := 0
	for i, x := range lines {
		if (m.score(x) > 0) == (period[i] == late) {
			right++
		}
	}
	return float64(right) / float64(max(1, len(lines)))
}

// periodJudges are the classifiers of the period of a line. The surrogate, the classifier of
// beginnings and that of partly hidden lines learn from the tokens of the training lines; the
// judge from the words of the held-out lines, so that it shares neither data nor features with
// them.
type periodJudges struct {
	surrogate, beginnings, hidden *linear

	judge *linear
	word  map[string]int32 // features of the judge

	right, judgeRight float64 // accuracy of the surrogate on held-out lines and of the judge on training lines
}

// grain is the number of steps per nat to which the weights of the surrogate are rounded, so that
// its score is a sum of integers.
const grain = 8

func newPeriodJudges(l *lines, seed uint64) *periodJudges {
	p := &periodJudges{word: map[string]int32{}}
	encoded := func(all []string) [][]int32 {
		x := make([][]int32, len(all))
		for i, s := range all {
			x[i] = l.encode(s)
		}
		return x
	}
	seen := encoded(l.train)
	n := l.levels() // with weight 0 for padding and mask, which are no features
	p.surrogate = fitLinear(seen, l.trainPeriod, n, seed, nil)
	p.surrogate.bias = math.Round(grain*p.surrogate.bias) / grain
	for i, w := range p.surrogate.weight {
		p.surrogate.weight[i] = math.Round(grain*w) / grain
	}
	p.beginnings = fitLinear(seen, l.trainPeriod, n, seed+1, func(x []int32, r *rand.Rand) []int32 { return x[:r.IntN(len(x)+1)] })
	p.hidden = fitLinear(seen, l.trainPeriod, n, seed+2, func(x []int32, r *rand.Rand) []int32 {
		shown, part := make([]int32, 0, len(x)), r.Float64()
		for _, t := range x {
			if r.Float64() < part {
				shown = append(shown, t)
			}
		}
		return shown
	})
	for _, s := range l.held {
		for _, w := range words(s) {
			if _, ok := p.word[w]; !ok {
				p.word[w] = int32(len(p.word))
			}
		}
	}
	p.judge = fitLinear(p.features(l.held), l.heldPeriod, len(p.word), seed+3, nil)
	p.right = p.surrogate.accuracy(encoded(l.held), l.heldPeriod)
	p.judgeRight = p.judge.accuracy(p.features(l.train), l.trainPeriod)
	return p
}

// periodJudges returns the classifiers of the period, which all studies of a report share.
func (r *report) periodJudges(l *lines, seed uint64) *periodJudges {
	if r.judges == nil {
		r.judges = newPeriodJudges(l, seed)
	}
	return r.judges
}

// features returns the features of lines that the judge knows: their words.
func (p *periodJudges) features(all []string) [][]int32 {
	x := make([][]int32, len(all))
	for i, s := range all {
		for _, w := range words(s) {
			if f, ok := p.word[w]; ok {
				x[i] = append(x[i], f)
			}
		}
	}
	return x
}

// late returns the probabilities that a line is late by the surrogate, which gets the tokens, and
// by the judge, which gets the text.
func (p *periodJudges) late(x []int32, line string) (surrogate, judge float64) {
	return logistic(p.surrogate.score(x)), logistic(p.judge.score(p.features([]string{line})[0]))
}

// limit returns the largest score s with p(late) ≤ most.
func limit(most float64) float64 { return math.Log(most / (1 - most)) }

// bound returns the constraint that a line is late with at most the probability most by the
// surrogate. Its function is linear in the probabilities of the tokens. The factor scales the
// function, which scales the penalty of an augmented Lagrangian by its square.
func (p *periodJudges) bound(levels int, most, factor float64) constraint.Score {
	m := p.surrogate
	return constraint.Score{
		F: func(v []float32) float64 {
			s := m.bias
			for i, q := range v {
				if q != 0 {
					s += float64(float64(q) * m.weight[i%levels])
				}
			}
			return factor * s
		},
		Gradient: func(dst, v []float32, weight float64) {
			for i := range dst {
				dst[i] += float32(weight * factor * m.weight[i%levels])
			}
		},
		Threshold: factor * limit(most),
		Decide:    func(x []int32) float64 { return factor * m.score(x) },
	}
}

// language returns the same constraint as a language, which is exact because the weights are
// multiples of 1/grain.
func (p *periodJudges) language(l *lines, most float64) (*constraint.Sum, error) {
	row := make([]int, l.levels()-1) // without the mask
	for t := range row {
		row[t] = int(math.Round(grain * p.surrogate.weight[t]))
	}
	rows := make([][]int, l.length)
	for i := range rows {
		rows[i] = row
	}
	sum, err := constraint.NewSiteSum(rows, math.MinInt, int(math.Floor(grain*(limit(most)-p.surrogate.bias)+1e-9)))
	if err != nil {
		return nil, fmt.Errorf("p(late) ≤ %v: %w", most, err)
	}
	return sum, nil
}

// shown is the classifier log p(early | x_t) of partly hidden lines, for guidance by a classifier.
// It is exact: the score of a line is a sum over its tokens.
type shown struct {
	model  *linear
	levels int
}

// Table stores log p(early | x with x_i = t) for every site i and token t.
func (c shown) Table(dst []float32, x []int32, _ float64) error {
	whole := c.model.score(x)
	for i, own := range x {
		for t := range c.levels {
			dst[i*c.levels+t] = float32(logLogistic(-(whole - c.model.weight[own] + c.model.weight[t])))
		}
	}
	return nil
}
