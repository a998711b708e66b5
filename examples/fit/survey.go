package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/fit"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// answers reads a table of 0 and 1 whose first line names the columns.
func answers(r io.Reader) (names []string, data []int32, err error) {
	c := command.Table(r)
	names, err = c.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("the names of the columns: %w", err)
	}
	names = slices.Clone(names)
	for i, n := range names {
		names[i] = strings.TrimSpace(n)
		if names[i] == "" || slices.Contains(names[:i], names[i]) {
			return nil, nil, fmt.Errorf("column %d has the name %q of another column, want different names", i+1, names[i])
		}
	}
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		line, _ := c.FieldPos(0)
		for i, v := range row {
			switch strings.TrimSpace(v) {
			case "0":
				data = append(data, 0)
			case "1":
				data = append(data, 1)
			case "":
				return nil, nil, fmt.Errorf("line %d, column %q: no value, want 0 or 1; leave out rows with missing answers", line, names[i])
			default:
				return nil, nil, fmt.Errorf("line %d, column %q: %q, want 0 or 1", line, names[i], v)
			}
		}
	}
	if len(data) < 2*len(names) {
		return nil, nil, fmt.Errorf("%d rows, want at least 2", len(data)/len(names))
	}
	return names, data, nil
}

// conditions parses -given into a map from column to value.
func conditions(given string, names []string) (map[int]int32, error) {
	fixed := map[int]int32{}
	for _, g := range strings.Split(given, ",") {
		if strings.TrimSpace(g) == "" {
			continue
		}
		name, value, ok := strings.Cut(g, "=")
		i := slices.Index(names, strings.TrimSpace(name))
		v, err := strconv.Atoi(strings.TrimSpace(value))
		if !ok || err != nil || v < 0 || v > 1 {
			return nil, fmt.Errorf("-given: %q, want column=0 or column=1", g)
		}
		if i < 0 {
			return nil, fmt.Errorf("-given: no column %q; there are %s", strings.TrimSpace(name), strings.Join(names, ", "))
		}
		if old, ok := fixed[i]; ok && old != int32(v) {
			return nil, fmt.Errorf("-given: column %q is 0 and 1 at once, want one of them", names[i])
		}
		fixed[i] = int32(v)
	}
	return fixed, nil
}

// survey learns a field per column and a coupling per pair of columns.
func survey(ctx context.Context, o options) (*report, error) {
	file, err := os.Open(o.csv)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	names, data, err := answers(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.csv, err)
	}
	fixed, err := conditions(o.given, names)
	if err != nil {
		return nil, err
	}
	n := len(names)
	o.n = len(data) / n
	r := newReport(o, o.csv)
	r.Columns = names
	for i, name := range names {
		ones := 0
		for at := i; at < len(data); at += n {
			ones += int(data[at])
		}
		if (ones == 0 || ones == o.n) && o.l1 == 0 {
			return nil, fmt.Errorf("column %q is %d in every row: its field has no finite estimate; leave it out, or set -l1", name, data[i])
		}
	}
	if params := n * (n + 1) / 2; params > o.n {
		r.note("%d parameters from %d rows: without -l1 the estimate is not unique or overfits", params, o.n)
	}
	start := time.Now()
	m, err := model.NewDenseQuadratic(n, make([]float64, n*n), model.Polynomial{})
	if err != nil {
		return nil, err
	}
	p, err := m.Learn()
	if err != nil {
		return nil, err
	}
	f, err := fit.New(ctx, p, data, fit.Config{Objective: fit.Pseudo{}, L1: o.l1, Memory: 0.9, Rate: dual.Power(0.1, 0.5)})
	if err != nil {
		return nil, err
	}
	over := func() bool { return time.Since(start).Seconds() > o.seconds/2 }
	if err := steps(ctx, f, 500, over); err != nil {
		return nil, err
	}
	chains, err := sampler.NewChains(ctx, p, mcmc.Gibbs{}, sampler.Config{Chains: 256, Seed: o.seed, Warmup: -1})
	if err != nil {
		return nil, err
	}
	if f, err = fit.New(ctx, p, data, fit.Config{Chains: chains, L1: o.l1, Rate: dual.Power(0.05, 0.5)}); err != nil {
		return nil, err
	}
	over = func() bool { return time.Since(start).Seconds() > o.seconds }
	if err := steps(ctx, f, 2000, over); err != nil {
		return nil, err
	}
	if o.l1 == 0 {
		if err := f.UseAverage(); err != nil {
			return nil, err
		}
	}
	r.note("%v", f.Report())
	r.Seconds = time.Since(start).Seconds()
	if err := certify(ctx, r, p, data, n <= 22, mcmc.Gibbs{}, cmp.Or(o.stages, 500), o.seed); err != nil {
		return nil, err
	}
	given, err := energy.Clamp(p, fixed)
	if err != nil {
		return nil, err
	}
	if r.Conditional, err = means(ctx, given, names, fixed, o.seed); err != nil {
		return nil, err
	}
	if o.Dir != "" {
		return r, r.couplings(o, p.Params(), n, names, -1)
	}
	return r, nil
}

// means returns, for every column that is not fixed, the probability that it is 1.
func means(ctx context.Context, m energy.Model, names []string, fixed map[int]int32, seed uint64) (map[string]float64, error) {
	sums := make([][]float64, 64)
	for c := range sums {
		sums[c] = make([]float64, len(names))
	}
	const draws = 2000
	chains, err := sampler.NewChains(ctx, m, mcmc.Gibbs{}, sampler.Config{Chains: len(sums), Seed: seed + 2, Warmup: 200, Observe: func(chain, _ int, x []int32, _ *sampler.Info) {
		for i, v := range x {
			sums[chain][i] += float64(v)
		}
	}})
	if err != nil {
		return nil, err
	}
	if err := chains.Run(ctx, draws); err != nil {
		return nil, err
	}
	p := map[string]float64{}
	for i, name := range names {
		if _, ok := fixed[i]; ok {
			continue
		}
		for _, s := range sums {
			p[name] += s[i] / float64(draws*len(sums))
		}
	}
	return p, nil
}
