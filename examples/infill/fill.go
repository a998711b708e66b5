package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

const (
	blank = '_'
	few   = 5 // number of completions that the report shows
)

// exact says which distribution the completions follow.
const exact = command.Conditioned + ", under which all valid completions are equally likely"

// complete fills the blanks of a record o.n times with the constraint and o.n times without, and
// checks the results. The model gives every character the same probability. With the constraint,
// all valid completions are therefore equally likely.
func complete(ctx context.Context, format, record string, o options) (*figures, error) {
	given, blanks, err := tokens(record)
	if err != nil {
		return nil, err
	}
	language, err := builders[format](ctx, record)
	if err != nil {
		return nil, err
	}
	if o.digitSum >= 0 {
		sum, err := digitSums(o.digitSum)
		if err != nil {
			return nil, err
		}
		if language, err = constraint.Intersect(language, sum); err != nil {
			return nil, err
		}
	}
	path := projection.Path{Language: language, Name: "the format"}
	f := &figures{Format: format, Record: record, Blanks: blanks, N: o.n}
	if err := f.count(ctx, path, given); err != nil {
		return nil, err
	}
	valid := func(s string) bool {
		return judges[format](s) && (o.digitSum < 0 || sumOfDigits(s) == o.digitSum)
	}
	start := time.Now()
	filled, err := fill(ctx, given, path, o)
	if err != nil {
		return nil, err
	}
	f.Seconds = time.Since(start).Seconds()
	f.judge(filled, valid)
	free, err := fill(ctx, given, nil, o)
	if err != nil {
		return nil, err
	}
	for _, s := range free {
		if !valid(s) {
			f.Unconstrained++
		}
	}
	return f, nil
}

// tokens converts a record to the input of Diffusion.Fill, in which a blank is −1. It also
// returns the number of blanks.
func tokens(record string) (x []int32, blanks int, err error) {
	for i, c := range record {
		t := int32(strings.IndexRune(alphabet, c))
		if c == blank {
			blanks++
		} else if t < 0 {
			return nil, 0, fmt.Errorf("character %d is %q, want one of %s or %c", i+1, c, alphabet, blank)
		}
		x = append(x, t)
	}
	if blanks == 0 {
		return nil, 0, fmt.Errorf("no %c to fill", blank)
	}
	return x, blanks, nil
}

// fill completes the record o.n times, without a constraint if p is nil.
func fill(ctx context.Context, given []int32, p diffusion.Projector, o options) ([]string, error) {
	characters, err := model.NewIndependent(make([]float64, len(given)*len(alphabet)), len(alphabet))
	if err != nil {
		return nil, err
	}
	model, err := denoise.NewIndependent(characters, denoise.Absorbing)
	if err != nil {
		return nil, err
	}
	d, err := diffusion.New(ctx, model, diffusion.Masked{Mask: int32(len(alphabet)), FirstHitting: true},
		diffusion.Config{Seed: o.seed, Projector: p})
	if err != nil {
		return nil, err
	}
	x := make([]int32, 0, o.n*len(given))
	for range o.n {
		x = append(x, given...)
	}
	if err := d.Fill(ctx, x); err != nil {
		return nil, err
	}
	out := make([]string, o.n)
	for i := range out {
		out[i] = text.Runes(alphabet).Text(x[i*len(given) : (i+1)*len(given)])
	}
	return out, nil
}

// count stores the exact number of valid completions and their log-probability.
func (f *figures) count(ctx context.Context, path projection.Path, given []int32) error {
	exact, err := path.Compile(ctx, len(given), len(alphabet))
	if err != nil {
		return err
	}
	v := weights(given)
	logZ, err := exact.LogZ(ctx, v)
	if err != nil {
		return err
	}
	if f.Completions, err = exact.Count(ctx, v); err != nil {
		return err
	}
	f.LogProbability = logZ - float64(f.Blanks)*math.Log(float64(len(alphabet)))
	return nil
}

// weights returns log-weights that allow only the given character at each position and every
// character in a blank.
func weights(given []int32) []float32 {
	v := make([]float32, len(given)*len(alphabet))
	for i, t := range given {
		if t < 0 {
			continue
		}
		row := v[i*len(alphabet) : (i+1)*len(alphabet)]
		for l := range row {
			row[l] = float32(math.Inf(-1))
		}
		row[t] = 0
	}
	return v
}
