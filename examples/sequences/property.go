package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
)

// property is a differentiable model of the polarity on probability rows v_i,
//
//	F(v) = b + Σ_i Σ_a w_a·v_i(a) + Σ_i Σ_ab u_ab·v_i(a)·v_{i+1}(b).
//
// It is linear in the expected counts of tokens and of neighbouring pairs.
type property struct {
	levels    int
	intercept float64
	one       []float64 // weights w of tokens
	two       []float64 // weights u of pairs, levels × levels
	fit       float64   // share of the variance of held-out strings that the model explains
}

const (
	fitted = 5000 // maximum number of strings for fitting, and for testing
	ridge  = 1e-3 // ridge penalty per string, which determines weights that the data leave open
)

// fitProperty fits the model to the polarity by ridge regression.
func fitProperty(c *corpus.Corpus) (*property, error) {
	k := c.Levels
	p := &property{levels: k, one: make([]float64, k), two: make([]float64, k*k)}
	n := 1 + k + k*k
	strings := c.Train[:min(fitted, len(c.Train))]
	gram, right := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	for i, s := range strings {
		f, count := p.features(c.TrainX[i])
		y := corpus.Polarity(s)
		for a, fa := range f {
			right.SetVec(fa, right.AtVec(fa)+y*count[a])
			for b, fb := range f {
				if fb >= fa {
					gram.SetSym(fa, fb, gram.At(fa, fb)+count[a]*count[b])
				}
			}
		}
	}
	for i := range n {
		gram.SetSym(i, i, gram.At(i, i)+ridge*float64(len(strings)))
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return nil, fmt.Errorf("the property model cannot be fitted")
	}
	w := new(mat.VecDense)
	if err := factor.SolveVecTo(w, right); err != nil {
		return nil, fmt.Errorf("the property model: %w", err)
	}
	p.intercept = w.AtVec(0)
	for a := range k {
		p.one[a] = w.AtVec(1 + a)
	}
	for a := range k * k {
		p.two[a] = w.AtVec(1 + k + a)
	}
	p.fit = p.test(c)
	return p, nil
}

// features returns the indices of the nonzero features of a sequence and their counts.
func (p *property) features(x []int32) (index []int, count []float64) {
	index = []int{0}
	for i, t := range x {
		index = append(index, 1+int(t))
		if i+1 < len(x) {
			index = append(index, 1+p.levels+int(t)*p.levels+int(x[i+1]))
		}
	}
	slices.Sort(index)
	n := 0
	for i, f := range index {
		if i > 0 && f == index[n-1] {
			count[n-1]++
			continue
		}
		index[n] = f
		count = append(count, 1)
		n++
	}
	return index[:n], count
}

// test returns the explained variance on held-out strings, 1 − (mean squared error)/variance.
func (p *property) test(c *corpus.Corpus) float64 {
	var sum, squares, errors float64
	held := c.Held[:min(fitted, len(c.Held))]
	for _, s := range held {
		x := c.Tokens(s)
		f := p.intercept
		for i, t := range x {
			f += p.one[t]
			if i+1 < len(x) {
				f += p.two[int(t)*p.levels+int(x[i+1])]
			}
		}
		y := corpus.Polarity(s)
		sum, squares, errors = sum+y, squares+y*y, errors+(f-y)*(f-y)
	}
	n := float64(len(held))
	variance := squares - sum*sum/n
	if variance <= 0 {
		return 0
	}
	return 1 - errors/variance
}

// value returns F(v).
func (p *property) value(v []float32) float64 {
	k := p.levels
	sum := p.intercept
	for i := 0; i < len(v); i += k {
		for a, x := range v[i : i+k] {
			if x == 0 {
				continue
			}
			inner := p.one[a]
			if i+k < len(v) {
				for b, y := range v[i+k : i+2*k] {
					inner += float64(p.two[a*k+b] * float64(y))
				}
			}
			sum += float64(inner * float64(x))
		}
	}
	return sum
}

// gradient adds weight·∂F/∂v to dst.
func (p *property) gradient(dst, v []float32, weight float64) {
	k := p.levels
	for i := 0; i < len(v); i += k {
		for a := range k {
			slope := p.one[a]
			for b := range k {
				if i+k < len(v) {
					slope += float64(p.two[a*k+b] * float64(v[i+k+b]))
				}
				if i > 0 {
					slope += float64(p.two[b*k+a] * float64(v[i-k+b]))
				}
			}
			dst[i+a] += float32(weight * slope)
		}
	}
}

// score returns the constraint that the polarity be at least threshold. The model guides the
// samples; the polarity of the decoded tokens decides whether the constraint holds.
func (p *property) score(c *corpus.Corpus, threshold float64) constraint.Score {
	letter, polar := make([]bool, c.Levels), make([]bool, c.Levels)
	for t, r := range c.Letters {
		s := string(r)
		polar[t] = corpus.Polarity(s) > 0
		letter[t] = polar[t] || s != "H" && s != "h" && strings.ToUpper(s) >= "A" && strings.ToUpper(s) <= "Z"
	}
	return constraint.Score{
		F:         func(v []float32) float64 { return -p.value(v) },
		Gradient:  func(dst, v []float32, w float64) { p.gradient(dst, v, -w) },
		Threshold: -threshold,
		Decide: func(x []int32) float64 {
			n, of := 0, 0
			for _, t := range x {
				if letter[t] {
					of++
				}
				if polar[t] {
					n++
				}
			}
			return -float64(n) / math.Max(1, float64(of))
		},
	}
}

// quantile returns the q-quantile of the polarity of the training strings.
func quantile(c *corpus.Corpus, q float64) float64 {
	all := make([]float64, len(c.Train))
	for i, s := range c.Train {
		all[i] = corpus.Polarity(s)
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(q*float64(len(all))))]
}
