package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/dual"
	"gonum.org/v1/gonum/stat"
)

const (
	estimated = 1024 // draws for the second estimate of the remaining share
	// error probability of the upper limit with which the second estimate is compared
	doubtful = 0.01
)

// comparison is the report that compares several unlearning methods.
type comparison struct {
	Concept string     `json:"concept"`
	Wanted  float64    `json:"share_wanted"`
	Before  float64    `json:"share_before"`
	Valid   float64    `json:"valid_before"`
	Seeds   int        `json:"seeds"`
	Methods []compared `json:"methods"`
	kinds   map[string]string
}

// compared holds the results of one unlearning method, averaged over seeds.
type compared struct {
	Method string  `json:"method"`
	Steps  int     `json:"steps"`
	Lambda float64 `json:"lambda"`
	Share  float64 `json:"share"`
	Error  float64 `json:"share_se"`  // standard error of the mean over seeds
	Least  float64 `json:"share_min"` // smallest share over the seeds
	Most   float64 `json:"share_max"` // largest share over the seeds

	// Second is the share estimated from the probabilities of the concept's letters. Held is the
	// number of seeds for which this estimate is at most the 99 % upper confidence limit from
	// counts.
	Second float64 `json:"share_second"`
	Upper  float64 `json:"upper99"`
	Held   int     `json:"upper99_held"`

	Valid  float64 `json:"valid_kept"`
	Unique float64 `json:"unique_min"`
	// bound on −log p of the kept held-out strings, after/before
	NELBO     float64 `json:"nelbo_ratio"`
	Relearned float64 `json:"relearned"` // steps until the concept is relearned
	Collapsed int     `json:"collapsed"`
}

// compare runs all chosen methods with all seeds.
func compare(ctx context.Context, o options) (*comparison, error) {
	t, err := o.task(ctx)
	if err != nil {
		return nil, err
	}
	r := &comparison{Concept: o.forget, Wanted: o.share, Before: t.shareBefore(), Valid: fraction(t.before.valid, t.before.kept), Seeds: o.seeds, kinds: map[string]string{}}
	for _, m := range methods {
		if !slices.Contains(o.methods, m.name) {
			continue
		}
		row := compared{Method: m.name, Unique: 1, Least: 1, Steps: t.fewer()}
		if m.pretraining {
			row.Steps = t.steps
		}
		r.kinds[m.name] = m.what
		var shares []float64
		for k := range o.seeds {
			v, err := t.try(ctx, m, row.Steps, o.seed+uint64(k))
			if err != nil {
				return nil, fmt.Errorf("%s, seed %d: %w", m.name, o.seed+uint64(k), err)
			}
			shares = append(shares, v.Share)
			n := float64(o.seeds)
			row.Lambda += v.Lambda / n
			row.Least, row.Most, row.Unique = min(row.Least, v.Share), max(row.Most, v.Share), min(row.Unique, v.Unique)
			row.Second += v.second / n
			row.Upper += v.upper / n
			row.Valid += v.ValidKept / n
			row.NELBO += v.NELBO / v.NELBOBefore / n
			row.Relearned += float64(v.relearned) / n
			if v.second <= v.upper {
				row.Held++
			}
			if v.collapsed() {
				row.Collapsed++
			}
		}
		var deviation float64
		if row.Share, deviation = stat.MeanStdDev(shares, nil); o.seeds > 1 {
			row.Error = stat.StdErr(deviation, float64(o.seeds))
		}
		r.Methods = append(r.Methods, row)
	}
	return r, nil
}

// trial is one run of a method.
type trial struct {
	*forgotten
	upper, second float64
	relearned     int
}

// try runs a method and evaluates the network.
func (t *task) try(ctx context.Context, m method, steps int, seed uint64) (v trial, err error) {
	net := t.net.Clone()
	lambda, err := m.forget(t, ctx, net, seed)
	if err != nil {
		return v, err
	}
	if v.forgotten, err = t.judge(ctx, net, seed, lambda, steps); err != nil {
		return v, err
	}
	if v.upper, err = dual.UpperBound(v.has, v.Judged, doubtful); err != nil {
		return v, err
	}
	if v.second, _, err = t.left(ctx, net, seed, min(estimated, v.Judged)); err != nil {
		return v, err
	}
	v.relearned, err = t.relearn(ctx, net, seed)
	return v, err
}

// collapsed reports whether the network lost more than the concept: fewer than 95 % as many
// distinct samples as before, or a bound that rose by more than 2 %.
func (r *forgotten) collapsed() bool {
	before := fraction(r.before.different, min(len(r.old), leastJudged))
	return r.Unique < 0.95*before || !(r.NELBO <= 1.02*r.NELBOBefore)
}

func (r *comparison) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %.4f of the samples before, at most %v wanted; %d seeds; %.3f of the others valid before\n\n", r.Concept, r.Before, r.Wanted, r.Seeds, r.Valid)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tsteps\tlambda\tshare\tSE\tleast\tmost\tby letters\tat most (99 %)\theld\tvalid, of the others\tdifferent\tbound, after/before\tcollapsed\tback after steps\t")
	for _, m := range r.Methods {
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%d\t%.3f\t%.3f\t%.3f\t%d\t%.1f\t\n", m.Method, m.Steps, m.Lambda, m.Share, m.Error, m.Least, m.Most, m.Second, m.Upper, m.Held, m.Valid, m.Unique, m.NELBO, m.Collapsed, m.Relearned)
	}
	w.Flush()
	fmt.Fprintln(&b)
	for _, m := range r.Methods {
		fmt.Fprintf(&b, "%s: %s\n", m.Method, r.kinds[m.Method])
	}
	return b.String()
}

// methodNames lists the methods.
func methodNames() (names []string) {
	for _, m := range methods {
		names = append(names, m.name)
	}
	return names
}

// chosen parses a comma-separated list of methods, or all.
func chosen(list string) ([]string, error) {
	names := methodNames()
	if list == "all" {
		return names, nil
	}
	got := strings.Split(list, ",")
	for _, g := range got {
		if !slices.Contains(names, g) {
			return nil, fmt.Errorf("-method = %q, want all, or some of %s", g, strings.Join(names, ","))
		}
	}
	return got, nil
}
