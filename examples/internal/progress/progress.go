// Package progress reports the progress of a long run on standard error.
package progress

import (
	"log/slog"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Bar shows the progress of a run once the run has lasted two seconds. On a terminal it draws a
// bar. Elsewhere it logs a line with package log/slog every ten seconds.
type Bar struct {
	name        string
	start, last time.Time
	terminal    bool
	shown       bool
	bar         *progressbar.ProgressBar
}

const (
	patience = 2 * time.Second
	between  = 10 * time.Second
)

// New returns the bar of a run. The bar's clock starts with the first call of Set, so that
// preparation such as compiling a language does not count.
func New(name string) *Bar {
	return &Bar{name: name, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

// Set reports that done of total steps are done. It can be used as the Progress callback of
// package sampler.
func (b *Bar) Set(done, total int) {
	if b.start.IsZero() {
		b.start = time.Now()
		b.last = b.start
	}
	if b.terminal && (b.bar == nil || b.bar.GetMax() != total) {
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionSetDescription(b.name), progressbar.OptionShowIts(),
			progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
		b.bar.StartWithoutRender() // or its rate would count from when it is first seen
	}
	if time.Since(b.start) < patience {
		return
	}
	if !b.terminal {
		if time.Since(b.last) >= between {
			b.last = time.Now()
			slog.Info("progress", "run", b.name, "done", done, "of", total)
		}
		return
	}
	b.shown = true
	_ = b.bar.Set(done) // only the drawing can fail
}

// Done removes the bar from the terminal.
func (b *Bar) Done() {
	if b.shown {
		_ = b.bar.Finish()
	}
}
