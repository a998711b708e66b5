package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// small has three shifts and three nurses; Ben cannot come at night.
const small = "shift,night,need,Ana,Ben,Cleo\none,0,2,-1,0,0.5\ntwo,1,1,-1,,1\nthree,0,1,-0.5,0.5,0\n"

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

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shifts.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// uneven is small without nights, and with Ana, who would rather work always.
const uneven = "shift,night,need,Ana,Ben,Cleo\none,0,2,-3,0,0.5\ntwo,0,1,-3,,1\nthree,0,1,-2.5,0.5,0\n"

// Spreadsheets begin a file with a byte-order mark, and end lines with two bytes.
func TestRosterFromASpreadsheet(t *testing.T) {
	r, err := scan(strings.NewReader("\ufeff\"shift\"" + strings.ReplaceAll(strings.TrimPrefix(small, "shift"), "\n", "\r\n")))
	if err != nil {
		t.Fatal(err)
	}
	if plain, _ := scan(strings.NewReader(small)); !reflect.DeepEqual(r, plain) {
		t.Errorf("%+v, want %+v", r, plain)
	}
}

// The language and the energies against counting.
func TestRosterByEnumeration(t *testing.T) {
	r, err := scan(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	language, err := r.language(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.model(0.7)
	if err != nil {
		t.Fatal(err)
	}
	all, e := exact.States(9, 2), exact.Energies(m)
	legal := 0
	for k, x := range all {
		if constraint.Accepts(language, x) != r.meets(x) {
			t.Fatalf("%v: the language says %v", x, !r.meets(x))
		}
		if r.meets(x) {
			legal++
		}
		want := 0.0
		for s := range 3 {
			for i := range 3 {
				if v := r.shifts[s].cost[i]; x[3*s+i] == 1 && !math.IsInf(v, 1) {
					want += v
				}
				if s > 0 && x[3*s+i] == 1 && x[3*s+i-3] == 1 {
					want += 0.7
				}
			}
		}
		if math.Abs(e[k]-want) > 1e-12 {
			t.Fatalf("%v: energy %v, want %v", x, e[k], want)
		}
	}
	if legal != 3*2*3 {
		t.Errorf("%d rosters, want 18", legal)
	}
}

// Means, and the price of limits on each roster, against sums over the 18.
func TestAgreesWithEnumeration(t *testing.T) {
	r := do(t, "-csv", write(t, uneven), "-slack", "0.5", "-chains", "64", "-steps", "400", "-draws", "1000")
	o, _ := parse([]string{"-csv", write(t, uneven), "-slack", "0.5"})
	s, err := newStudy(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	e := exact.Energies(s.base)
	law := func(lambda bool) (z, each float64, means []float64) {
		means = make([]float64, len(s.limits))
		for k, x := range exact.States(9, 2) {
			if !s.meets(x) {
				continue
			}
			h, fair := e[k], 1.0
			g := make([]float64, len(s.limits))
			s.violations(g, s.limits, x)
			for j, v := range g {
				if lambda {
					h += r.Constraints[j].Lambda * v
				}
				if v > 0 {
					fair = 0
				}
			}
			w := math.Exp(-h)
			z += w
			each += fair * math.Exp(-e[k])
			for j, l := range s.limits {
				means[j] += w * (g[j] + l.most)
			}
		}
		for j := range means {
			means[j] /= z
		}
		return z, each, means
	}
	z0, each, before := law(false)
	z, _, after := law(true)
	kl := -math.Log(z / z0)
	for j, c := range r.Constraints {
		// Five standard errors: one in a million fails for normal errors.
		if d := math.Abs(c.Mean - after[j]); d > 5*c.MCSE+1e-9 {
			t.Errorf("%s: mean %v ± %v, want %v", c.Name, c.Mean, c.MCSE, after[j])
		}
		if math.Abs(c.Before-before[j]) > 0.05 {
			t.Errorf("%s: mean %v before, want %v", c.Name, c.Before, before[j])
		}
		kl -= c.Lambda * (after[j] - c.Limit)
	}
	if r.Violations != 0 || r.Residual > 0.1 || math.Abs(r.Nats-kl) > 5*r.NatsSE+0.05 {
		t.Errorf("violations %d, residual %v, nats %v ± %v, want %v", r.Violations, r.Residual, r.Nats, r.NatsSE, kl)
	}
	if r.Constraints[0].Lambda < 0.5 || r.Constraints[0].Before < 2.5 {
		t.Errorf("Ana's limit does not bind: %+v", r.Constraints[0])
	}
	want := -math.Log(each / z0)
	if math.Abs(*r.NatsEach-want) > 5**r.EachSE+0.05 {
		t.Errorf("each: %v, want %v", *r.NatsEach, want)
	}
}

// Few steps do not do: rounds go on until the certificate holds. A twin that may
// not go on warns.
func TestRunsUntilTheCertificateHolds(t *testing.T) {
	args := []string{"-csv", write(t, uneven), "-slack", "0.5", "-chains", "16", "-steps", "10", "-draws", "40"}
	r := do(t, append(args, "-rounds", "10", "-tol", "0.02")...)
	if !r.Certified || r.Rounds < 2 || r.Steps <= 10 || r.Warning != "" || !strings.Contains(r.String(), "no mean is more than 0.02, or a hundredth of its limit, above") {
		t.Errorf("rounds %d, steps %d:\n%s", r.Rounds, r.Steps, r)
	}
	for _, c := range r.Constraints {
		if c.Mean+2*c.MCSE > c.Limit+r.Tol {
			t.Errorf("%s: mean %v ± %v, the limit is %v", c.Name, c.Mean, c.MCSE, c.Limit)
		}
	}
	r = do(t, append(args, "-rounds", "1", "-tol", "0.001")...)
	if r.Certified || r.Rounds != 1 || r.Steps != 10 || !strings.Contains(r.String(), "WARNING: the certificate does not hold within 0.001 after 1 rounds") {
		t.Errorf("a warning is missing:\n%s", r)
	}
}

// The judge of shifts does not look at the language.
func TestMeets(t *testing.T) {
	r, err := scan(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"110100001": true, "111100001": false, "110010001": false, "110000001": false} {
		x := make([]int32, 9)
		for i := range x {
			x[i] = int32(text[i] - '0')
		}
		if r.meets(x) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

func TestDefaults(t *testing.T) {
	r := do(t, "-chains", "16", "-steps", "100", "-draws", "50", "-out", t.TempDir())
	if r.Nurses != 8 || r.Shifts != 14 || len(r.Constraints) != 16 || r.Violations != 0 || !(r.Nats > 0) {
		t.Errorf("%+v", r)
	}
	picturetest.Album(t, r.Figures(), "course", "means")
	if text := r.String(); !strings.Contains(text, "rosters with a wrong shift: 0") || !strings.Contains(text, "on each roster") || !strings.Contains(text, r.Exact) {
		t.Error(text)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{`"constraints":[{"name":"Ana shifts"`, `"lambda":`, `"mcse":`, `"violations":0`, `"course":`, `"exact":"the chains have`} {
		if !strings.Contains(string(b), key) {
			t.Errorf("no %s in %s", key, b)
		}
	}
}

func TestErrorsAreClear(t *testing.T) {
	head := "shift,night,need,Ana,Ben\n"
	for want, text := range map[string]string{
		"line 1: empty":                           "",
		`line 1: header "a,b"`:                    "a,b\n",
		"line 2: no shifts":                       head,
		`line 2: night = "x"`:                     head + "s,x,1,0,0\n",
		`line 3: need = "2", want 0 to 1`:         head + "s,0,1,0,0\nt,0,2,0,\n",
		`line 2: Ben: "z", want a number`:         head + "s,0,1,0,z\n",
		`line 2: Ana: "1e9"`:                      head + "s,0,1,1e9,0\n",
		"line 3: wrong number of fields":          head + "s,0,1,0,0\ns,0,1,0\n",
		`line 2: need = "-1", want 0 to 2, the n`: head + "s,0,-1,0,0\n",
	} {
		o, err := parse([]string{"-csv", write(t, text)})
		if err == nil {
			_, err = run(context.Background(), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that contains %q", text, err, want)
		}
	}
	for want, args := range map[string][]string{
		"no such file":        {"-csv", "missing.csv"},
		"-slack = NaN":        {"-slack", "NaN"},
		"-tired = +Inf":       {"-tired", "Inf"},
		"-chains = 1":         {"-chains", "1"},
		"-rounds = 0":         {"-rounds", "0"},
		"-tol = NaN":          {"-tol", "NaN"},
		"unexpected argument": {"extra"},
		"raise -slack":        {"-csv", write(t, head+"s,0,1,0,\nt,0,1,0,0\nu,0,1,0,\n"), "-slack", "0"},
	} {
		o, err := parse(args)
		if err == nil {
			_, err = run(context.Background(), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(small)
	f.Add("shift,night,need,a,b\nx,1,0,,\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := scan(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, s := range r.shifts {
			if len(s.cost) != len(r.nurses) || s.need > len(s.cost) {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A run that is interrupted again and again, in every phase, ends with the report of
// one that is not.
func TestResume(t *testing.T) {
	args := []string{"-csv", write(t, uneven), "-chains", "16", "-steps", "60", "-draws", "40", "-rounds", "2", "-tol", "0.001", "-slack", "0.5"}
	whole := do(t, args...)
	r := checkpointtest.Interrupted(t, parse, run, args, "-seed", "2")
	want, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s\nin one piece\n%s", got, want)
	}
	if whole.Rounds != 2 {
		t.Errorf("%d rounds, want 2: the test shows less", whole.Rounds)
	}
}

// Exchanges leave the distribution as it is, by enumeration of the 18 rosters, report the
// energy of the state, and start where shifts have what they need.
func TestExchange(t *testing.T) {
	r, err := scan(strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.model(0.7)
	if err != nil {
		t.Fatal(err)
	}
	var legal [][]int32
	var weight []float64
	sum := 0.0
	for k, x := range exact.States(9, 2) {
		if r.meets(x) {
			w := math.Exp(-exact.Energies(m)[k])
			legal, weight = append(legal, x), append(weight, w)
			sum += w
		}
	}
	index := func(x []int32) int {
		return slices.IndexFunc(legal, func(y []int32) bool { return slices.Equal(x, y) })
	}
	for _, apart := range []bool{false, true} {
		var way sampler.Method = exchange{r, 0.7}
		if apart {
			way = swapping{exchange{r, 0.7}}
		}
		const chains, draws = 256, 400
		seen := make([]float64, len(legal))
		start := r.starts(chains, 3)
		for s := range chains {
			if index(start[9*s:9*s+9]) < 0 {
				t.Fatalf("a start at %v", start[9*s:9*s+9])
			}
		}
		c, err := sampler.NewChains(t.Context(), m, way, sampler.Config{Chains: chains, Init: start, Warmup: 20, Workers: 1, Observe: func(_, _ int, x []int32, info *sampler.Info) {
			seen[index(x)]++
			var e [1]float64
			if m.Energy(e[:], x); math.Abs(e[0]-info.Energy) > 1e-9 {
				t.Errorf("energy %v, want %v", info.Energy, e[0])
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), draws); err != nil {
			t.Fatal(err)
		}
		for k, w := range weight {
			p := w / sum
			// Five standard errors of draws of which a tenth are independent.
			if got := seen[k] / (chains * draws); math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/(chains*draws/10)) {
				t.Errorf("roster %v: %v, want %v", legal[k], got, p)
			}
		}
	}
	if _, err := (exchange{r, 0}).Kernel(t.Context(), nothing{}, 2); err == nil {
		t.Error("a model without differences is no error")
	}
}

// swapping has pairs change places in every shift.
type swapping struct{ exchange }

func (w swapping) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	k, err := w.exchange.Kernel(ctx, m, chains)
	if err != nil {
		return nil, err
	}
	k.(*exchanges).reach = -1
	return k, nil
}

// The file of the README is four weeks of shifts, and starts give every shift what it needs.
func TestMonth(t *testing.T) {
	r, err := load("month.csv", 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.nurses) != 20 || len(r.shifts) != 84 {
		t.Errorf("%d nurses and %d shifts", len(r.nurses), len(r.shifts))
	}
	for x := range slices.Chunk(r.starts(3, 1), r.sites()) {
		if !r.meets(x) {
			t.Error("a start does not meet the shifts")
		}
	}
}

// Costs beyond what weights can express are exchanged in pairs: the nurses who cost 1000
// never work where others can.
func TestCostsFarApart(t *testing.T) {
	r := do(t, "-csv", write(t, "shift,night,need,Ana,Ben,Cleo\none,0,2,-1000,1000,-1000\ntwo,0,1,-1000,,1000\n"), "-slack", "2", "-steps", "50", "-draws", "50", "-rounds", "1")
	if r.Violations != 0 || r.Average == nil || math.Abs(*r.Average+2999) > 1e-9 {
		t.Errorf("%+v", r)
	}
}

// nothing is a model that knows energies alone.
type nothing struct{}

func (nothing) Shape() (sites, levels int)    { return 9, 2 }
func (nothing) Energy(e []float64, _ []int32) { clear(e) }
