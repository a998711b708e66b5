// Command figures compares the tables of documents with the output of programs. A comment before a
// table names the command, without "go run", that prints the table's figures:
//
//	<!-- figures: -C examples ./infill -json -->
//
// A table may have several such comments. All figures of a row must occur on one line of the
// commands' output, rounded to the digits shown. The first column is exempt, as are columns of
// times and of other people's results. In a transposed table, the figures of every column must
// occur on one line instead. If the comment begins with "figures anywhere:", they may come from
// different lines. Percentages also match fractions of 1. Commands marked "nightly figures:" take
// longer than a minute and run only with -nightly.
//
//	go run ./internal/tools/figures [-nightly] [-run regexp] file ...
//
// It prints the result for every table. It fails if a figure differs or a table has no command,
// unless a comment gives a reason: <!-- no figures: reason -->.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

func main() {
	log.SetFlags(0)
	nightly := flag.Bool("nightly", false, "run the long commands, too")
	only := flag.String("run", "", "run only commands that match this `regexp`")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal(err)
	}
	byFile := map[string][]table{}
	turn := make(chan struct{}, runtime.GOMAXPROCS(0)) // many commands keep one processor busy
	out := outputs{known: map[string]func() ([][]float64, error){}, run: func(command string) ([]byte, error) {
		turn <- struct{}{}
		defer func() { <-turn }()
		return run(command)
	}}
	wanted := func(t table) bool {
		return t.reason == "" && (!t.nightly || *nightly) && pattern.MatchString(strings.Join(t.commands, "\n"))
	}
	for _, name := range flag.Args() {
		text, err := os.ReadFile(name)
		if err != nil {
			log.Fatal(err)
		}
		byFile[name] = tables(string(text))
		for _, t := range byFile[name] {
			for _, c := range t.commands {
				if wanted(t) {
					go out.command(c)()
				}
			}
		}
	}
	wrong := 0
	for _, name := range flag.Args() {
		for _, t := range byFile[name] {
			state, bad := "ok", []string(nil)
			switch {
			case t.reason != "":
				state = "not checked: " + t.reason
			case len(t.commands) == 0:
				state, bad = "WRONG", []string{"no command"}
			case !wanted(t):
				state = "not run"
			default:
				printed, err := out.of(t.commands)
				if err != nil {
					bad = []string{err.Error()}
				} else {
					bad = t.missing(printed)
				}
				if len(bad) > 0 {
					state = "WRONG"
				}
			}
			fmt.Printf("%s:%d: %s\n", name, t.line, state)
			for _, b := range bad {
				fmt.Printf("\t%s\n", b)
			}
			wrong += len(bad)
		}
	}
	if wrong > 0 {
		log.Fatalf("%d figures are not those that the commands print", wrong)
	}
}

// outputs caches the numbers that commands print.
type outputs struct {
	run   func(command string) ([]byte, error)
	known map[string]func() ([][]float64, error)
}

// command returns a function that returns the numbers that a command prints, by line. The first
// call runs the command, and calls that overlap wait for it.
func (o *outputs) command(c string) func() ([][]float64, error) {
	if o.known[c] == nil {
		o.known[c] = sync.OnceValues(func() ([][]float64, error) {
			text, err := o.run(c)
			if err != nil {
				return nil, fmt.Errorf("go run %s: %w", c, err)
			}
			return numbers(string(text)), nil
		})
	}
	return o.known[c]
}

// of returns the numbers that the commands print, by line. It runs each command once.
func (o *outputs) of(commands []string) (all [][]float64, err error) {
	for _, c := range commands {
		n, err := o.command(c)()
		if err != nil {
			return nil, err
		}
		all = append(all, n...)
	}
	return all, nil
}

// run runs a command of a document by "go run". A flag -C of the command is moved before "run".
func run(command string) ([]byte, error) {
	args := strings.Fields(command)
	if len(args) > 1 && args[0] == "-C" {
		args = slices.Insert(args, 2, "run")
	} else {
		args = slices.Insert(args, 0, "run")
	}
	var stderr bytes.Buffer
	c := exec.Command("go", args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	return out, nil
}

// table is a table of a document.
type table struct {
	line     int // line number of its head
	commands []string
	nightly  bool
	anywhere bool   // whether the figures of a row may come from several lines
	reason   string // reason why it is not checked; "" if it is checked
	head     []string
	rows     [][]string
}

var (
	comment = regexp.MustCompile(`^<!-- (nightly |no )?figures( anywhere)?: (.+) -->$`)
	// names of columns that are not checked
	other = regexp.MustCompile(`\b(seconds|ms|paper|time)\b`)
)

// tables returns the tables of a document. It omits tables without a digit in their rows.
func tables(text string) (all []table) {
	var t table
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if m := comment.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "no ":
				t.reason = m[3]
			default:
				t.commands = append(t.commands, m[3])
				t.nightly = t.nightly || m[1] != ""
				t.anywhere = t.anywhere || m[2] != ""
			}
			continue
		}
		if !strings.HasPrefix(line, "|") {
			if line != "" {
				t = table{}
			}
			continue
		}
		t.line, t.head = i+1, cells(line)
		for i += 2; i < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i]), "|"); i++ {
			t.rows = append(t.rows, cells(lines[i]))
		}
		if slices.ContainsFunc(t.rows, func(row []string) bool { return len(t.figures(row)) > 0 }) {
			all = append(all, t)
		}
		t = table{}
	}
	return all
}

// cells splits a table line into its cells.
func cells(line string) []string {
	line = strings.Trim(strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00"), "|")
	all := strings.Split(line, "|")
	for i, c := range all {
		all[i] = strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))
	}
	return all
}

// figure is a number as shown in a table.
type figure struct {
	text    string
	value   float64
	digits  int // digits after the decimal point, of the mantissa if there is an exponent
	exp     int // power of ten of the number
	percent bool
}

var (
	shown  = regexp.MustCompile(`[-−]?(?:\d{1,3}(?: \d{3})+|\d*\.?\d+)(?:e[-+]?\d+)?`)
	begins = regexp.MustCompile(`^[-−+.±\d]`) // beginnings of cells that hold figures
	code   = regexp.MustCompile("`[^`]*`")
)

// figures returns the figures of a row.
func (t *table) figures(row []string) (all []figure) {
	for at, cell := range row {
		if at == 0 || at < len(t.head) && other.MatchString(t.head[at]) {
			continue
		}
		if cell = strings.TrimSpace(code.ReplaceAllString(cell, "")); !begins.MatchString(cell) {
			continue
		}
		percent := strings.Contains(cell, "%") || at < len(t.head) && strings.Contains(t.head[at], "%")
		for _, s := range shown.FindAllString(cell, -1) {
			plain := strings.NewReplacer("−", "-", " ", "").Replace(s)
			v, err := strconv.ParseFloat(plain, 64)
			if err != nil {
				continue
			}
			f := figure{text: s, value: v, percent: percent}
			mantissa, exp, _ := strings.Cut(plain, "e")
			f.exp, _ = strconv.Atoi(exp)
			if _, behind, ok := strings.Cut(mantissa, "."); ok {
				f.digits = len(behind)
			}
			all = append(all, f)
		}
	}
	return all
}

// is reports whether v, rounded to the digits shown, is the figure.
func (f figure) is(v float64) bool {
	half := math.Pow10(f.exp-f.digits) * (0.5 + 5e-10)
	return math.Abs(v-f.value) <= half || f.percent && math.Abs(float64(100*v)-f.value) <= half
}

// missing describes the rows of a table whose figures do not occur on one printed line. It
// returns nothing if the figures of every column do.
func (t *table) missing(printed [][]float64) (all []string) {
	if t.anywhere {
		printed = [][]float64{slices.Concat(printed...)}
	}
	columns := make([][]figure, len(t.head))
	for _, row := range t.rows {
		of := t.figures(row)
		if !onLine(of, printed) {
			all = append(all, fmt.Sprintf("row %q is on no line: %s", row[0], nearest(of, printed)))
		}
		for at := range row {
			if at < len(columns) {
				one := slices.Repeat([]string{""}, len(row))
				one[at] = row[at]
				columns[at] = append(columns[at], t.figures(one)...)
			}
		}
	}
	if !slices.ContainsFunc(columns, func(of []figure) bool { return !onLine(of, printed) }) {
		return nil
	}
	return all
}

// onLine reports whether one of the lines contains all figures.
func onLine(of []figure, lines [][]float64) bool {
	return len(of) == 0 || slices.ContainsFunc(lines, func(line []float64) bool { return len(absent(of, line)) == 0 })
}

// absent returns the figures that a line does not contain.
func absent(of []figure, line []float64) (not []string) {
	for _, f := range of {
		if !slices.ContainsFunc(line, f.is) {
			not = append(not, f.text)
		}
	}
	return not
}

// nearest describes which figures are absent from the line that contains the most of them.
func nearest(of []figure, lines [][]float64) string {
	if len(lines) == 0 {
		return "nothing is printed"
	}
	best := slices.MinFunc(lines, func(a, b []float64) int { return len(absent(of, a)) - len(absent(of, b)) })
	return fmt.Sprintf("%s not on the nearest, %v", strings.Join(absent(of, best), ", "), best)
}

var number = regexp.MustCompile(`[-−]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`)

// numbers returns the numbers in each line of a program's output. It omits lines without
// numbers.
func numbers(text string) (lines [][]float64) {
	for line := range strings.Lines(text) {
		var all []float64
		for _, s := range number.FindAllString(line, -1) {
			if v, err := strconv.ParseFloat(strings.Replace(s, "−", "-", 1), 64); err == nil {
				all = append(all, v)
			}
		}
		if len(all) > 0 {
			lines = append(lines, all)
		}
	}
	return lines
}
