package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/document"
	"github.com/gibbsite-go/gibbsite/site/engine/lattice"
	"github.com/gibbsite-go/gibbsite/site/engine/minimum"
	"github.com/gibbsite-go/gibbsite/site/engine/pattern"
)

const (
	tree = `{"$ref":"#/$defs/t","$defs":{"t":{"type":"object","additionalProperties":false,"required":["n"],"properties":{"n":{"type":"integer","minimum":0,"maximum":9},"kids":{"type":"array","items":{"$ref":"#/$defs/t"}}}}}}`
	days = `(19|20)(0[48]|[2468][048]|[13579][26])-02-29`
)

// problems are files of every format that the tab reads.
var problems = map[string]string{
	"rudy":    "# a square\n4 4\n1 2\n2 3\n3 4 1\n4 1\n",
	"dimacs":  "c a square\np edge 4 4\ne 1 2\ne 2 3\ne 3 4\ne 4 1\n",
	"coo":     "0 0 -1\n0 1 2\n1 1 -3\n",
	"csv":     ",a,b\na,-1,2\nb,0,-3\n",
	"qubo":    "p qubo 0 2 2 1\n0 0 -1\n1 1 -3\n0 1 2\n",
	"bqm":     `{"type":"BinaryQuadraticModel","version":{"bqm_schema":"3.0.0"},"use_bytes":false,"index_type":"int32","bias_type":"float64","num_variables":2,"num_interactions":1,"variable_labels":["a","b"],"variable_type":"BINARY","offset":0,"info":{},"linear_biases":[-1,-3],"quadratic_biases":[2],"quadratic_head":[0],"quadratic_tail":[1]}`,
	"bqpjson": `{"version":"1.0.0","id":0,"metadata":{},"variable_ids":[0,1],"variable_domain":"boolean","scale":1,"offset":0,"linear_terms":[{"id":0,"coeff":-1},{"id":1,"coeff":-3}],"quadratic_terms":[{"id_head":1,"id_tail":0,"coeff":2}],"solutions":[]}`,
}

// shown is a setting of a tab.
type shown struct {
	tab  string
	args any
	// input is the text of the file that the program is given
	input string
	// want returns what the program prints, of which the tab's own calls are given the arguments
	want func(t *testing.T, e *engine.Engine, args string) string
}

// settings returns settings of every tab that has programs, with each choice of its form. The
// first of each tab's are those that the short form of the test takes.
func settings() []shown {
	var all []shown
	for i, method := range []string{"gibbs", "metropolis", "dmala", "gwg", "hammingball", "tempering", "sw", "wolff"} {
		for j, levels := range []int{2, 3} {
			l := lattice.Lattice{Levels: levels, Side: 4 + 4*(i%2), Method: method, Temperature: []float64{2.5, 1}[j], Field: 0.1 * float64(i%3), Seed: uint64(i)}
			all = append(all, shown{tab: "lattice", args: l, want: chains})
		}
	}
	for _, s := range []pattern.Pattern{
		{Pattern: days, Length: 10, Model: "uniform", Fixed: "···6"},
		{Pattern: `[A-Z][a-z]+ [A-Z][a-z]+`, Length: 16, UpTo: true, Model: "text"},
		{Pattern: `[A-Z][a-z]+ [A-Z][a-z]+`, Length: 16, UpTo: true, Model: "text", Fixed: "·e", Text: "Ada Byron\nGrace \"Hop\"\tper\r\n"},
		{Pattern: `[A-Z][a-z]+ [A-Z][a-z]+`, Length: 12, Model: "text", Fixed: "Ku"},
		{Pattern: `[a-zü]*`, Length: 1, Model: "text", Fixed: "ü"},
		{Pattern: `ATG([ACGT]{3})*(TAA|TAG|TGA)`, Length: 24, UpTo: true, Model: "uniform"},
		{Pattern: "[`\"\\\\\u00e4\u4e16]*", Length: 6, UpTo: true, Model: "uniform"},
		{Pattern: `(0|1(01*0)*1)+`, Length: 16, Model: "uniform"},
		{Pattern: `(?i)a.c|x{0,3}`, Length: 3, UpTo: true, Model: "text"},
		{Pattern: ``, Length: 2, UpTo: true, Model: "uniform"},
	} {
		s.Seed, s.Samples = 3, 24
		all = append(all, shown{tab: "strings", args: s, want: strung})
	}
	for _, s := range []document.Schema{
		{Schema: tree, Length: 60, Model: "text", Average: 40},
		{Schema: tree, Length: 60, Model: "uniform", Average: 40},
		{Schema: person, Length: 110, Model: "text", Average: 256},
		{Schema: person, Length: 110, Model: "uniform", Average: 256},
		{Schema: `{}`, Length: 12, Model: "text", Average: 16},
		{Schema: `{"type":["array","string"],"items":{"$ref":"#"}}`, Length: 20, Model: "text", Average: 4},
		{Schema: "{\"enum\": [\"`\", \"\u00e4\", null, 1.5]}", Length: 5, Model: "text", Average: 4},
		{Schema: `{"const": 1}`, Length: 2, Model: "uniform", Average: 4},
	} {
		s.Seed, s.Samples = 3, 6
		all = append(all, shown{tab: "json", args: s, want: written})
	}
	for format, text := range problems {
		for _, format := range []string{"", format} {
			all = append(all, shown{tab: "minimise", args: minimum.Problem{Text: text, Format: format, Seed: 1, Rounds: 4}, input: text, want: found})
		}
	}
	spins := "0 1 5\n1 2 -3\n0 2 1\n"
	return append(all, shown{tab: "minimise", args: minimum.Problem{Name: "a.txt", Text: spins, Format: "spins", Seed: 1, Rounds: 1}, input: spins, want: found})
}

func chains(t *testing.T, e *engine.Engine, args string) string {
	_, err := e.Call(t.Context(), "lattice/start", []byte(args))
	require.NoError(t, err)
	f, err := call[lattice.Frame](t, e, "lattice/run", `{"Steps":2000,"MS":1e9}`)
	require.NoError(t, err)
	require.Equal(t, 2000, f.DigestOf)
	return f.Digest + "\n"
}

func strung(t *testing.T, e *engine.Engine, args string) string {
	r, err := call[pattern.Strung](t, e, "strings", args)
	require.NoError(t, err, args)
	out := r.Count + " strings\n"
	for _, s := range r.Samples {
		out += strconv.Quote(s) + "\n"
	}
	return out
}

func written(t *testing.T, e *engine.Engine, args string) string {
	r, err := call[document.Written](t, e, "json", args)
	require.NoError(t, err, args)
	return strings.Join(r.Samples, "\n") + "\n"
}

func found(t *testing.T, e *engine.Engine, args string) string {
	s, err := call[minimum.SearchStarted](t, e, "minimise/start", args)
	require.NoError(t, err, args)
	var p minimum.Problem
	require.NoError(t, json.Unmarshal([]byte(args), &p))
	f, err := call[minimum.Found](t, e, "minimise/run", fmt.Sprintf(`{"Rounds":%d,"MS":1e9}`, p.Rounds))
	require.NoError(t, err, args)
	best := f.Energy
	if s.Cut {
		best = *f.Cut
	}
	return fmt.Sprintln(best, strings.Split(f.State, ""))
}

// The programs of "Same in Go" compile, and print what the tab shows. They become packages of one
// program here, so that the linker runs once.
func TestProgramsPrintWhatTabsShow(t *testing.T) {
	dir, err := os.MkdirTemp(".", "programs")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	var tried []shown
	of := map[string]int{}
	for _, s := range settings() {
		if of[s.tab]++; testing.Short() && of[s.tab] > 2 {
			continue
		}
		tried = append(tried, s)
	}
	imports, cases := "", ""
	for i, s := range tried {
		args, err := json.Marshal(s.args)
		require.NoError(t, err)
		program, err := call[string](t, whole(), s.tab+"/program", string(args))
		require.NoError(t, err, string(args))
		replace := func(old, new string) {
			require.Equal(t, 1, strings.Count(program, old), program)
			program = strings.Replace(program, old, new, 1)
		}
		if s.tab == "lattice" { // of its states the page shows a digest
			replace("fmt.Println(trace.Summary())", "if trace.Summary().String() == \"\" {\n\t\tlog.Fatal(\"no summary\")\n\t}\n\tfmt.Println(engine.Digest(chains.States()))")
			replace("import (\n", "import (\n\t\"github.com/gibbsite-go/gibbsite/site/engine\"\n")
		}
		replace("package main\n", fmt.Sprintf("package p%d\n", i))
		replace("func main() {", "func Main() {")
		write(fmt.Sprintf("p%d/main.go", i), program)
		imports += fmt.Sprintf("\tp%d %q\n", i, "github.com/gibbsite-go/gibbsite/site/engine/"+filepath.Base(dir)+"/p"+strconv.Itoa(i))
		cases += fmt.Sprintf("\tcase \"%d\":\n\t\tp%d.Main()\n", i, i)
	}
	write("main.go", "package main\n\nimport (\n\t\"os\"\n"+imports+")\n\nfunc main() {\n\tn := os.Args[1]\n\tos.Args = os.Args[1:]\n\tswitch n {\n"+cases+"\t}\n}\n")
	binary := filepath.Join(t.TempDir(), "programs")
	out, err := exec.Command("go", "build", "-o", binary, "./"+filepath.Base(dir)).CombinedOutput()
	require.NoError(t, err, string(out))
	for i, s := range tried {
		args, err := json.Marshal(s.args)
		require.NoError(t, err)
		input := filepath.Join(t.TempDir(), "input")
		require.NoError(t, os.WriteFile(input, []byte(s.input), 0o644))
		out, err := exec.Command(binary, strconv.Itoa(i), input).CombinedOutput()
		assert.NoError(t, err, "%s %s: %s", s.tab, args, out)
		assert.Equal(t, s.want(t, whole(), string(args)), string(out), "%s %s", s.tab, args)
	}
}
