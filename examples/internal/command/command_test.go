package command

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

type options struct {
	Output
	fail bool
}

type report struct {
	Value int `json:"value"`
}

func (report) String() string     { return "value 3\n" }
func (report) Warnings() []string { return []string{"too <small>"} }

func (report) Figures() []*picture.Figure {
	return []*picture.Figure{{Name: "one", Title: "One", Caption: "Nothing.", Panels: []*plot.Plot{picture.Panel("x", "y")}}}
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("test", flag.ContinueOnError)
	f.BoolVar(&o.fail, "fail", false, "end in an \"error\"")
	o.Define(f, "nothing else")
	err = f.Parse(args)
	if f.NArg() > 0 {
		err = errors.New("arguments")
	}
	return o, err
}

func run(_ context.Context, o options) (report, error) {
	if o.fail {
		return report{}, errors.New("failed")
	}
	return report{3}, nil
}

func TestExecute(t *testing.T) {
	for args, want := range map[string]string{"": "value 3\n", "-json": "{\"value\":3}\n", "-fail": "failed", "x": "arguments"} {
		var b strings.Builder
		err := execute(context.Background(), &b, "test", strings.Fields(args), parse, run)
		got := b.String()
		if err != nil {
			got += err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}

// An error with figures is printed as JSON as well, and is still an error.
func TestErrorsWithFigures(t *testing.T) {
	refuse := func(context.Context, options) (*report, error) { return nil, figures{errors.New("too wide")} }
	for args, want := range map[string]string{"": "", "-json": "{\"width\":40}\n"} {
		var b strings.Builder
		err := execute(context.Background(), &b, "test", strings.Fields(args), parse, refuse)
		if err == nil || err.Error() != "too wide" || b.String() != want {
			t.Errorf("%q: got %q and %v, want %q", args, b.String(), err, want)
		}
	}
}

type figures struct{ error }

func (figures) MarshalJSON() ([]byte, error) { return []byte(`{"width":40}`), nil }

func TestPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new folder", "of mine")
	var b strings.Builder
	if err := execute(context.Background(), &b, "test", []string{"-out", dir}, parse, run); err != nil {
		t.Fatal(err)
	}
	want := "value 3\n"
	for _, name := range []string{"one.svg", "one.png", "index.html"} {
		want += "wrote " + filepath.Join(dir, name) + "\n"
	}
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	html, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "too &lt;small&gt;", "value 3", "go -C examples run ./test -out &#39;", "end in an &#34;error&#34;", `class="given"`, "Nothing."} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, no := range []string{"http-equiv", "src=", "@import", "url(", "fetch(", "import("} {
		if strings.Contains(string(html), no) {
			t.Errorf("the page has %q: it needs more than itself", no)
		}
	}
	// A folder that cannot be made is an error, and nothing is printed.
	b.Reset()
	if err := execute(context.Background(), &b, "test", []string{"-out", filepath.Join(dir, "index.html", "x")}, parse, run); err == nil || b.Len() > 0 {
		t.Errorf("a file as a folder: %v, %q", err, b.String())
	}
}
