// Digests checks that results do not depend on how a run is divided. It runs one job of every kind
// in 1, 7 and 100 shards, on every engine and instruction set. It then compares the digests of
// these runs. A digest covers every draw of every chain and the last states. Each row of the output
// is a separate run. The command fails if two runs of a kind have different digests or different
// merged tallies.
//
//	go -C sampler/beam run ./digests
//
// The engines are
//
//   - goroutines: one process, shards merged in a random order;
//   - processes: an array job, one process per shard;
//   - prism: Beam in this process;
//   - with -server, a job server of Prism or of another Beam runner.
//
// The server must be able to call back to this process:
//
//	go -C sampler/beam run github.com/apache/beam/sdks/v2/go/cmd/prism &
//	go -C sampler/beam run ./digests -server localhost:8073
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	"github.com/gibbsite-go/gibbsite"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/beam"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

type options struct {
	kinds, shards, engines, levels []string
	server                         string
	// folder and kind of the job, set only for a process of an array job
	dir, task string
	// run only at the instruction set that the environment selects
	one bool
}

func main() {
	sdk.Init()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = o.run(context.Background(), os.Stdout)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("digests", flag.ContinueOnError)
	list := func(name, value, usage string) func() []string {
		v := f.String(name, value, usage)
		return func() []string { return strings.Split(*v, ",") }
	}
	kinds := list("kinds", "chains,samples,ais", "of jobs")
	shards := list("shards", "1,7,100", "numbers of shards")
	engines := list("engines", "goroutines,processes,prism", "that run them")
	levels := list("levels", "purego,avx2", "sets of instructions")
	f.StringVar(&o.server, "server", "", "the `address` of a job server to run them on, too")
	f.StringVar(&o.dir, "dir", "", "of a process of an array: its folder")
	f.StringVar(&o.task, "task", "", "of a process of an array: the kind of its job")
	f.BoolVar(&o.one, "one", false, "only at the level of GIBBSITE_SIMD")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	o.kinds, o.shards, o.engines, o.levels = kinds(), shards(), engines(), levels()
	if o.server != "" {
		o.engines = append(o.engines, "server")
	}
	return o, nil
}

func (o options) run(ctx context.Context, out io.Writer) error {
	switch {
	case o.task != "":
		return part(ctx, o.task, o.dir)
	case o.one:
		return o.table(ctx, out)
	}
	text := &strings.Builder{}
	for _, level := range o.levels {
		args := []string{"-one", "-kinds", strings.Join(o.kinds, ","), "-shards", strings.Join(o.shards, ","), "-server", o.server}
		engines := strings.TrimSuffix(strings.Join(o.engines, ","), ",server")
		c, err := self(ctx, "GIBBSITE_SIMD="+level, append(args, "-engines", engines)...)
		if err != nil {
			return err
		}
		c.Stdout = io.MultiWriter(out, text)
		if err := c.Run(); err != nil {
			return fmt.Errorf("%s: %w", level, err)
		}
	}
	return equal(out, text.String())
}

// equal returns an error unless all rows of a kind, at all instruction sets, have equal digests.
func equal(out io.Writer, text string) error {
	first := map[string]string{}
	rows := 0
	for line := range strings.Lines(text) {
		row := strings.Fields(line)
		kind, digests := row[0], strings.Join(row[4:6], " ")
		if first[kind] == "" {
			first[kind] = digests
		}
		if digests != first[kind] {
			return fmt.Errorf("%s differ: %s and %s", kind, first[kind], digests)
		}
		rows++
	}
	_, err := fmt.Fprintf(out, "%d runs, %d jobs: equal digests and tallies within each\n", rows, len(first))
	return err
}

func self(ctx context.Context, variable string, args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, exe, args...)
	c.Env, c.Stderr = append(os.Environ(), variable), os.Stderr
	return c, nil
}

// table runs every kind at the instruction set of this process and writes a row per run: kind,
// instruction set, engine, shards, digest, digest of the tally, seconds.
func (o options) table(ctx context.Context, out io.Writer) error {
	quiet()
	for _, kind := range o.kinds {
		for _, engine := range o.engines {
			for _, text := range o.shards {
				n, err := strconv.Atoi(text)
				if err != nil || n < 1 {
					return fmt.Errorf("-shards = %q, want numbers ≥ 1", text)
				}
				began := time.Now()
				t, err := o.engine(ctx, engine, kind, n)
				if err != nil {
					return fmt.Errorf("%s, %s, %d shards: %w", kind, engine, n, err)
				}
				b, err := t.MarshalBinary()
				if err != nil {
					return err
				}
				sum := sha256.Sum256(b)
				fmt.Fprintf(out, "%-8s %-7s %-10s %4d %.16s %x %.2fs\n", kind, gibbsite.SIMD(), engine, n, t.Digest(), sum[:4], time.Since(began).Seconds())
			}
		}
	}
	return nil
}

// quiet restricts the logs of Beam runners to errors.
func quiet() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	beamlog.SetLogger(nothing{})
}

// nothing is a logger that discards everything.
type nothing struct{}

// Log discards the message, so that Beam's logs do not mix with the output.
func (nothing) Log(context.Context, beamlog.Severity, int, string) {}

func (o options) engine(ctx context.Context, engine, kind string, shards int) (*diagnose.Tally, error) {
	j := job(kind)
	dir, err := os.MkdirTemp("", "digests")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	switch engine {
	case "goroutines":
		return here(ctx, j, shards)
	case "processes":
		for i := range shards {
			c, err := self(ctx, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), "-task", fmt.Sprintf("%s/%d", kind, shards), "-dir", dir)
			if err != nil {
				return nil, err
			}
			if err := c.Run(); err != nil {
				return nil, err
			}
		}
		run, err := j.Build()
		if err != nil {
			return nil, err
		}
		return shard.Merge(ctx, dir, run)
	case "prism", "server":
		p, s := sdk.NewPipelineWithRoot()
		transform := map[string]func(sdk.Scope, beam.Job) (sdk.PCollection, error){"chains": beam.Chains, "samples": beam.Samples, "ais": beam.AIS}
		tally, err := transform[kind](s, beam.Job{Run: j, Parts: shards, Each: true})
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, "run.tally")
		if err := beam.Write(s, path, tally); err != nil {
			return nil, err
		}
		if engine == "prism" {
			_, err = prism.Execute(ctx, p)
		} else {
			*jobopts.Endpoint, *jobopts.EnvironmentType = o.server, "LOOPBACK"
			_, err = universal.Execute(ctx, p)
		}
		*jobopts.Endpoint = ""
		if err != nil {
			return nil, err
		}
		return beam.Read(ctx, path)
	}
	return nil, fmt.Errorf("-engines has %q, want goroutines, processes or prism", engine)
}

// here runs the shards in this process and merges them in a random order.
func here(ctx context.Context, j shard.Job, shards int) (*diagnose.Tally, error) {
	run, err := j.Build()
	if err != nil {
		return nil, err
	}
	n, block := run.Size()
	all := &diagnose.Tally{}
	for _, i := range rand.Perm(shards) {
		first, count, err := shard.Task{Index: i, Count: shards}.Range(n, block)
		if err != nil {
			return nil, err
		}
		t, err := shard.Make(ctx, run, first, count, "")
		if err != nil {
			return nil, err
		}
		if err := all.Merge(t); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// part runs one process of an array job. The argument what has the form KIND/SHARDS.
func part(ctx context.Context, what, dir string) error {
	kind, count, _ := strings.Cut(what, "/")
	n, err := strconv.Atoi(count)
	if err != nil {
		return fmt.Errorf("-task = %q, want KIND/SHARDS", what)
	}
	run, err := job(kind).Build()
	if err != nil {
		return err
	}
	task, err := shard.Environment(n)
	if err != nil {
		return err
	}
	return task.Do(ctx, dir, run, shard.Options{})
}

// args are the arguments of the builder: the kind of the run.
type args struct{ Kind string }

func init() { shard.Register("digests", build) }

func job(kind string) shard.Job {
	return shard.Job{Target: "digests", Args: fmt.Appendf(nil, `{"Kind": %q}`, kind)}
}

// build returns a run of 3200 elements in 100 blocks. The elements are chains or weights of spins
// on a square lattice, or samples of a chain of tokens.
func build(a args) (shard.Run, error) {
	m, err := model.NewIsing(model.Lattice{10, 10}, 0.2, 0.05)
	if err != nil {
		return nil, err
	}
	switch a.Kind {
	case "chains":
		return shard.Chains{
			Model: m, Method: mcmc.DMALA{}, Config: sampler.Config{Chains: 3200, Seed: 1, Warmup: 20}, Draws: 20,
			Functions: []func([]int32) float64{energy.Magnetization}, Names: []string{"magnetisation"},
		}, nil
	case "ais":
		return shard.AIS{Model: m, Method: mcmc.Gibbs{}, Config: anneal.AISConfig{Chains: 3200, Seed: 1, Stages: 20}}, nil
	case "samples":
		chain, err := model.NewMarkov(24, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9})
		if err != nil {
			return nil, err
		}
		d, err := denoise.NewMarkov(chain, denoise.Absorbing)
		return shard.Samples[int32]{
			Samples: 3200, Block: 32,
			New: func(ctx context.Context, first, count int) (shard.Sampler[int32], error) {
				return diffusion.New(ctx, d, diffusion.Masked{Mask: 2}, diffusion.Config{Steps: 16, Seed: 1, First: first, Count: count})
			},
			Functions: []func([]int32) float64{func(x []int32) float64 { return float64(x[0] + x[12]) }},
		}, err
	}
	return nil, fmt.Errorf("Kind = %q, want chains, samples or ais", a.Kind)
}
