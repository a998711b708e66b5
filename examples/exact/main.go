// Exact answers queries about a graphical model without sampling error: the partition function,
// marginals, the most probable state and independent draws. It prints the width of the graph
// before it starts and refuses graphs that are too wide.
//
//	go -C examples run ./exact -model network.uai -query mar
//	go -C examples run ./exact -model network.bif -query pr
//	go -C examples run ./exact -model network.uai -evidence network.uai.evid -query map -json
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/projection/junction"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// options holds the command-line options.
type options struct {
	command.Output

	model, evidence, query string
	n                      int
	memory                 float64
	seed                   uint64

	progress io.Writer
}

func parse(args []string) (options, error) {
	o := options{progress: os.Stderr}
	f := flag.NewFlagSet("exact", flag.ContinueOnError)
	f.StringVar(&o.model, "model", "", "read the model from this `file`: .uai, .bif (a Bayesian network) or .wcsp (costs in nats)")
	f.StringVar(&o.evidence, "evidence", "", "read observed values from this `file` in the UAI format")
	f.StringVar(&o.query, "query", "pr", "pr: partition function; mar: marginals as well; map: most likely state; sample: draws")
	f.IntVar(&o.n, "n", 1, "number of draws")
	f.Float64Var(&o.memory, "memory", 1, "maximum memory for tables, in `GiB`")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of draws")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.model == "":
		return o, errors.New("no -model; see -help")
	case o.query != "pr" && o.query != "mar" && o.query != "map" && o.query != "sample":
		return o, fmt.Errorf("-query = %q, want pr, mar, map or sample", o.query)
	case o.n < 1:
		return o, fmt.Errorf("-n = %d, want ≥ 1", o.n)
	case !(o.memory > 0 && o.memory < 1<<20):
		return o, fmt.Errorf("-memory = %v, want > 0 and < %d", o.memory, 1<<20)
	}
	return o, nil
}

// load opens the file and returns the result of from. Errors include the path.
func load[T any](path string, from func(r io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return v, err
	}
	if v, err = from(f); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return v, errors.Join(err, f.Close())
}

// refusal is the error for a graph that is too wide.
type refusal struct{ error }

// Unwrap returns the underlying error of package junction.
func (r refusal) Unwrap() error { return r.error }

// MarshalJSON writes the message, a lower bound on the width and the bytes needed, so that a
// script can choose another method.
func (r refusal) MarshalJSON() ([]byte, error) {
	var w *energy.WidthError
	errors.As(r.error, &w)
	return json.Marshal(struct {
		Error string  `json:"error"`
		Width float64 `json:"width_lower_bound"`
		Bytes float64 `json:"bytes"`
	}{r.Error(), w.LowerBound, min(w.Bytes, math.MaxFloat64)})
}

// reader returns the parser for the file's extension: BIF, WCSP, or UAI for all others.
func reader(path string) func(r io.Reader) (energy.Model, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".bif":
		return func(r io.Reader) (energy.Model, error) {
			m, _, err := read.BIF(r)
			return m, err
		}
	case ".wcsp":
		return read.WCSP
	}
	return read.UAI
}

func run(ctx context.Context, o options) (*report, error) {
	m, err := load(o.model, reader(o.model))
	if err != nil {
		return nil, err
	}
	if o.evidence != "" {
		fixed, err := load(o.evidence, read.Evidence)
		if err != nil {
			return nil, err
		}
		if m, err = energy.Clamp(m, fixed); err != nil {
			return nil, fmt.Errorf("%s: %w", o.evidence, err)
		}
	}
	f, ok := energy.As[energy.Factored](m)
	if !ok {
		return nil, fmt.Errorf("%s: the model has no factors", o.model)
	}
	cards, _, _, _ := f.Factors()
	began := time.Now()
	d, err := junction.New(ctx, f, junction.Config{Bytes: int64(o.memory * (1 << 30))})
	var wide *energy.WidthError
	if errors.As(err, &wide) {
		return nil, refusal{err}
	}
	if err != nil {
		return nil, err
	}
	r := &report{query: o.query, bytes: d.Bytes(), Width: d.Width()}
	if !o.JSON {
		if _, err := fmt.Fprintf(o.progress, "width %.1f: %.3g entries in the largest table, %.3g MB of tables\n", r.Width, math.Exp2(r.Width), float64(r.bytes)/1e6); err != nil {
			return nil, err
		}
	}
	if err := r.answer(ctx, d, cards, o); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// answer runs the query and stores in r the result.
func (r *report) answer(ctx context.Context, d *junction.Distribution, cards []int32, o options) error {
	sites := len(cards)
	rows := func(x []int32) (rows [][]int32) {
		for ; len(x) > 0; x = x[sites:] {
			rows = append(rows, x[:sites])
		}
		return rows
	}
	var logZ float64
	var err error
	switch o.query {
	case "map":
		x, e, err := d.Best(ctx, 1)
		if err != nil {
			return err
		}
		r.MAP, r.Energy = x, &e[0]
		return nil
	case "mar":
		var p []float64
		p, logZ, err = d.Marginals(ctx)
		for i, c := range cards {
			r.Marginals = append(r.Marginals, p[i*len(p)/sites:i*len(p)/sites+int(c)])
		}
	case "sample":
		x, src := make([]int32, o.n*sites), make([]rand.Source, o.n)
		for s := range src {
			src[s] = sampler.NewStream(o.seed, uint64(s))
		}
		if err = d.Sample(ctx, x, src); err == nil {
			logZ, err = d.LogZ(ctx)
		}
		r.Samples = rows(x)
	default:
		logZ, err = d.LogZ(ctx)
	}
	r.LogZ = &logZ
	return err
}

// report is the program's output.
type report struct {
	query string
	bytes int64

	Width     float64     `json:"width"`
	LogZ      *float64    `json:"log_z,omitempty"`
	Marginals [][]float64 `json:"marginals,omitempty"`
	MAP       []int32     `json:"map,omitempty"`
	Energy    *float64    `json:"map_energy,omitempty"`
	Samples   [][]int32   `json:"samples,omitempty"`
	Seconds   float64     `json:"seconds"`
}

// String returns the answer in the UAI format, in which logarithms are to base 10.
func (r *report) String() string {
	var b strings.Builder
	line := func(name string, values any) {
		fmt.Fprintf(&b, "%s\n%s\n", name, strings.Trim(fmt.Sprint(values), "[]"))
	}
	switch r.query {
	case "map":
		line("MPE", append([]int32{int32(len(r.MAP))}, r.MAP...))
	case "mar":
		all := []any{len(r.Marginals)}
		for _, p := range r.Marginals {
			all = append(all, len(p))
			for _, v := range p {
				all = append(all, v)
			}
		}
		line("MAR", all)
	case "sample":
		for _, x := range r.Samples {
			b.WriteString(strings.Trim(fmt.Sprint(x), "[]") + "\n")
		}
	default:
		line("PR", *r.LogZ/math.Ln10)
	}
	return b.String()
}

func main() {
	command.Main("exact", parse, run)
}
