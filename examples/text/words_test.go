package main

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// Every option together with a pattern: all samples, and every demand by itself,
// judged by rules that are written down here again.
func TestWordsRun(t *testing.T) {
	list := file(t, "user anna ben clara logged in out was refused\nat a to ms it\n")
	dump := t.TempDir() + "/samples"
	r := do(t, small("-words", "4-6", "-word-lengths", "2-6", "-characters", "20-32", "-sentences", "2", "-at", "1=anna|ben,3=in", "-last", "ms|out",
		"-list", list, "-regex", "a.*[.] ?[a-z].*", "-dump", dump)...)
	if len(r.Runs) != 2 || r.Runs[0].Name != "free" || r.Runs[1].Name != "words" {
		t.Fatalf("%+v", r.Runs)
	}
	f := r.Runs[1]
	if f.Violations != 0 || len(f.Samples) != 5 || len(f.Parts) != 9 || f.Parts[7].Constraint != "-last ms|out" || f.Parts[8].Constraint != "-regex a.*[.] ?[a-z].*" {
		t.Errorf("%+v", f)
	}
	for _, s := range f.Samples {
		words := strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(` ,.;:!?"()`, c) })
		n := len(words)
		if n < 4 || n > 6 || len(s) < 20 || len(s) > 32 || words[0] != "anna" || words[2] != "in" || !slices.Contains([]string{"ms", "out"}, words[n-1]) || s[0] != 'a' || !strings.ContainsAny(s[len(s)-3:], ".!?") {
			t.Errorf("%q", s)
		}
		for _, w := range words {
			if len(w) < 2 || len(w) > 6 || !strings.Contains("user anna ben clara logged in out was refused at a to ms it", w) {
				t.Errorf("%q: %q", s, w)
			}
		}
	}
	for _, p := range f.Parts {
		if p.Violations != 0 {
			t.Errorf("%+v", p)
		}
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"parts":[{"constraint":"-words 4…6","violations":0}`) {
		t.Errorf("%s, %v", b, err)
	}
	if !strings.Contains(r.String(), "  0 of 5 break -sentences 2\n") {
		t.Error(r)
	}
}

// The judge of every demand and its language agree on random lines, of which some
// are in and some are out.
func TestJudgesAgreeWithLanguages(t *testing.T) {
	o, err := parse([]string{"-words", "2-4", "-characters", "-9", "-sentences", "1-2", "-word-lengths", "1-3", "-list", file(t, "a bb a.b é b"), "-separators", " ",
		"-at", "2=a|bb,-2=b", "-last", "a", "-regex", "a.*"})
	if err != nil {
		t.Fatal(err)
	}
	v := text.Bytes()
	all, err := o.demands(t.Context(), v, o.regex)
	if err != nil || len(all) != 9 {
		t.Fatal(len(all), err)
	}
	pieces := []string{"a", "bb", "b", " ", " ", ".", "!", ") ", "é", "a.b", "\xff", "a "}
	in, out := make([]int, len(all)), make([]int, len(all))
	r := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		s := ""
		for range r.IntN(8) {
			s += pieces[r.IntN(len(pieces))]
		}
		x := make([]int32, len(s))
		for i := range x {
			x[i] = int32(s[i])
		}
		for i, d := range all {
			if constraint.Accepts(d.language, x) != d.holds(s) {
				t.Fatalf("%s: %q: the judge says %v", d.name, s, d.holds(s))
			}
			if d.holds(s) {
				in[i]++
			} else {
				out[i]++
			}
		}
	}
	for i, d := range all {
		if in[i] < 20 || out[i] < 20 {
			t.Errorf("%s: %d in, %d out: the test is weak", d.name, in[i], out[i])
		}
	}
}

func TestErrorsOfWords(t *testing.T) {
	for want, args := range map[string][]string{
		`-words = "9-2", want the lower number first`:                               {"-words", "9-2"},
		`-words = "3-0", want the lower number first`:                               {"-words", "3-0"},
		`-words = "5-x", want 0 … 1024`:                                             {"-words", "5-x"},
		`-characters = "1025", want 0 … 1024`:                                       {"-characters", "1025"},
		`-sentences = "-", want a number`:                                           {"-sentences", "-"},
		`-word-lengths = "1-2-3", want 0 … 1024`:                                    {"-word-lengths", "1-2-3"},
		`-at = "the", "the" in it: want the number of a word`:                       {"-at", "the"},
		`-at = "0=a", "0=a" in it: want the number of a word, 1 … 1024 or −1 … −16`: {"-at", "0=a"},
		`-at = "1=a|", "1=a|" in it: want words`:                                    {"-at", "1=a|"},
		`-at: the word "a.b" has the separator "." in it`:                           {"-at", "1=a.b"},
		`-last: the word "a b" has the separator " "`:                               {"-last", "a b"},
		`-separators = ""`:                                                          {"-separators", ""},
		`-separators: 'é', want ASCII characters`:                                   {"-separators", "é"},
		`-run words, want an option of it`:                                          {"-run", "words"},
		`options of the words run, want words among the runs`:                       {"-run", "free", "-words", "2"},
		`-list: open nowhere`:                                                       {"-list", "nowhere"},
		`-list`:                                                                     {"-list", file(t, " \n")},
		`no line of at most 48 bytes has -words 3 and -at 5=the together`:           {"-words", "3", "-at", "5=the", "-characters", "9-40"},
		`no line of at most 20 bytes has -characters ≥ 21`:                          {"-characters", "21-", "-length", "20"},
		`has -last end and -regex [a-z ]*x together`:                                {"-last", "end", "-regex", "[a-z ]*x", "-words", "2-3"},
		`no line of at most 48 bytes has -words 0 and -sentences ≥ 1 together`:      {"-words", "0", "-sentences", "1-", "-word-lengths", "2", "-separators", " "},
		"-regex": {"-words", "2", "-regex", "("},
	} {
		if _, err := try(args...); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
