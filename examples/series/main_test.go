package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
	"github.com/gibbsite-go/gibbsite/projection"
)

// little makes runs that take a fraction of a second.
var little = []string{"-rows", "1500", "-heldout", "8", "-length", "12", "-training", "200", "-steps", "10"}

func try(args ...string) (*report, error) {
	o, err := parse(args)
	if err != nil {
		return nil, err
	}
	return run(context.Background(), o)
}

func do(t *testing.T, args ...string) *report {
	t.Helper()
	r, err := try(args...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// walk is a file of rows with two channels, lines being what line i says in
// place of what it would.
func walk(rows int, lines map[int]string) string {
	var b strings.Builder
	for i := range rows {
		if s, ok := lines[i]; ok {
			fmt.Fprintln(&b, s)
			continue
		}
		fmt.Fprintf(&b, "%.3f,%.3f\n", math.Sin(float64(i)/5)+math.Sin(float64(i*i)), math.Cos(float64(i)/7))
	}
	return b.String()
}

func TestMethodsKeepLimits(t *testing.T) {
	r := do(t, slices.Concat(little, []string{"-samples", "2"})...)
	if len(r.Methods) != 16 || !r.OHLC || r.HeldOut != 8 || r.Training != 200 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Methods {
		held := !strings.HasPrefix(f.Method, "guided") && f.Method != "unconstrained" && f.Method != "real"
		if held != (f.Violation <= 1e-6) {
			t.Errorf("%s: violation %v", f.Method, f.Violation)
		}
		if !(f.Frechet > 0 && f.DTW > 0 && f.Ms > 0 && f.Score > 0 && f.Error > 0) || f.RMSE != 0 {
			t.Errorf("%+v", f)
		}
	}
	if s := r.String(); !strings.Contains(s, "cps-metric") || !strings.Contains(s, "low ≤ open, close ≤ high") {
		t.Error(s)
	}
}

// The default data, by the methods that the others are measured with. The
// sampling has the seed of the default run, so the order is no chance.
func TestPosteriorSamplingIsBest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := do(t, "-method", "cps,pdm,prodigy,cop-ft")
	for _, f := range r.Methods[1:] {
		if f.Frechet <= r.Methods[0].Frechet || f.DTW <= r.Methods[0].DTW {
			t.Errorf("%+v is not worse than %+v", f, r.Methods[0])
		}
	}
}

// The first predictions are nearly flat, and more rows look tight than can be.
func TestFlatPredictions(t *testing.T) {
	if r := do(t, "-heldout", "20", "-bandwidth", "0.3", "-method", "cps", "-steps", "2"); r.Methods[0].Violation > 1e-6 {
		t.Errorf("%+v", r.Methods[0])
	}
}

func TestAllFeaturesAndBounds(t *testing.T) {
	r := do(t, slices.Concat(little, []string{"-features", strings.Join(featureNames[:6], ","), "-bounds", "volume=0:,close=1:1000", "-method", "cps", "-denoiser", "gaussian"})...)
	if f := r.Methods[0]; f.Violation > 1e-6 {
		t.Errorf("%+v", f)
	}
	r = do(t, slices.Concat(little, []string{"-features", "acf,mean", "-method", "cps", "-heldout", "3"})...)
	if f := r.Methods[0]; f.Violation > 0.005 { // of 0.01, half of which is in the limit
		t.Errorf("%+v", f)
	}
}

// The penalty of any schedule is strong enough at the end, a weak one is not; the
// autocorrelation has the lag that was asked for.
func TestPenaltiesAndLag(t *testing.T) {
	for gamma, holds := range map[string]bool{"exp": true, "linear": true, "quadratic": true, "0.001": false} {
		r := do(t, slices.Concat(little, []string{"-gamma", gamma, "-method", "cps", "-heldout", "3"})...)
		if f := r.Methods[0]; holds != (f.Violation <= 1e-3) {
			t.Errorf("-gamma %s: violation %v", gamma, f.Violation)
		}
	}
	r := do(t, slices.Concat(little, []string{"-features", "acf", "-lag", "2", "-method", "cps", "-heldout", "3"})...)
	if f := r.Methods[0]; f.Violation > 0.005 {
		t.Errorf("%+v", f)
	}
}

// Samples of retrieval are one window each, the nearest of many; those of cop are
// as many as are drawn, further away, and both keep the limits.
func TestTrainingWindowsProjected(t *testing.T) {
	r := do(t, slices.Concat(little, []string{"-samples", "3", "-method", "cop,retrieval"})...)
	cop, near := r.Methods[0], r.Methods[1]
	if cop.Violation > 1e-6 || near.Violation > 1e-6 || !(near.DTW < cop.DTW) {
		t.Errorf("%+v, %+v", cop, near)
	}
	if s := r.String(); !strings.Contains(s, "energy score") {
		t.Error(s)
	}
}

func TestImpute(t *testing.T) {
	r := do(t, slices.Concat(little, []string{"-impute", "-method", "cps,unconstrained"})...)
	cps, free := r.Methods[0], r.Methods[1]
	if cps.Violation > 1e-6 || !(cps.RMSE < free.RMSE) || !(cps.RMSE > 0) {
		t.Errorf("%+v, %+v", cps, free)
	}
	if !strings.Contains(r.String(), "RMSE") {
		t.Error(r.String())
	}
}

func TestOneMethodMayFail(t *testing.T) {
	var r report
	if r.excuse(context.Canceled) || !r.excuse(fmt.Errorf("cps: %w", &projection.NotConverged{Method: "proximal"})) {
		t.Error("only what does not converge is excused")
	}
	if !strings.Contains(r.String(), "failed: cps: proximal: residual") {
		t.Error(r.String())
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(do(t, slices.Concat(little, []string{"-method", "cps, cop-ft"})...))
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Methods []map[string]any }
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Methods) != 2 || got.Methods[1]["method"] != "cop-ft" {
		t.Fatalf("%s", b)
	}
	for _, key := range []string{"frechet", "dtw", "violation", "ms_per_sample"} {
		if _, ok := got.Methods[0][key].(float64); !ok {
			t.Errorf("no %q in %s", key, b)
		}
	}
}

func TestFiles(t *testing.T) {
	args := []string{"-length", "6", "-heldout", "4", "-steps", "5", "-method", "cps", "-csv"}
	r := do(t, append(args, write(t, walk(200, nil)))...)
	if !slices.Equal(r.Channels, []string{"1", "2"}) || r.OHLC {
		t.Errorf("%+v", r)
	}
	text := "day, price\n# a comment\n"
	for i, s := range strings.Fields(walk(200, nil)) {
		price, _, _ := strings.Cut(s, ",")
		text += fmt.Sprintf("day %d, %s\n", i, price)
	}
	if r := do(t, append(args, write(t, text), "-columns", "price")...); !slices.Equal(r.Channels, []string{"price"}) {
		t.Errorf("%+v", r)
	}
}

func TestErrorsAreClear(t *testing.T) {
	csv := func(rows int, lines map[int]string) []string {
		return []string{"-length", "6", "-heldout", "4", "-steps", "5", "-csv", write(t, walk(rows, lines))}
	}
	many := strings.Repeat("1,2\n2,2\n", 100)
	ohlc := "open,high,low,close\n1,3,0,2\n1,3,2,2\n"
	for want, args := range map[string][]string{
		"no such file":                               {"-csv", "missing.csv"},
		"line 5: wrong number of fields":             csv(200, map[int]string{4: "1,2,3"}),
		`line 3, column 2: "x" is not a number`:      csv(200, map[int]string{2: "1,x"}),
		"line 4, column 1: no number; -missing drop": csv(200, map[int]string{3: "NaN,1"}),
		"line 4, column 2: -Inf, want":               csv(200, map[int]string{3: "0,-Inf"}),
		"line 9, column 1: 1e999 is too large":       csv(200, map[int]string{8: "1e999,1"}),
		"line 7, column 2: no number":                csv(200, map[int]string{6: "1,"}),
		"no rows of numbers":                         csv(0, nil),
		"20 rows, too few to hold out 4 windows":     csv(20, nil),
		"numbers are too large":                      csv(200, map[int]string{5: "1e308,1"}),
		"column 2 is 2 on lines 1 … 200: a constant": {"-length", "6", "-heldout", "4", "-csv", write(t, many)},
		"line 3: open 1, high 3, low 2, close 2":     {"-csv", write(t, ohlc)},
		`no column "b"; there are open, high`:        {"-csv", write(t, ohlc), "-columns", "open,b"},
		`column "open" is asked for twice`:           {"-csv", write(t, ohlc), "-columns", "open,open"},
		"-columns = \"a\" without -csv":              {"-columns", "a"},
		"exclude each other":                         append([]string{"-bounds", "close=1:2"}, little...),
		"close between 5 and 4, want lower ≤ upper":  {"-bounds", "close=5:4"},
		"want channel=lower:upper":                   {"-bounds", "close"},
		`-bounds: no channel "c"`:                    {"-bounds", "c=1:2"},
		`parsing "x"`:                                {"-bounds", "close=x:2"},
		`no method "hmc"`:                            {"-method", "hmc"},
		`no feature "mode"`:                          {"-features", "mode"},
		`-denoiser = "net"`:                          {"-denoiser", "net"},
		"-steps = 0, want ≥ 1":                       {"-steps", "0"},
		"-heldout = 1, want ≥ 2":                     {"-heldout", "1"},
		"-bandwidth = NaN":                           {"-bandwidth", "NaN"},
		"-eta = 2":                                   {"-eta", "2"},
		"-weight = 0":                                {"-weight", "0"},
		"-lag = 24, want 1 … 23":                     {"-lag", "24"},
		`-gamma = "-1", want hard, exp`:              {"-gamma", "-1"},
		"unexpected argument":                        {"extra"},
	} {
		if _, err := try(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o, err := parse(little)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

// Windows for training share no row with those held out, and raw units are
// those of the file.
func TestCut(t *testing.T) {
	table := market(400, 3)
	c, err := cut(table, 10, 5, 1000, even, 1)
	if err != nil {
		t.Fatal(err)
	}
	free := len(c.training) / c.sites()
	// Every window held out takes 2·10 − 1 of the 391 places.
	if free != 391-5*19 || len(c.starts) != 5 {
		t.Errorf("%d windows for training, %v held out", free, c.starts)
	}
	for i, start := range c.starts {
		for k := range c.names {
			for j, v := range c.raw(c.window(c.held, i), k) {
				if want := table.at(start+j, k); math.Abs(v-want) > 1e-5*math.Abs(want) {
					t.Fatalf("window %d: %v, want %v", i, v, want)
				}
			}
		}
	}
}

func TestPictures(t *testing.T) {
	r := do(t, slices.Concat(little, []string{"-method", "cps,pdm", "-samples", "2", "-out", t.TempDir()})...)
	picturetest.Album(t, r.Figures(), "channels", "methods")
}

// Every line of a picture has a name of its own, also where real windows are a method, and
// a caption says what is there.
func TestPicturesSayWhatTheyShow(t *testing.T) {
	for samples, shaded := range map[string]bool{"1": false, "2": true} {
		r := do(t, slices.Concat(little, []string{"-method", "cps,real", "-samples", samples, "-out", t.TempDir()})...)
		for _, f := range r.Figures() {
			seen := map[string]bool{}
			for _, e := range f.Legend {
				if seen[e.Name] {
					t.Errorf("%s: %q twice", f.Name, e.Name)
				}
				seen[e.Name] = true
			}
		}
		if got := strings.Contains(r.Figures()[0].Caption, "Shaded"); got != shaded {
			t.Errorf("%s samples: shaded %t", samples, got)
		}
	}
}

// A run that is interrupted again and again ends with the figures of one that is
// not.
func TestResume(t *testing.T) {
	args := slices.Concat(little, []string{"-method", "cps,pdm"})
	whole := do(t, args...)
	r := checkpointtest.Interrupted(t, parse, run, args, "-seed", "2")
	for i, f := range r.Methods {
		w := whole.Methods[i]
		if f.Ms = w.Ms; f != w {
			t.Errorf("%+v, in one piece %+v", f, w)
		}
	}
}
