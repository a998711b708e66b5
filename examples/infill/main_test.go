package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
	"github.com/gibbsite-go/gibbsite/projection"
)

func do(t *testing.T, args ...string) *report {
	t.Helper()
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNothingIsViolated(t *testing.T) {
	r := do(t, "-n", "200", "-out", t.TempDir())
	picturetest.Album(t, r.Figures(), "violations")
	if len(r.Records) != len(shown) {
		t.Fatalf("%d records", len(r.Records))
	}
	for _, f := range r.Records {
		if f.Violations != 0 {
			t.Errorf("%s: %d violations", f.Record, f.Violations)
		}
		if f.Unconstrained < f.N*9/10 {
			t.Errorf("%s: without the constraint only %d violations: the judge is blind", f.Record, f.Unconstrained)
		}
		// Of 37ᵇ ways to fill b blanks, the valid ones.
		want := math.Log(float64(f.Completions.Int64())) - float64(f.Blanks)*math.Log(37)
		if math.Abs(f.LogProbability-want) > 1e-6*math.Abs(want) {
			t.Errorf("%s: log-probability %v, want %v", f.Record, f.LogProbability, want)
		}
		for _, s := range f.Samples {
			for i, c := range f.Record {
				if c != blank && byte(c) != s[i] {
					t.Errorf("%s became %s", f.Record, s)
				}
			}
		}
	}
}

// The language of a format has every record that its judge accepts, and no
// other: all ways to fill two or three blanks, one after the other.
func TestLanguagesAgreeWithTheJudges(t *testing.T) {
	for format, records := range map[string][]string{
		"date":  {"19_0-02-_9", "2000-0_-3_", "000_-01-0_", "2_23-_2-29", "1900-02-2_"},
		"plate": {"SG_230_R", "S__2306R", "SGF2306_", "_GF230_R"},
		"iban":  {"DE__370400440532013000", "GB__WEST12345698765432", "GB82_ES_12345698765432", "NO938601111794_", "NL_1ABNA04171643_0"},
	} {
		for _, record := range records {
			language, err := builders[format](context.Background(), record)
			if err != nil {
				t.Fatal(err)
			}
			for s := range fillings(record) {
				x, _, _ := tokens(s + "_")
				if got, want := constraint.Accepts(language, x[:len(s)]), judges[format](s); got != want {
					t.Errorf("%s %s: the language says %v, the judge %v", format, s, got, want)
				}
			}
		}
	}
}

// fillings yields all ways to fill the blanks of a record.
func fillings(record string) func(func(string) bool) {
	return func(yield func(string) bool) {
		var fill func(s string) bool
		fill = func(s string) bool {
			i := strings.IndexByte(s, blank)
			if i < 0 {
				return yield(s)
			}
			for _, c := range alphabet {
				if !fill(s[:i] + string(c) + s[i+1:]) {
					return false
				}
			}
			return true
		}
		fill(record)
	}
}

func TestJudgesKnowPublishedRecords(t *testing.T) {
	for format, records := range map[string][]string{
		"date":  {"2000-02-29", "1996-02-29", "2023-12-31"},
		"plate": {"SBS9683X", "SGF2306R", "SGM6322E", "SJK6655U", "SHA9587P", "SHB1703T", "SGA4137A"},
		"iban":  {"DE89370400440532013000", "GB82WEST12345698765432", "NL91ABNA0417164300", "NO9386011117947"},
	} {
		for _, s := range records {
			if !judges[format](s) {
				t.Errorf("%s %s is valid", format, s)
			}
			last := byte('0' + (s[len(s)-1]-'0'+1)%10)
			if wrong := s[:len(s)-1] + string(last); format != "date" && judges[format](wrong) {
				t.Errorf("%s %s is not valid", format, wrong)
			}
		}
	}
	for _, s := range []string{"1900-02-29", "2023-02-29", "2023-04-31", "0000-01-01"} {
		if validDate(s) {
			t.Errorf("%s is not a date", s)
		}
	}
}

// With the constraint, all valid completions are equally likely: chi-squared, one
// run in a million fails. Samples that favour the first character do.
func TestCompletionsAreUniform(t *testing.T) {
	const n = 4000
	x, _, err := tokens("20_4-0_-_9")
	if err != nil {
		t.Fatal(err)
	}
	language, err := builders["date"](context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := fill(context.Background(), x, projection.Path{Language: language}, options{n: n, seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for s := range fillings("20_4-0_-_9") {
		if validDate(s) {
			all = append(all, s)
		}
	}
	limit := distuv.ChiSquared{K: float64(len(all) - 1)}.Quantile(1 - 1e-6)
	if got := chiSquared(samples, all); got > limit {
		t.Errorf("chi-squared %v, want ≤ %v", got, limit)
	}
	for i := range samples {
		if i%5 == 0 {
			samples[i] = all[0]
		}
	}
	if got := chiSquared(samples, all); got <= limit {
		t.Errorf("chi-squared %v of biased samples, want > %v", got, limit)
	}
}

func chiSquared(samples, all []string) float64 {
	count := make(map[string]int)
	for _, s := range samples {
		count[s]++
	}
	expected, sum := float64(len(samples))/float64(len(all)), 0.0
	for _, s := range all {
		d := float64(count[s]) - expected
		sum += d * d / expected
		delete(count, s)
	}
	if len(count) > 0 {
		return math.Inf(1)
	}
	return sum
}

func TestDigitsAddUp(t *testing.T) {
	r := do(t, "-format", "iban", "-record", "NL__ABNA041716____", "-digitsum", "50", "-n", "50")
	for _, s := range r.Records[0].Samples {
		if sumOfDigits(s) != 50 || !validIBAN(s) {
			t.Errorf("%s", s)
		}
	}
	if r.Records[0].Violations != 0 {
		t.Errorf("%+v", r.Records[0])
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		"unexpected argument":             {"extra"},
		"-n = 0":                          {"-n", "0"},
		"-digitsum = -5":                  {"-digitsum", "-5"},
		"needs -format":                   {"-record", "2000-01-__"},
		`no format "time"`:                {"-format", "time"},
		"no _ to fill":                    {"-format", "date", "-record", "2000-01-01"},
		`character 5 is '/'`:              {"-format", "date", "-record", "2000/01-__"},
		`country "FR"`:                    {"-format", "iban", "-record", "FR__"},
		"the format at site 10":           {"-format", "date", "-record", "2023-02-2_", "-digitsum", "2"},
		"no sequence satisfies":           {"-format", "date", "-record", "2000-13-__"},
		"the format at site 0: no sequen": {"-format", "plate", "-record", "X_______"},
	} {
		o, err := parse(args)
		if err == nil {
			_, err = run(context.Background(), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	o, _ := parse([]string{"-format", "date", "-record", "2000-13-__"})
	if _, err := run(context.Background(), o); !errors.Is(err, constraint.ErrInfeasible) {
		t.Errorf("%v does not wrap ErrInfeasible", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := run(ctx, options{n: 1, digitSum: -1}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

func TestOutput(t *testing.T) {
	r := do(t, "-format", "plate", "-n", "20")
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		N       int
		Records []map[string]any
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"format", "record", "blanks", "completions", "log_probability", "n", "unique", "violations", "violations_unconstrained", "seconds", "samples"} {
		if _, ok := got.Records[0][key]; !ok {
			t.Errorf("no %q in %s", key, b)
		}
	}
	if got.N != 20 || len(got.Records) != 2 {
		t.Errorf("%s", b)
	}
	for _, want := range []string{r.Exact, "exact: ", "valid completions", "S__9683X", "S__9683X: S"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, r)
		}
	}
}
