// Package progress shows on standard error how far a long run of an example is.
package progress

import (
	"log/slog"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Bar shows progress once a run has lasted two seconds: as a bar on a terminal,
// as a line of package log/slog every ten seconds elsewhere.
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

// New returns the bar of a run. Its clock starts with the first call of Set: what
// comes before the work, such as compiling a language, is no step.
func New(name string) *Bar {
	return &Bar{name: name, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

// Set says that done of total steps are done. It is a function of the kind that
// the runners of package sampler call.
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

// Done takes the bar away.
func (b *Bar) Done() {
	if b.shown {
		_ = b.bar.Finish()
	}
}
