package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
)

// Random problems with several concepts. Each of the rows of a problem has each concept with a
// probability that depends on the concept.
const (
	problems = 160 // number of problems
	rowsEach = 300 // rows of a problem
	heaviest = 60  // a λ that, shared by all concepts, meets the bounds of every problem
)

// severalRow compares two ways to forget several concepts, over the random problems with this
// number of concepts (0: all problems): a multiplier λ for each, and one λ for all of them. Saved
// is 1 − c/c', where c and c' are KL(p‖q) with a λ for each and with one for all.
type severalRow struct {
	Concepts int     `json:"concepts"`
	Problems int     `json:"problems"`
	NoDearer int     `json:"no_dearer"` // problems in which a λ for each costs no more
	Least    float64 `json:"saved_least"`
	Median   float64 `json:"saved_median"`
	Most     float64 `json:"saved_most"`
}

// several compares multipliers with equal weights (Fig. 6 and Table 4 of the paper). The problems
// depend on no option.
func several(ctx context.Context) ([]severalRow, error) {
	rows := []severalRow{{Concepts: 2}, {Concepts: 3}, {Concepts: 4}, {Concepts: 0}}
	saved := make([][]float64, len(rows))
	for seed := range uint64(problems) {
		has, bounds := concepts(seed)
		u, err := unlearn.FromRatios(has...)
		if err != nil {
			return nil, err
		}
		each, err := u.Solve(ctx, unlearn.LikelihoodRatio, bounds)
		if err != nil {
			return nil, err
		}
		equal, err := equalWeights(u, has, bounds)
		if err != nil {
			return nil, err
		}
		for _, k := range []int{len(bounds) - 2, len(rows) - 1} {
			saved[k] = append(saved[k], 1-each.Cost/equal)
			if each.Cost <= equal+1e-9 { // nats; both costs are rounded
				rows[k].NoDearer++
			}
		}
	}
	for k, s := range saved {
		slices.Sort(s)
		rows[k].Problems, rows[k].Least, rows[k].Median, rows[k].Most = len(s), s[0], s[len(s)/2], s[len(s)-1]
	}
	return rows, nil
}

// concepts returns a random problem: which rows have each concept (1 or 0), and the bounds.
func concepts(seed uint64) (has [][]float64, bounds []float64) {
	r := rand.New(rand.NewPCG(seed, 48))
	has = make([][]float64, 2+r.IntN(3))
	for j := range has {
		part := 0.05 + 0.5*r.Float64()
		for range rowsEach {
			v := 0.0
			if r.Float64() < part {
				v = 1
			}
			has[j] = append(has[j], v)
		}
		bounds = append(bounds, mean(has[j])*(0.05+0.9*r.Float64()))
	}
	return has, bounds
}

func mean(v []float64) (m float64) {
	for _, a := range v {
		m += a / float64(len(v))
	}
	return m
}

// equalWeights returns KL(p‖q) for the smallest λ, the same for all concepts, that meets all
// bounds.
func equalWeights(u *unlearn.Problem, has [][]float64, bounds []float64) (float64, error) {
	lambda, q := make([]float64, len(bounds)), make([]float64, rowsEach)
	for k := range q {
		q[k] = 1.0 / rowsEach
	}
	cost, low, high := math.Inf(1), 0.0, float64(heaviest)
	for l := high; high-low > 1e-9; l = (low + high) / 2 {
		for j := range lambda {
			lambda[j] = l
		}
		p, err := u.Law(unlearn.LikelihoodRatio, lambda)
		if err != nil {
			return 0, err
		}
		met := true
		for j, b := range bounds {
			share := 0.0
			for k, v := range p {
				share += v * has[j][k]
			}
			met = met && share <= b
		}
		if !met {
			low = l
			continue
		}
		cost, high = unlearn.KL(p, q), l
	}
	return cost, nil
}

// severalTable writes the rows as a table.
func severalTable(b *bytes.Buffer, rows []severalRow) {
	fmt.Fprintf(b, "\nseveral concepts are forgotten with a multiplier each, or with equal weights: %d random problems\n", problems)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "concepts\tproblems\ta multiplier each is no dearer\tKL saved: median\tleast\tmost\t")
	for _, r := range rows {
		name := fmt.Sprint(r.Concepts)
		if r.Concepts == 0 {
			name = "all"
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f %%\t%.1f %%\t%.1f %%\t\n", name, r.Problems, r.NoDearer, 100*r.Median, 100*r.Least, 100*r.Most)
	}
	w.Flush()
}
