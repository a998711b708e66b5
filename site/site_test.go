package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/site/engine/pattern"
	"github.com/gibbsite-go/gibbsite/site/engine/repeat"
)

var (
	built = flag.String("site", "", "test the site in this `folder` instead of building one")
	shots = flag.String("shots", "", "save a picture of every page in this `folder`")
	first = flag.Duration("first", 0, "fail if the first frame takes longer; 0: print it only")
	tries = flag.Int("tries", 1, "load the page this many `times`; the quickest first frame counts")

	//go:embed audit.js
	audit string
)

// site is a built site, its server and a browser.
type site struct {
	dir, url string
	browser  context.Context

	mu   sync.Mutex
	sent int64 // bytes of the playground's files
}

var (
	once    sync.Once
	dir     string
	dirErr  error
	scratch string

	started     sync.Once
	window      context.Context // of the browser
	closeWindow = func() {}
	windowErr   error
)

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	closeWindow()
	if scratch != "" {
		os.RemoveAll(scratch)
	}
	os.Exit(code)
}

// open builds the site once and starts a browser; without one it skips the test, aloud.
func open(t *testing.T) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the site and starts a browser")
	}
	var browser string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("SKIPPED: no Chromium is installed: apt-get install chromium")
	}
	once.Do(func() {
		if dir = *built; dir != "" {
			return
		}
		scratch, dirErr = os.MkdirTemp("", "gibbsite-site")
		if dir = scratch; dirErr == nil {
			began := time.Now()
			dirErr = build(t.Context(), dir)
			t.Logf("built in %v", time.Since(began).Round(time.Millisecond))
		}
	})
	require.NoError(t, dirErr)
	s := &site{dir: dir}
	files := http.FileServer(http.Dir(dir)) // as a plain host serves it: nothing is compressed on the way
	server := httptest.NewServer(files)
	t.Cleanup(server.Close)
	s.url = server.URL
	started.Do(func() { // one for all tests, each of which opens tabs of its own
		const patience = 2 * time.Minute // a busy machine starts it slowly
		options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.WSURLReadTimeout(patience))
		allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
		window, _ = chromedp.NewContext(allocator, chromedp.WithBrowserOption(chromedp.WithDialTimeout(patience)))
		closeWindow, windowErr = cancel, chromedp.Run(window)
	})
	require.NoError(t, windowErr)
	s.browser = window
	return s
}

// visit opens an address in a new tab of the given width and scheme. Console errors,
// failed requests and requests to other hosts are faults of the test.
func (s *site) visit(t *testing.T, address string, width int64, scheme string) context.Context {
	t.Helper()
	tab, cancel := chromedp.NewContext(s.browser)
	t.Cleanup(cancel)
	chromedp.ListenTarget(tab, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("%s: %s", address, e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				t.Errorf("%s: console: %s", address, e.Args[0].Value)
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				t.Errorf("%s: %s %s", address, e.Entry.Text, e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, s.url) && !strings.HasPrefix(e.Request.URL, "data:") && !strings.HasPrefix(e.Request.URL, "blob:") {
				t.Errorf("%s asks for %s", address, e.Request.URL)
			}
		case *network.EventLoadingFinished:
			s.mu.Lock()
			s.sent += int64(e.EncodedDataLength)
			s.mu.Unlock()
		}
	})
	require.NoError(t, chromedp.Run(tab)) // opens the tab, for as long as its own context
	act(t, tab, network.Enable(), log.Enable(), chromedp.EmulateViewport(width, 900),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.Navigate(s.url+"/"+address))
	return tab
}

func act(t *testing.T, tab context.Context, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, 2*time.Minute)
	defer cancel()
	require.NoError(t, chromedp.Run(ctx, actions...))
}

// until waits for an expression to be true.
func until(t *testing.T, tab context.Context, expression string) {
	t.Helper()
	act(t, tab, chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(110*time.Second)))
}

func evaluate[T any](t *testing.T, tab context.Context, expression string) (v T) {
	t.Helper()
	act(t, tab, chromedp.Evaluate(expression, &v))
	return v
}

const (
	texts   = `[...document.querySelectorAll('#%s li')].map(e => e.textContent)`
	content = `document.getElementById('%s').textContent`
)

// settled is what a tab of the playground, of which it is the id, shows once it has results.
const settled = `/Digest|s\.e\.|sites per second|are equal/.test(document.getElementById('%s').textContent)`

// Whichever tab a visitor comes for, the playground transfers at most 3 MB until it has
// results.
func TestTransfer(t *testing.T) {
	for _, name := range tabs {
		s := open(t) // a server of its own, of which the browser has kept nothing
		tab := s.visit(t, "playground.html#"+name, 1200, "light")
		until(t, tab, fmt.Sprintf(settled, name))
		s.mu.Lock()
		t.Logf("%s: %d bytes transferred", name, s.sent)
		assert.LessOrEqual(t, s.sent, int64(3_000_000), name)
		s.mu.Unlock()
		require.NoError(t, chromedp.Cancel(tab))
	}
}

// A lattice is drawn within its budget of time, by a browser that has kept nothing:
//
//	go -C site test -run TestFirstFrame -v -tries 10 -first 1.5s .
func TestFirstFrame(t *testing.T) {
	least := time.Hour
	for range *tries {
		s := open(t)
		before := processor(chromedp.FromContext(s.browser).Browser.Process().Pid)
		tab := s.visit(t, "playground.html", 1200, "light")
		until(t, tab, `performance.getEntriesByName('first-frame').length > 0`)
		t.Logf("processor time of the browser, its new tab included: %v", processor(chromedp.FromContext(s.browser).Browser.Process().Pid)-before)
		marks := evaluate[map[string]float64](t, tab, `Object.fromEntries(performance.getEntriesByType('mark').map(m => [m.name, Math.round(m.startTime)]))`)
		t.Logf("ms: %v", marks)
		least = min(least, time.Duration(marks["first-frame"]*1e6))
		require.NoError(t, chromedp.Cancel(tab))
	}
	t.Logf("first frame after %v", least)
	if *first > 0 {
		assert.LessOrEqual(t, least, *first)
	}
}

// processor returns the processor time that a process and its descendants have used, where Linux
// tells it. On a busy machine it bounds what the same work takes on idle cores.
func processor(pid int) time.Duration {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	parent, used := map[int]int{}, map[int]int64{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		id, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:])) // from the state on
		parent[id], _ = strconv.Atoi(f[1])
		for _, field := range f[11:13] { // in user and in system mode, in hundredths of a second
			n, _ := strconv.ParseInt(field, 10, 64)
			used[id] += n
		}
	}
	var sum int64
	for id, n := range used {
		for up := id; up > 1; up = parent[up] {
			if up == pid {
				sum += n
				break
			}
		}
	}
	return time.Duration(sum) * 10 * time.Millisecond
}

// The playground repeats what the native program draws.
func TestSameBits(t *testing.T) {
	s := open(t)
	tab := s.visit(t, "playground.html#bits?seed=2", 1200, "light")
	until(t, tab, `document.getElementById('bits-result').textContent !== ''`)
	n := len(repeat.Cases())
	assert.Equal(t, fmt.Sprintf("%d of %d digests are equal.", n, n), evaluate[string](t, tab, fmt.Sprintf(content, "bits-result")))
	rows := evaluate[[][]string](t, tab, `[...document.querySelectorAll('#bits-table tbody tr')].map(r => [...r.cells].map(c => c.textContent))`)
	for _, row := range rows { // of this process, not of the file that came with the page
		r, err := repeat.Run(t.Context(), repeat.Case{Name: row[0], Seed: 2})
		require.NoError(t, err)
		assert.Equal(t, r.Digest, row[2], row[0])
	}
}

func TestLattice(t *testing.T) {
	s := open(t)
	tab := s.visit(t, "playground.html#lattice?side=4&temperature=2.5&speed=8&seed=3", 1200, "light")
	until(t, tab, `document.getElementById('lattice-advice').classList.contains('good')`)
	for _, id := range []string{"order-off", "energy-off"} {
		var off float64
		_, err := fmt.Sscanf(strings.ReplaceAll(evaluate[string](t, tab, fmt.Sprintf(content, id)), "−", "-"), "%f s.e.", &off)
		require.NoError(t, err)
		assert.InDelta(t, 0, off, 5.5, id) // a false alarm in 10⁷
	}
	// A slider keeps the states and goes into the address.
	act(t, tab, chromedp.Evaluate(`{const e = document.getElementById('lattice-temperature'); e.value = 3; e.dispatchEvent(new Event('input', {bubbles: true}));}`, nil))
	until(t, tab, `location.hash.includes('temperature=3')`)
	until(t, tab, `document.getElementById('lattice-digest').textContent === ''`)
	// Cancel ends the worker; a change starts another.
	act(t, tab, chromedp.Evaluate(`document.querySelector('#lattice .cancel').click()`, nil), chromedp.Click("#anew"))
	until(t, tab, `document.querySelector('#lattice .error').hidden && document.getElementById('lattice-digest').textContent.includes('step') || document.getElementById('play').textContent === 'Play'`)
}

func TestStrings(t *testing.T) {
	s := open(t)
	days := `(19|20)(0[48]|[2468][048]|[13579][26])-02-29`
	tab := s.visit(t, "playground.html#strings?upto=0&model=uniform&length=10&pattern="+url.QueryEscape(days), 1200, "light")
	until(t, tab, `document.getElementById('strings-count').textContent === '48'`)
	samples := evaluate[[]string](t, tab, fmt.Sprintf(texts, "strings-samples"))
	assert.Len(t, samples, 24)
	for _, x := range samples {
		assert.Regexp(t, "^"+days+"$", x)
	}
	native, err := pattern.Strings(t.Context(), pattern.Pattern{Pattern: days, Length: 10, Model: "uniform", Seed: 1, Samples: 24})
	require.NoError(t, err)
	assert.Equal(t, native.Samples, samples)

	act(t, tab, chromedp.SendKeys("#strings [name=fixed]", "···6"))
	until(t, tab, `document.getElementById('strings-count').textContent === '10'`)
	assert.Contains(t, evaluate[string](t, tab, `decodeURIComponent(location.hash)`), "fixed=···6")
	// Squares of the map fix a character, too.
	act(t, tab, chromedp.Evaluate(`document.querySelectorAll('#heat tbody td[title^="2 at 1:"]')[0].click()`, nil))
	until(t, tab, `document.querySelector('#strings [name=fixed]').value === '2··6'`)

	// An error is said and leaves the page alive.
	act(t, tab, chromedp.Evaluate(`{const e = document.querySelector('#strings [name=pattern]'); e.value = '['; e.dispatchEvent(new Event('input', {bubbles: true}));}`, nil))
	until(t, tab, `/missing closing/.test(document.querySelector('#strings .error').textContent)`)
	act(t, tab, chromedp.Navigate(s.url+"/playground.html#strings?pattern=[ab]*&length=8&upto=0&model=uniform"))
	until(t, tab, `document.getElementById('strings-count').textContent === '256' && document.querySelector('#strings .error').hidden`)
}

func TestJSON(t *testing.T) {
	s := open(t)
	tab := s.visit(t, "playground.html#json", 1200, "light")
	for _, example := range []string{"person", "order", "call", "tree&length=60"} {
		act(t, tab, chromedp.Evaluate(`document.getElementById('json-samples').replaceChildren(); location.hash = '#json?example=`+example+`'`, nil))
		until(t, tab, `document.querySelectorAll('#json-samples li').length === 6 || !document.querySelector('#json .error').hidden`)
		documents := evaluate[[]string](t, tab, fmt.Sprintf(texts, "json-samples"))
		assert.Len(t, documents, 6, example)
		for _, d := range documents {
			assert.True(t, json.Valid([]byte(d)), d)
		}
	}
}

func TestMinimise(t *testing.T) {
	s := open(t)
	tab := s.visit(t, "playground.html#minimise?example=piles", 1200, "light")
	until(t, tab, `/7 variables, 21 pairs/.test(document.getElementById('minimise-problem').textContent) && /Digest/.test(document.getElementById('minimise-facts').textContent)`)
	state := evaluate[string](t, tab, fmt.Sprintf(content, "minimise-state"))
	sum := 0
	for i, n := range []int{4, 5, 6, 7, 8, 12, 14} {
		sum += n * (2*int(state[i]-'0') - 1)
	}
	assert.Zero(t, sum, state)
	until(t, tab, `/, by (planar matching|odd cycles|roof duality)\.$/.test(document.getElementById('minimise-note').textContent)`)
}

// A page of an example tells the values of the point below the pointer, and is printed on
// white.
func TestFigures(t *testing.T) {
	s := open(t)
	tab := s.visit(t, "gallery/ising/index.html", 1200, "dark")
	for _, name := range []string{"trace", "histogram", "forest", "ranks", "autocorrelation", "effective-draws", "energy", "pairs"} {
		tips := evaluate[[]string](t, tab, `(svg => {
			const panels = JSON.parse(svg.dataset.panels), tip = svg.parentElement.querySelector('.tip'), to = svg.querySelector('g').getScreenCTM(), all = new Set();
			for (const {Box: [l, b, r, t]} of panels) for (let i = 0; i <= 40; i++) for (let j = 0; j <= 20; j++) {
				const p = new DOMPoint(l + (r - l) * i / 40, b + (t - b) * j / 20).matrixTransform(to);
				svg.dispatchEvent(new PointerEvent('pointermove', {clientX: p.x, clientY: p.y}));
				if (!tip.hidden) all.add(tip.textContent);
			}
			return [...all];
		})(document.querySelector('#`+name+` svg'))`)
		assert.NotEmpty(t, tips, name)
		t.Logf("%s: %q", name, tips[:min(3, len(tips))])
	}
	act(t, tab, emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	assert.Equal(t, "rgb(255, 255, 255)", evaluate[string](t, tab, `getComputedStyle(document.body).backgroundColor`))
}

// Keys reach every tab, and every control has a name.
func TestKeyboard(t *testing.T) {
	s := open(t)
	tab := s.visit(t, "playground.html", 1200, "light")
	act(t, tab, chromedp.Focus("#tab-lattice"))
	for _, press := range []struct{ key, to string }{{kb.ArrowRight, "strings"}, {kb.ArrowRight, "json"}, {kb.ArrowLeft, "strings"}, {kb.End, "bits"}, {kb.Home, "lattice"}} {
		act(t, tab, chromedp.KeyEvent(press.key))
		until(t, tab, fmt.Sprintf(`!document.getElementById('%[1]s').hidden && document.activeElement.id === 'tab-%[1]s' && location.hash === '#%[1]s'`, press.to))
	}
	act(t, tab, chromedp.NavigateBack())
	until(t, tab, `!document.getElementById('bits').hidden && document.getElementById('lattice').hidden`)
	unnamed := evaluate[[]string](t, tab, `[...document.querySelectorAll('input, select, textarea, button')].filter(e => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).map(e => e.outerHTML)`)
	assert.Empty(t, unnamed)
}

// The programs of "Same in Go" compile, are formatted, and draw what the page shows.
func TestSameInGo(t *testing.T) {
	s := open(t)
	tmp, err := os.MkdirTemp(".", "programs")
	require.NoError(t, err)
	defer os.RemoveAll(tmp)
	for name, address := range map[string]string{
		"lattice": "lattice?side=4", "potts": "lattice?side=4&levels=3&method=sw", "strings": "strings?length=9&model=uniform", "letters": "strings?length=9&fixed=A",
		"json": "json?example=order", "tree": "json?example=tree&length=60", "minimise": "minimise?example=cut",
	} {
		tab := s.visit(t, "playground.html#"+address, 1200, "light")
		panel, _, _ := strings.Cut(address, "?")
		until(t, tab, fmt.Sprintf(settled, panel))
		act(t, tab, chromedp.Evaluate(`document.querySelector('#`+panel+` .program').click()`, nil))
		until(t, tab, `document.getElementById('source').open`)
		program := evaluate[string](t, tab, `document.querySelector('#source code').textContent`)
		file := filepath.Join(tmp, name, "main.go")
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(program), 0o644))
		unformatted, err := exec.Command("gofmt", "-l", file).CombinedOutput()
		require.NoError(t, err, string(unformatted))
		assert.Empty(t, string(unformatted), program)
		if panel == "strings" || panel == "json" {
			out, err := exec.Command("go", "run", "./"+filepath.ToSlash(filepath.Dir(file))).CombinedOutput()
			require.NoError(t, err, string(out))
			for _, x := range evaluate[[]string](t, tab, fmt.Sprintf(texts, panel+"-samples")) {
				assert.Contains(t, string(out), x)
			}
		}
		require.NoError(t, chromedp.Cancel(tab)) // what moves there would slow the next
	}
	out, err := exec.Command("go", "vet", "./"+filepath.ToSlash(tmp)+"/...").CombinedOutput()
	assert.NoError(t, err, string(out))
}

// No page has a fault at either width in either scheme, and none is larger than 2 MB.
func TestPages(t *testing.T) {
	s := open(t)
	axe, err := os.ReadFile(filepath.Join("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Log("SKIPPED: axe-core is not installed: npm ci")
	}
	var list []string
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".html" {
			name, err := filepath.Rel(s.dir, path)
			require.NoError(t, err)
			info, err := d.Info()
			require.NoError(t, err)
			assert.LessOrEqual(t, info.Size(), int64(2<<20), name)
			if name = filepath.ToSlash(name); name != "playground.html" {
				list = append(list, name)
			}
		}
		return err
	}))
	for _, panel := range []string{"lattice?side=16", "strings", "json", "minimise", "bits"} {
		list = append(list, "playground.html#"+panel)
	}
	links := regexp.MustCompile(`href="([^":]*)"`)
	for _, name := range list {
		t.Run(name, func(t *testing.T) {
			file, _, _ := strings.Cut(name, "#")
			b, err := os.ReadFile(filepath.Join(s.dir, file))
			require.NoError(t, err)
			for _, m := range links.FindAllStringSubmatch(string(b), -1) { // links within the site lead somewhere
				to, _, _ := strings.Cut(m[1], "#")
				if to != "" {
					assert.FileExists(t, filepath.Join(s.dir, filepath.Dir(file), to), name)
				}
			}
			for _, width := range []int64{1200, 400} {
				for _, scheme := range []string{"light", "dark"} {
					tab := s.visit(t, name, width, scheme)
					if strings.HasPrefix(name, "playground") {
						panel, _, _ := strings.Cut(strings.TrimPrefix(name, "playground.html#"), "?")
						until(t, tab, fmt.Sprintf(settled, panel))
					}
					least := 11
					if width < 1200 {
						least = 9
					}
					label := fmt.Sprintf("%s at %d px, %s", name, width, scheme)
					assert.Empty(t, evaluate[[]string](t, tab, fmt.Sprintf("%s(%d)", strings.TrimSuffix(strings.TrimSpace(audit), ";"), least)), label)
					if axe != nil {
						act(t, tab, chromedp.Evaluate(string(axe)+";0", nil))
						var violations []string
						act(t, tab, chromedp.Evaluate(`axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 120)).join(' | ')))`, &violations,
							func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
						assert.Empty(t, violations, label)
					}
					if *shots != "" {
						var picture []byte
						act(t, tab, chromedp.FullScreenshot(&picture, 100))
						require.NoError(t, write(*shots, regexp.MustCompile(`\W+`).ReplaceAllString(fmt.Sprintf("%s-%d-%s", name, width, scheme), "-")+".png", picture))
					}
					require.NoError(t, chromedp.Cancel(tab))
				}
			}
		})
	}
}
