package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/distance"
)

// report is the program's output, printed as a table or as JSON.
type report struct {
	Data     string   `json:"data"`
	Channels []string `json:"channels"`
	Length   int      `json:"length"`
	Training int      `json:"training"`
	HeldOut  int      `json:"heldout"`
	Samples  int      `json:"samples"` // number of samples per held-out window
	Features []string `json:"features,omitempty"`
	Impute   bool     `json:"impute"`
	Hidden   float64  `json:"hidden,omitempty"` // share of entries imputed at random; 0 means the middle third of rows
	OHLC     bool     `json:"ohlc"`
	Denoiser string   `json:"denoiser"`
	// width of kernels with the shape of the data, in standard deviations of windows
	Width   float64 `json:"width,omitempty"`
	Row     float64 `json:"width_within_bars,omitempty"`
	Network *lesson `json:"network,omitempty"`
	// training reports of methods with a network of their own
	Networks    map[string]*lesson `json:"networks,omitempty"`
	Steps       int                `json:"steps"`
	Seed        uint64             `json:"seed"`
	Seeds       int                `json:"seeds"`
	Transformer bool               `json:"-"` // whether TSTR of a transformer is computed
	// omissions and corrections made when reading the file
	Notes   []string  `json:"notes,omitempty"`
	Methods []figures `json:"methods"`
	Failed  []string  `json:"failed,omitempty"` // failed methods with the reason
	Wrote   []string  `json:"wrote,omitempty"`  // files written

	picture.Album `json:"-"`
}

// figures holds the results of one method in standardised units, averaged over seeds. Seeds
// holds standard errors if there are several seeds.
type figures struct {
	Method  string  `json:"method"`
	Frechet float64 `json:"frechet"` // squared Fréchet distance to the held-out windows
	DTW     float64 `json:"dtw"`     // mean distance to the window whose limits the sample has
	// squared Fréchet distance to the held-out windows in the embedding, and jointly with the
	// conditions
	FTSD      float64 `json:"ftsd"`
	Joint     float64 `json:"j_ftsd"`
	Violation float64 `json:"violation"` // largest violation of any limit in any sample
	Total     float64 `json:"total_violation"`
	// root mean square error of imputed entries
	RMSE float64 `json:"rmse,omitempty"`
	// mean over held-out windows; needs at least two samples per window
	Score float64 `json:"energy_score,omitempty"`
	// standard error of Score for one seed, as if windows were independent
	Error float64 `json:"energy_score_stderr,omitempty"`
	// mean absolute error, on held-out windows, of a forecast trained on samples
	TSTR float64 `json:"tstr_mae"`
	// standard error of TSTR over held-out windows, for one seed
	TSTRError float64 `json:"tstr_mae_stderr"`
	// TSTR of a transformer, and its standard error over held-out windows for one seed
	Attended    float64 `json:"tstr_transformer_mae,omitempty"`
	AttendedErr float64 `json:"tstr_transformer_mae_stderr,omitempty"`
	// |accuracy − ½| of a classifier of real and generated windows
	Apart float64 `json:"discriminative"`
	// standard error of Apart over held-out windows, for one seed
	ApartErr float64 `json:"discriminative_stderr"`
	Ms       float64 `json:"ms_per_sample"`
	Seeds    spread  `json:"seeds_stderr,omitzero"`
}

// spread holds standard errors of means over seeds.
type spread struct {
	Frechet  float64 `json:"frechet"`
	DTW      float64 `json:"dtw"`
	FTSD     float64 `json:"ftsd"`
	Joint    float64 `json:"j_ftsd"`
	Score    float64 `json:"energy_score,omitempty"`
	TSTR     float64 `json:"tstr_mae"`
	Apart    float64 `json:"discriminative"`
	Attended float64 `json:"tstr_transformer_mae,omitempty"`
}

func newReport(p *problem, o options) *report {
	return &report{
		Data: p.name, Channels: p.names, Length: p.length, Training: len(p.training) / p.sites(), HeldOut: len(p.starts),
		Samples: o.samples, Features: p.features, Impute: p.impute, Hidden: o.hide, OHLC: p.ordered, Denoiser: o.denoiser, Width: p.width, Row: p.row, Network: p.lesson,
		Steps: o.steps, Seed: o.seed, Seeds: o.seeds, Transformer: o.attend, Notes: p.notes,
	}
}

// excuse records the failure of a method and reports whether the other methods can continue.
// This is so if a projection did not converge.
func (r *report) excuse(err error) bool {
	var not *projection.NotConverged
	if !errors.As(err, &not) {
		return false
	}
	r.Failed = append(r.Failed, err.Error())
	return true
}

// add evaluates the samples of a method, with one outcome per seed.
func (r *report) add(ctx context.Context, p *problem, all []*outcome) error {
	var mean figures
	each := make([]figures, len(all))
	k := float64(len(all))
	for i, o := range all {
		f, err := r.judge(ctx, p, o)
		if err != nil {
			return err
		}
		each[i] = f
		mean.Method = f.Method
		mean.Frechet, mean.DTW, mean.Total = mean.Frechet+f.Frechet/k, mean.DTW+f.DTW/k, mean.Total+f.Total/k
		mean.RMSE, mean.Score, mean.Error, mean.Ms = mean.RMSE+f.RMSE/k, mean.Score+f.Score/k, mean.Error+f.Error/k, mean.Ms+f.Ms/k
		mean.FTSD, mean.Joint = mean.FTSD+f.FTSD/k, mean.Joint+f.Joint/k
		mean.TSTR, mean.TSTRError = mean.TSTR+f.TSTR/k, mean.TSTRError+f.TSTRError/k
		mean.Attended, mean.AttendedErr = mean.Attended+f.Attended/k, mean.AttendedErr+f.AttendedErr/k
		mean.Apart, mean.ApartErr = mean.Apart+f.Apart/k, mean.ApartErr+f.ApartErr/k
		mean.Violation = max(mean.Violation, f.Violation)
	}
	if len(all) > 1 {
		mean.Seeds = spread{
			stderr(each, mean, func(f figures) float64 { return f.Frechet }),
			stderr(each, mean, func(f figures) float64 { return f.DTW }),
			stderr(each, mean, func(f figures) float64 { return f.FTSD }),
			stderr(each, mean, func(f figures) float64 { return f.Joint }),
			stderr(each, mean, func(f figures) float64 { return f.Score }),
			stderr(each, mean, func(f figures) float64 { return f.TSTR }),
			stderr(each, mean, func(f figures) float64 { return f.Apart }),
			stderr(each, mean, func(f figures) float64 { return f.Attended }),
		}
	}
	r.Methods = append(r.Methods, mean)
	return nil
}

// stderr returns the standard error of the mean of a figure.
func stderr(each []figures, mean figures, of func(f figures) float64) float64 {
	sum := 0.0
	for _, f := range each {
		d := of(f) - of(mean)
		sum += d * d
	}
	n := float64(len(each))
	return math.Sqrt(sum / (n - 1) / n)
}

// judge returns the results of a method with one seed.
func (r *report) judge(ctx context.Context, p *problem, o *outcome) (figures, error) {
	count := len(p.starts) * o.samples
	f := figures{Method: o.method.String(), Ms: 1000 * o.seconds / float64(count)}
	var err error
	if f.Frechet, err = distance.Frechet(o.x, p.held, p.sites()); err != nil {
		return f, err
	}
	if f.FTSD, f.Joint, err = p.embed.distances(o.x, p.held, o.samples, p.impute); err != nil {
		return f, err
	}
	warp := distance.DTW{Channels: p.channels()}
	for i, set := range p.sets {
		x := o.x[i*o.samples*p.sites() : (i+1)*o.samples*p.sites()]
		total, worst := distance.Violation(set, x, p.sites())
		f.Total += total / float64(len(p.sets))
		f.Violation = max(f.Violation, worst)
		for k := range o.samples {
			f.DTW += warp.Distance(o.window(p, i, k), p.window(p.held, i)) / float64(count)
		}
	}
	if p.impute {
		f.RMSE = p.rmse(o)
	}
	if f.TSTR, f.TSTRError, err = forecast(o.x, p.held, p.length, p.channels()); err != nil {
		return f, err
	}
	if r.Transformer {
		if f.Attended, f.AttendedErr, err = attend(ctx, o.x, p.held, p.length, p.channels(), forecastSteps, r.Seed); err != nil {
			return f, err
		}
	}
	if f.Apart, f.ApartErr, err = discriminate(p.held, o.x, o.samples, p.length, p.channels()); err != nil {
		return f, err
	}
	if o.samples > 1 {
		if f.Score, f.Error, err = p.score(o); err != nil {
			return f, err
		}
	}
	return f, nil
}

// score returns the mean energy score over held-out windows and its standard error.
func (p *problem) score(o *outcome) (mean, stderr float64, err error) {
	n, square := float64(len(p.starts)), 0.0
	for i := range p.starts {
		s, err := distance.EnergyScore(o.x[i*o.samples*p.sites():(i+1)*o.samples*p.sites()], p.window(p.held, i), p.sites())
		if err != nil {
			return 0, 0, err
		}
		mean, square = mean+s/n, square+s*s/n
	}
	return mean, math.Sqrt(max(0, square-mean*mean) / (n - 1)), nil
}

// rmse returns the root mean square error of the imputed entries.
func (p *problem) rmse(o *outcome) float64 {
	sum, count := 0.0, 0
	for i := range p.starts {
		real := p.window(p.held, i)
		for k := range o.samples {
			x := o.window(p, i, k)
			for j, hidden := range p.hides[i] {
				if !hidden {
					continue
				}
				e := float64(x[j]) - float64(real[j])
				sum += e * e
				count++
			}
		}
	}
	return math.Sqrt(sum / float64(count))
}

func (r *report) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s; windows of %d rows, %d for training, %d held out\n", r.Data, strings.Join(r.Channels, ", "), r.Length, r.Training, r.HeldOut)
	for _, note := range r.Notes {
		fmt.Fprintln(&b, note)
	}
	what := "features of the real window: " + strings.Join(r.Features, ", ")
	if r.Impute {
		what = "the first and the last third of the real window"
		if r.Hidden > 0 {
			what = fmt.Sprintf("all entries of the real window but %v %% at random", 100*r.Hidden)
		}
	}
	if r.OHLC {
		what += "; low ≤ open, close ≤ high"
	}
	fmt.Fprintf(&b, "%s\nsamples per held-out window: %d, steps: %d, denoiser %s, seed %d; standardised units\n", what, r.Samples, r.Steps, r.Denoiser, r.Seed)
	if r.Width > 0 {
		fmt.Fprintf(&b, "kernels of the shape of the data, width %v standard deviations by held-out likelihood", r.Width)
		if r.Row > 0 {
			fmt.Fprintf(&b, ", within bars %v", r.Row)
		}
		fmt.Fprintln(&b)
	}
	if r.Network != nil {
		fmt.Fprintln(&b, r.Network)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Networks)) {
		fmt.Fprintf(&b, "%s: %s\n", name, r.Networks[name].history())
	}
	if r.Seeds > 1 {
		fmt.Fprintf(&b, "means over %d seeds ± their standard errors; in brackets, that over windows of one seed\n", r.Seeds)
	}
	fmt.Fprintln(&b)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "method\tFréchet\tDTW\tlargest violation\ttotal violation\tms/sample\tFTSD\tJ-FTSD\tTSTR\tdiscriminative\t"
	if r.Transformer {
		head += "TSTR transformer\t"
	}
	if r.Impute {
		head += "RMSE\t"
	}
	if r.Samples > 1 {
		head += "energy score\t"
	}
	fmt.Fprintln(w, head)
	for _, f := range r.Methods {
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2g\t%.2g\t%.1f\t", f.Method, r.plusMinus(f.Frechet, f.Seeds.Frechet), r.plusMinus(f.DTW, f.Seeds.DTW), f.Violation, f.Total, f.Ms)
		fmt.Fprintf(w, "%s\t%s\t", r.plusMinus(f.FTSD, f.Seeds.FTSD), r.plusMinus(f.Joint, f.Seeds.Joint))
		fmt.Fprintf(w, "%s\t%s\t", r.within(f.TSTR, f.TSTRError, f.Seeds.TSTR), r.within(f.Apart, f.ApartErr, f.Seeds.Apart))
		if r.Transformer {
			fmt.Fprintf(w, "%s\t", r.within(f.Attended, f.AttendedErr, f.Seeds.Attended))
		}
		if r.Impute {
			fmt.Fprintf(w, "%.3f\t", f.RMSE)
		}
		if r.Samples > 1 {
			fmt.Fprintf(w, "%s\t", r.within(f.Score, f.Error, f.Seeds.Score))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	for _, f := range r.Failed {
		fmt.Fprintln(&b, "failed:", f)
	}
	for _, path := range r.Wrote {
		fmt.Fprintln(&b, "wrote", path)
	}
	return b.String()
}

// plusMinus formats a figure, with its standard error if there are several seeds.
func (r *report) plusMinus(v, stderr float64) string {
	if r.Seeds > 1 {
		return fmt.Sprintf("%.3f ± %.3f", v, stderr)
	}
	return fmt.Sprintf("%.3f", v)
}

// within formats a figure with its standard error over held-out windows. If there are several
// seeds, the standard error over seeds precedes it.
func (r *report) within(v, windows, seeds float64) string {
	if r.Seeds > 1 {
		return fmt.Sprintf("%.3f ± %.3f (%.3f)", v, seeds, windows)
	}
	return fmt.Sprintf("%.3f ± %.3f", v, windows)
}

// Warnings returns the notes on reading the file, and the methods that failed.
func (r *report) Warnings() []string { return append(slices.Clone(r.Notes), r.Failed...) }
