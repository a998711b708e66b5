package command

import (
	"flag"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/page"
)

// Output is the part of a program's options that says where its report goes. A
// program embeds it in its options.
type Output struct {
	JSON bool
	Dir  string // "" for no page

	flags *flag.FlagSet
}

// Define adds -json and -out to the flags of a program, whose settings the page
// will list. Also says what else -out writes, "" for nothing.
func (o *Output) Define(f *flag.FlagSet, also string) {
	f.BoolVar(&o.JSON, "json", false, "print one JSON object and nothing else on standard output")
	what := "write a page, index.html, and its pictures"
	if also != "" {
		what += " and " + also
	}
	f.StringVar(&o.Dir, "out", "", what+" to this `folder`")
	o.flags = f
}

func (o Output) output() Output { return o }

// Identity is a text that says which run the options ask for: all of them but
// those that only say where its results go.
func (o Output) Identity() string {
	var b strings.Builder
	o.flags.VisitAll(func(f *flag.Flag) {
		switch f.Name {
		case "json", "out", "dump", "checkpoint", "resume", "method", "run":
			return
		}
		fmt.Fprintf(&b, "-%s=%s ", f.Name, f.Value)
	})
	return b.String()
}

// settings lists all options and their values.
func (o Output) settings() []page.Setting {
	given := make(map[string]bool)
	o.flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var all []page.Setting
	o.flags.VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		all = append(all, page.Setting{Name: f.Name, Value: f.Value.String(), Usage: usage, Given: given[f.Name]})
	})
	return all
}

// repeat returns the command that makes the same run, for a shell.
func repeat(name string, args []string) string {
	s := "go run github.com/gibbsite-go/gibbsite/examples/" + name + "@latest"
	for _, a := range args {
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !strings.ContainsRune("-_./,:=+@%", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		}) {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		s += " " + a
	}
	return s
}
