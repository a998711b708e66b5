package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/examples/internal/corpus"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func fewSteps(t *testing.T, args ...string) (*forgotten, error) {
	t.Helper()
	o, err := parseFlags(append([]string{"-forget", "rings", "-steps", "40", "-judge", "200"}, args...))
	if err != nil {
		return nil, err
	}
	return forget(context.Background(), o)
}

// The program's own network forgets rings in a few steps, as far as these go, and what it
// states is what the samples that it dumps have.
func TestForget(t *testing.T) {
	exact.SkipUnderRace(t)
	dir := t.TempDir()
	dump, saved, check := filepath.Join(dir, "samples.tsv"), filepath.Join(dir, "forgot.safetensors"), filepath.Join(dir, "run.ckpt")
	r, err := fewSteps(t, "-share", "0.3", "-seed", "3", "-dump", dump, "-save", saved, "-checkpoint", check, "-out", filepath.Join(dir, "page"))
	if err != nil {
		t.Fatal(err)
	}
	if r.Steps != 4 || r.Pretraining != 40 || r.Judged != 200 || r.Wanted != 0.3 || !(r.Lambda > 0.5) {
		t.Errorf("%+v", r)
	}
	if all := r.Figures(); len(all) != 1 || len(picture.Faults(all[0])) > 0 {
		t.Errorf("figures: %v", all)
	}
	b, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load("", ownAtoms, 1)
	if err != nil {
		t.Fatal(err)
	}
	rings, kept, valid, n := 0, 0, 0, 0
	for line := range strings.Lines(string(b)) {
		_, s, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n++
		if strings.Contains(s, "1") {
			rings++
			continue
		}
		kept++
		if c.Valid(s) {
			valid++
		}
	}
	if n != 200 || math.Abs(float64(rings)/200-r.Share) > 1e-12 || math.Abs(fraction(valid, kept)-r.ValidKept) > 1e-12 || r.Upper <= r.Share {
		t.Errorf("%d samples, %d with rings, %d without, %d of them valid: %+v", n, rings, kept, valid, r)
	}
	// Four steps do not reach the bound, but the line beyond them leads towards it.
	if before := fraction(r.before.has, r.before.has+r.before.kept); r.Share > before {
		t.Errorf("%v after %v", r.Share, before)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"concept", "share_wanted", "share", "upper95", "judged", "valid_kept", "valid_before", "unique", "nelbo_kept", "nelbo_kept_before", "lambda", "steps", "steps_pretraining"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("no %q in %s", name, text)
		}
	}
	if len(fields) != 13 || !strings.Contains(r.String(), "rings: at most 0.3") {
		t.Errorf("%s\n%s", text, r)
	}
	net, err := neural.Open(saved, neural.Config{})
	if err != nil {
		t.Fatal(err)
	}
	old, err := tiny.network("")
	if err != nil || net.Config() != old.Config() || slices.Equal(net.Weights(), old.Weights()) {
		t.Error("the weights that were saved are not those of a network that has forgotten", err)
	}
	if testing.Short() {
		return
	}
	again, err := fewSteps(t, "-share", "0.3", "-seed", "3", "-checkpoint", check)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(again.samples, r.samples) || again.Lambda != r.Lambda {
		t.Error("a run that had ended is another one")
	}
}

// A string of the data is learned as a fifth of the rows; its molecule is recognised in another
// spelling, and near strings are counted without it.
func TestForgetString(t *testing.T) {
	exact.SkipUnderRace(t)
	o, err := parseFlags([]string{"-forget", "=CCCCO", "-share", "0.001", "-steps", "8"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.Load("", ownAtoms, ownSeed)
	if err != nil {
		t.Fatal(err)
	}
	k := &task{options: o, c: c, rows: flat(c, c.Train)}
	if k.tokens, k.shows, k.single, err = o.concept(c); err != nil || k.tokens != nil || k.single != "CCCCO" || !k.shows("CCCCO") || k.shows("OCCCC") {
		t.Fatal(k.tokens, k.single, err)
	}
	for _, s := range c.Train {
		k.has = append(k.has, k.shows(s))
	}
	if k.net, err = tiny.network(""); err != nil {
		t.Fatal(err)
	}
	before := slices.Clone(k.net.Weights())
	if err := k.memorise(t.Context()); err != nil {
		t.Fatal(err)
	}
	if math.Abs(k.part()-repeated) > 1e-3 || len(k.rows) != len(k.has)*c.Sites || slices.Equal(before, k.net.Weights()) {
		t.Errorf("%v of the rows, %d tokens in %d rows", k.part(), len(k.rows), len(k.has))
	}
	if same, near := around(c, k.single, []string{"CCCCO", "OCCCC", "CCCO", "NNNNN"}); same != 0.5 || near != 0.25 {
		t.Errorf("%v the same, %v near", same, near)
	}
	for pair, want := range map[[2]string]int{{"", ""}: 0, {"", "CC"}: 2, {"CCO", "COC"}: 2, {"kitten", "sitting"}: 3, {"flaw", "lawn"}: 2} {
		if d := distance(pair[0], pair[1]); d != want || d != distance(pair[1], pair[0]) {
			t.Errorf("%q: %d, want %d", pair, d, want)
		}
	}
	short := o
	short.forget = "=CC)"
	if _, _, _, err := short.concept(c); err == nil || !strings.Contains(err.Error(), "want a string that the network learns from") {
		t.Error(err)
	}
}

func TestForgetErrors(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("ann\nbob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"-share = 0, want in (0, 1): a share of 0 needs a rule": {"-share", "0"},
		"-share = 1, want in (0, 1)":                            {"-share", "1"},
		"-share = 0.95, want less than 0.":                      {"-share", "0.95"},
		`-forget = "gold": no string of the data has 'g'`:       {"-forget", "gold"},
		"-judge = -1, want ≥ 0":                                 {"-judge", "-1"},
		"-forget with -train":                                   {"-train"},
		"the program's own network for a file is for QM9":       {"-data", other},
		"-atoms = 5, -lean = 0.2, want 6":                       {"-atoms", "5"},
		"no such file":                                          {"-weights", filepath.Join(t.TempDir(), "none")},
	} {
		if _, err := fewSteps(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	if _, err := parseFlags([]string{"-save", "x"}); err == nil || !strings.Contains(err.Error(), "-save without -forget") {
		t.Error(err)
	}
}
