// Command deadline checks that a deadline stops long work. It starts each job under a context of 50
// ms. It prints the job's time (the minimum of three trials) and the memory of the process so far.
// If a job completes before the deadline, it prints "done". If a job is rejected, it prints the
// reason.
//
// The exit status is 1 if a job takes more than 150 ms or fails with any other error. It is also 1
// if the process uses more than a gigabyte. The jobs cover long work and malicious inputs for every
// compiler. Arguments select jobs by words of their names. Under GOOS=js nothing interrupts a busy
// goroutine:
//
//	GOOS=js GOARCH=wasm go run -exec "$(go env GOROOT)/lib/wasm/go_js_wasm_exec" ./internal/tools/deadline
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

const (
	deadline = 50 * time.Millisecond
	bound    = 150 * time.Millisecond
	memory   = 1 << 30
	trials   = 3
)

// job is work that would take many seconds. The function make prepares it, outside the deadline.
type job struct {
	name string
	make func() (func(ctx context.Context) error, error)
}

func main() {
	bad := false
	for _, j := range slices.Concat(jobs(), hostile(), notations(), generators(), problems()) {
		if len(os.Args) > 1 && !slices.ContainsFunc(os.Args[1:], func(word string) bool { return strings.Contains(j.name, word) }) {
			continue
		}
		took, ended, err := run(j)
		for range trials - 1 {
			if again, how, e := run(j); e != nil || again < took && err == nil {
				took, ended, err = again, how, e
			}
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if err == nil && m.Sys > memory {
			err = fmt.Errorf("the process has %d bytes, want ≤ %d", m.Sys, memory)
		}
		result := "ok"
		if err != nil || took > bound {
			result, bad = "BAD", true
		}
		fmt.Printf("%-4s%8.1f ms %5d MB  %s", result, float64(took.Microseconds())/1000, m.Sys>>20, j.name)
		switch {
		case err != nil:
			fmt.Printf(": %v", err)
		case ended == nil:
			fmt.Print(": done")
		case !errors.Is(ended, context.DeadlineExceeded):
			fmt.Printf(": refused: %v", ended)
		}
		fmt.Println()
	}
	if bad {
		os.Exit(1)
	}
}

// run runs j under a deadline. It returns the time taken, the error with which j ended, and an
// error if j failed other than by the deadline or a limit.
func run(j job) (took time.Duration, ended, err error) {
	work, err := j.make()
	if err != nil {
		return 0, nil, err
	}
	runtime.GC() // the garbage of the job before is not the job's
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	ended = work(ctx)
	took = time.Since(begin)
	var limit *constraint.LimitError
	var width *energy.WidthError
	var schema *grammar.SchemaError
	var syntax *grammar.SyntaxError
	if ended != nil && !errors.Is(ended, context.DeadlineExceeded) && !errors.As(ended, &limit) && !errors.As(ended, &width) && !errors.As(ended, &schema) && !errors.As(ended, &syntax) {
		return took, ended, fmt.Errorf("ended with %v, want %v or a limit", ended, context.DeadlineExceeded)
	}
	return took, ended, nil
}

func jobs() []job {
	return []job{
		{"Run of Gibbs on a torus of 256×256 spins", func() (func(context.Context) error, error) {
			m, err := model.NewIsing(model.Lattice{256, 256}, 0.2, 0.1)
			return chains(m, mcmc.Gibbs{}, err)
		}},
		{"Run of DMALA on a torus of 256×256 spins", func() (func(context.Context) error, error) {
			m, err := model.NewIsing(model.Lattice{256, 256}, 0.2, 0.1)
			return chains(m, mcmc.DMALA{}, err)
		}},
		{"Run of Gibbs on a function of 1000 sites", func() (func(context.Context) error, error) {
			return chains(function(1000), mcmc.Gibbs{}, nil)
		}},
		{"Run of DMALA on a function of 1000 sites", func() (func(context.Context) error, error) {
			return chains(function(1000), mcmc.DMALA{}, nil)
		}},
		{"Compile of Count over 4000 sites", func() (func(context.Context) error, error) {
			half := constraint.Count{Levels: []int32{1}, Min: 2000, Max: 2000}
			return func(ctx context.Context) error {
				_, err := projection.Path{Language: half, Limit: math.MaxInt32}.Compile(ctx, 4000, 2)
				return err
			}, nil
		}},
		{"PathProjection.Count over 20000 sites", func() (func(context.Context) error, error) {
			half := constraint.Count{Levels: []int32{1}, Min: 1000, Max: 1000}
			p, err := projection.Path{Language: half, Limit: math.MaxInt32}.Compile(context.Background(), 20000, 2)
			return func(ctx context.Context) error {
				_, err := p.Count(ctx, nil)
				return err
			}, err
		}},
		{"Regexp of four million states", func() (func(context.Context) error, error) {
			return func(ctx context.Context) error {
				_, err := text.Regexp(ctx, `(a|b)*a(a|b){21}`, text.Runes("ab"), unlimited())
				return err
			}, nil
		}},
		{"Regexp of a large alphabet", func() (func(context.Context) error, error) {
			return func(ctx context.Context) error {
				_, err := text.Regexp(ctx, `(\pL|\d)*\pL(\pL|\d){17}`, text.Runes("abcdefghijklmnopqrstuvwxyzäöü0123456789"), unlimited())
				return err
			}, nil
		}},
		{"JSONSchema with a pattern of a million states", func() (func(context.Context) error, error) {
			return schema(`{"type": "string", "pattern": "^(a|b)*a(a|b){19}$"}`)
		}},
		{"JSONSchema of a thousand optional properties", func() (func(context.Context) error, error) {
			var s strings.Builder
			s.WriteString(`{"type": "object", "additionalProperties": false, "properties": {`)
			for i := range 1000 {
				if i > 0 {
					s.WriteString(", ")
				}
				fmt.Fprintf(&s, `"p%d": {"enum": ["a%d", "b%d", %d]}`, i, i, i, i)
			}
			s.WriteString(`}, "minProperties": 100}`)
			return schema(s.String())
		}},
	}
}

// unlimited returns limits that let automata grow until the deadline.
func unlimited() constraint.Limits {
	return constraint.Limits{States: math.MaxInt32, Bytes: math.MaxInt32}
}

func schema(s string) (func(context.Context) error, error) {
	return func(ctx context.Context) error {
		_, err := grammar.JSONSchema(ctx, []byte(s), grammar.SchemaConfig{Limits: unlimited()})
		return err
	}, nil
}

// function returns an energy that provides only its values: the number of neighbouring sites
// that differ.
func function(sites int) energy.Model {
	return energy.Func{Sites: sites, Levels: 3, E: func(x []int32) float64 {
		e := 0.0
		for i, l := range x[1:] {
			if l != x[i] {
				e++
			}
		}
		return e
	}}
}

// chains returns a job that runs 16 chains without end.
func chains(m energy.Model, method sampler.Method, err error) (func(context.Context) error, error) {
	if err != nil {
		return nil, err
	}
	c, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 16, Seed: 1})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return c.Run(ctx, math.MaxInt32) }, nil
}
