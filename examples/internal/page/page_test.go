package page

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
)

// TestBrowser opens a page in Chromium, where that is installed, and looks at
// what the browser made of it.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no Chromium is installed")
	}
	dir := t.TempDir()
	p := picture.Panel("x (s)", "y (m)")
	if _, err := picture.Line(p, 0, []float64{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	page := &Page{
		Title: "a <title>", Command: "run it", Text: "a & b\n", Warnings: []string{"mind"},
		Figures:  []*picture.Figure{{Name: "one", Title: "One", Caption: "Caption.", Panels: []*plot.Plot{p}}},
		Settings: []Setting{{"n", "3", "number", true}},
	}
	if _, err := page.Write(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--enable-logging=stderr", "--v=0", "--dump-dom", "file://"+filepath.Join(dir, "index.html"))
	var log strings.Builder
	cmd.Stderr = &log
	dom, err := cmd.Output()
	if err != nil {
		t.Skipf("the browser does not run here: %v\n%s", err, log.String())
	}
	for _, want := range []string{"<h1>a &lt;title&gt;</h1>", "a &amp; b", "<svg", "x (s)</text>", `class="warning">mind`, `class="given">3`} {
		if !strings.Contains(string(dom), want) {
			t.Errorf("the browser lacks %q:\n%s", want, dom)
		}
	}
	if strings.Contains(log.String(), "CONSOLE") {
		t.Errorf("the console has messages:\n%s", log.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html.part")); err == nil {
		t.Error("a part of the page is left behind")
	}
}
