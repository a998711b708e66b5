// Series works with real-valued series of several channels, from a file or from a synthetic
// market of prices and volume. It describes how a file is read, fills its gaps, generates similar
// windows, and compares methods that generate windows with given features.
//
//	go -C examples run ./series -csv prices.csv -describe
//	go -C examples run ./series -csv prices.csv -fill complete.csv
//	go -C examples run ./series -csv prices.csv -generate 1000 -write windows.csv
//	go -C examples run ./series -out out
//	go -C examples run ./series -csv prices.csv -columns open,high,low,close
//	go -C examples run ./series -impute
//	go -C examples run ./series -train -save weights.safetensors
//
// -fill draws the missing numbers several times given all known ones, from a Gaussian
// autoregression in the coordinates of each channel, and writes the medians of these draws. It
// also inserts rows that the file omits. -generate draws windows from a kernel density in
// coordinates that depend on the kind of series. For price bars (open, high, low, close), the
// coordinates are overnight changes, ranges, and the positions of open and close within the
// range.
//
// Without these options, the program cuts the series into windows and holds some out. Every method
// then generates windows with the features of the held-out ones, and the results are compared.
//
// -train trains a network on the windows, which replaces the kernel density; -load reads such a
// network. -write FILE writes all samples.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/seriesdata"
)

// options holds the command-line options.
type options struct {
	command.Output
	checkpoint.Flags
	learning

	csv, data, columns, missing, split, features, bounds, methods, denoiser string
	gamma                                                                   string
	rows, length, heldOut, samples, training, steps, lag, seeds             int
	particles                                                               int
	bandwidth, eta, weight, hide                                            float64
	seed                                                                    uint64
	impute, ohlc, jacobian, attend                                          bool

	write, fill, zone, dates string
	describe                 bool
	time, entity, decimal    string
	missingText, keep        string
	draws, generate          int
	tick                     float64
	location                 *time.Location
}

// reading returns the options for reading a file.
func (o *options) reading() seriesdata.Options {
	r := seriesdata.Options{Time: o.time, Entity: o.entity, Dates: o.dates, Location: o.location}
	list := func(text string) (out []string) {
		for s := range strings.SplitSeq(text, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	r.Columns, r.Missing = list(o.columns), list(o.missingText)
	for _, s := range list(o.keep) {
		v, _ := strconv.ParseFloat(s, 64) // checked when it was read
		r.Keep = append(r.Keep, v)
	}
	if o.decimal != "" {
		r.Decimal = o.decimal[0]
	}
	return r
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("series", flag.ContinueOnError)
	f.StringVar(&o.csv, "csv", "", "read the series from this `file`, one column per channel; the default is synthetic: -data")
	f.StringVar(&o.data, "data", "market", "synthetic `data`: market (prices and volume of a share), waveforms (independent sines with trends), or air (hourly temperature, wind and dust)")
	f.StringVar(&o.columns, "columns", "", "`columns` to read, by full name or its last part (Open for AAPL.Open); empty means prices and volume, or every column of numbers if there are none")
	f.BoolVar(&o.describe, "describe", false, "only print how -csv is read")
	f.StringVar(&o.time, "time", "", "`column` of times, or two (date and time of day), or none; empty means to detect it")
	f.StringVar(&o.entity, "entity", "", "`columns` that identify the series of a row, or none; empty means to detect them")
	f.StringVar(&o.dates, "dates", "", "`order` of day, month and year where the dates are ambiguous: dmy, mdy or ymd")
	f.StringVar(&o.zone, "zone", "", "time `zone` of times that state none, such as Europe/Berlin; empty means UTC")
	f.StringVar(&o.decimal, "decimal", "", "decimal `mark` where the numbers are ambiguous: . or ,")
	f.StringVar(&o.missingText, "missing.text", "", "comma-separated `texts` that mark missing numbers, in addition to the usual ones")
	f.StringVar(&o.keep, "keep", "", "`numbers` such as -999 that are data, not marks of missing ones")
	f.IntVar(&o.generate, "generate", 0, "only draw this many windows of -length rows from the file's model, without limits, each chosen by a classifier that is fitted to the file; -write FILE saves them")
	f.IntVar(&o.draws, "draws", 100, "draws of every missing number; -fill writes their median")
	f.StringVar(&o.missing, "missing", "error", "what to do with blank cells: error, drop (their rows) or linear (filled in)")
	f.StringVar(&o.split, "split", string(auto), "choice of held-out windows: even (evenly spaced), chronological (in the last fifth), random (overlapping those for training, as in the paper), or auto (even if the series is long enough, otherwise chronological)")
	f.BoolVar(&o.ohlc, "ohlc", true, "keep low ≤ open, close ≤ high where channels have these names")
	f.StringVar(&o.bounds, "bounds", "", "`limits` of channels such as close=90:110,volume=0:")
	f.StringVar(&o.features, "features", "mean,change,argmax,argmin", "features that samples copy from the real window, per channel, of "+strings.Join(featureNames, ", "))
	f.BoolVar(&o.impute, "impute", false, "copy the first and the last third of the real window instead of features")
	f.Float64Var(&o.hide, "hide", 0, "impute this `share` of all entries of the real window, at random, instead of the middle third of its rows")
	f.StringVar(&o.methods, "method", "", "`methods` to run; empty means all but loss-difftime and diffusion-ts, which train a network of their own")
	f.StringVar(&o.denoiser, "denoiser", "", "model of the training windows: windows (kernel density), gaussian, or trained, a network by -train or -load; empty means trained if either is given, otherwise windows")
	f.BoolVar(&o.train, "train", false, "train a network on the windows; -checkpoint saves the training as well")
	f.Float64Var(&o.minutes, "minutes", 0, "stop training after this many `minutes`; 0 means after -train.steps")
	f.IntVar(&o.learning.steps, "train.steps", 1500, "total number of training steps")
	f.StringVar(&o.save, "save", "", "write the weights of -train to this `file`")
	f.StringVar(&o.load, "load", "", "read the weights of a network for windows of the same rows and channels from this `file`, or a network of Diffusion-TS or CSDI from a folder with config.json and model.safetensors; a note says if it was trained on other windows")
	f.IntVar(&o.rows, "rows", 6000, "number of rows of synthetic data")
	f.IntVar(&o.length, "length", 24, "rows per window")
	f.IntVar(&o.heldOut, "heldout", 60, "number of held-out windows")
	f.IntVar(&o.samples, "samples", 1, "samples per held-out window")
	f.IntVar(&o.training, "training", 2000, "maximum number of training windows")
	f.IntVar(&o.steps, "steps", 50, "steps of the diffusion")
	f.IntVar(&o.particles, "particles", 8, "particles for the method conditional where it needs weights")
	f.BoolVar(&o.jacobian, "jacobian", false, "let the method conditional compute the covariance of a network's predictions by backward passes, instead of using that of the training windows")
	f.IntVar(&o.lag, "lag", 0, "lag of the feature acf; 0 means half a window")
	f.BoolVar(&o.attend, "transformer", false, "also compute TSTR with a small transformer, which takes a second of training for each method and seed")
	f.StringVar(&o.gamma, "gamma", "hard", "penalty for limits that a projection violates: hard, exp, linear or quadratic (schedules that end at 1e5), or a number")
	f.Float64Var(&o.bandwidth, "bandwidth", 0, "bandwidth of a kernel density with round kernels, in standard deviations of a channel; 0 means kernels shaped like the data, with the bandwidth of highest leave-one-out likelihood")
	f.Float64Var(&o.eta, "eta", 0, "noise per step: 0 is DDIM, 1 is DDPM")
	f.Float64Var(&o.weight, "weight", 0.1, "factor ρ of the penalty that guides a method or, for loss-difftime, is part of the loss")
	f.StringVar(&o.write, "write", "", "write all samples in raw units to this CSV `file`")
	f.StringVar(&o.fill, "fill", "", "only fill the gaps of -csv and write the result to this `file`; -write FILE saves all draws")
	f.Float64Var(&o.tick, "tick", 0, "round prices that -write and -fill write to multiples of this; 0 means no rounding")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	f.IntVar(&o.seeds, "seeds", 1, "run every method this many times, each with its own seed, for standard errors")
	o.Output.Define(f, "")
	o.Flags.Define(f)
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	}
	for _, c := range []struct {
		name        string
		value, want int
	}{
		{"rows", o.rows, 1}, {"length", o.length, 3}, {"heldout", o.heldOut, 2},
		{"samples", o.samples, 1}, {"seeds", o.seeds, 1}, {"training", o.training, leastTraining}, {"steps", o.steps, 1}, {"particles", o.particles, 2},
	} {
		if c.value < c.want {
			return o, fmt.Errorf("-%s = %d, want ≥ %d", c.name, c.value, c.want)
		}
	}
	if err := o.checkGamma(); err != nil {
		return o, err
	}
	if err := o.checkData(); err != nil {
		return o, err
	}
	if o.denoiser == "" {
		if o.denoiser = "windows"; o.train || o.load != "" {
			o.denoiser = trainedDenoiser
		}
	}
	if err := o.learning.check(&o); err != nil {
		return o, err
	}
	if o.zone != "" {
		l, err := time.LoadLocation(o.zone)
		if err != nil {
			return o, fmt.Errorf("-zone = %q, want a place such as Europe/Berlin: %w", o.zone, err)
		}
		o.location = l
	}
	for s := range strings.SplitSeq(o.keep, ",") {
		if _, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err != nil && o.keep != "" {
			return o, fmt.Errorf("-keep: %q is not a number", s)
		}
	}
	switch {
	case !(o.bandwidth >= 0) || math.IsInf(o.bandwidth, 1):
		return o, fmt.Errorf("-bandwidth = %v, want ≥ 0 and finite", o.bandwidth)
	case !(o.hide >= 0 && o.hide < 1):
		return o, fmt.Errorf("-hide = %v, want 0 … 1, less than 1: what is imputed needs entries to go by", o.hide)
	case !(o.eta >= 0 && o.eta <= 1):
		return o, fmt.Errorf("-eta = %v, want 0 … 1", o.eta)
	case !(o.weight > 0) || math.IsInf(o.weight, 1):
		return o, fmt.Errorf("-weight = %v, want > 0 and finite", o.weight)
	case o.lag < 0 || o.lag >= o.length:
		return o, fmt.Errorf("-lag = %d, want 1 … %d (0: half a window)", o.lag, o.length-1)
	case o.denoiser != "windows" && o.denoiser != "gaussian" && o.denoiser != trainedDenoiser:
		return o, fmt.Errorf("-denoiser = %q, want windows, gaussian or trained", o.denoiser)
	case o.jacobian && o.denoiser != trainedDenoiser:
		return o, fmt.Errorf("-jacobian with -denoiser = %q, want trained: others know their covariance", o.denoiser)
	case o.missing != "error" && o.missing != "drop" && o.missing != "linear":
		return o, fmt.Errorf("-missing = %q, want error, drop or linear", o.missing)
	case !slices.Contains([]split{auto, even, chronological, random}, split(o.split)):
		return o, fmt.Errorf("-split = %q, want auto, even, chronological or random", o.split)
	case !(o.tick >= 0) || math.IsInf(o.tick, 1):
		return o, fmt.Errorf("-tick = %v, want ≥ 0 and finite", o.tick)
	case o.fill != "" && (o.csv == "" || o.impute || o.hide > 0 || o.missing != "error"):
		return o, fmt.Errorf("-fill = %q needs -csv and excludes -impute, -hide and -missing", o.fill)
	case o.describe && o.csv == "":
		return o, errors.New("-describe needs -csv, the file to describe")
	case o.generate < 0:
		return o, fmt.Errorf("-generate = %d, want ≥ 0", o.generate)
	case o.generate > 0 && (o.methods != "" || o.impute || o.hide > 0 || o.fill != ""):
		return o, fmt.Errorf("-generate = %d draws windows without limits and excludes -method, -impute, -hide and -fill", o.generate)
	case o.draws < 1:
		return o, fmt.Errorf("-draws = %d, want ≥ 1", o.draws)
	case o.decimal != "" && o.decimal != "." && o.decimal != ",":
		return o, fmt.Errorf("-decimal = %q, want . or ,", o.decimal)
	case o.csv == "" && o.columns != "":
		return o, fmt.Errorf("-columns = %q without -csv", o.columns)
	}
	return o, nil
}

// load reads or generates the table and prepares the problem.
func load(ctx context.Context, o options) (*problem, error) {
	t := generators[o.data](o.rows, o.length, o.seed)
	if o.csv != "" {
		var err error
		if t, err = readTable(o.csv, reading{o.reading(), o.missing}); err != nil {
			return nil, err
		}
	}
	return newProblem(ctx, t, o)
}

func run(ctx context.Context, o options) (*report, error) {
	methods, err := chosen(o.methods)
	if err != nil {
		return nil, err
	}
	p, err := load(ctx, o)
	if err != nil {
		return nil, err
	}
	r := newReport(p, o)
	var runs []*outcome
	for _, m := range methods {
		if m.exact && o.methods == "" {
			if err := p.fits(); err != nil {
				r.Notes = append(r.Notes, fmt.Sprintf("left out: the method %v: %v", m, err))
				continue
			}
		}
		all, err := p.repeat(ctx, o, m)
		r.Networks = p.lessons
		if err != nil {
			err = fmt.Errorf("%v: %w", m, err)
			if len(methods) == 1 || !r.excuse(err) {
				return nil, err
			}
			continue
		}
		if err := r.add(ctx, p, all); err != nil {
			return nil, fmt.Errorf("%v: %w", m, err)
		}
		runs = append(runs, all[0])
	}
	if o.write != "" && len(runs) > 0 {
		if err := p.writeSamples(o.write, o.tick, runs); err != nil {
			return nil, err
		}
		r.Wrote = append(r.Wrote, o.write)
	}
	if o.Dir != "" && len(runs) > 0 {
		if err := r.draw(p, runs); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// dispatch runs the task that the command line chooses.
func dispatch(ctx context.Context, o options) (fmt.Stringer, error) {
	switch {
	case o.describe:
		return readFrame(o.csv, o.reading())
	case o.fill != "":
		return complete(ctx, o)
	case o.generate > 0:
		return generateWindows(ctx, o)
	}
	return run(ctx, o)
}

func main() {
	command.Main("series", parse, dispatch)
}
