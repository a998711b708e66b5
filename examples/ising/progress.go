package main

import (
	"fmt"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// bar shows progress on standard error once a run has lasted two seconds: as a
// bar on a terminal, as a line every ten seconds elsewhere.
type bar struct {
	name        string
	start, last time.Time
	terminal    bool
	bar         *progressbar.ProgressBar
}

const (
	patience = 2 * time.Second
	between  = 10 * time.Second
)

func newBar(name string) *bar {
	now := time.Now()
	return &bar{name: name, start: now, last: now, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
}

func (b *bar) set(done, total int) {
	if time.Since(b.start) < patience {
		return
	}
	if !b.terminal {
		if time.Since(b.last) >= between {
			b.last = time.Now()
			fmt.Fprintf(os.Stderr, "%s: %d of %d steps\n", b.name, done, total)
		}
		return
	}
	if b.bar == nil || b.bar.GetMax() != total {
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionSetDescription(b.name), progressbar.OptionShowIts(),
			progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	_ = b.bar.Set(done) // only the drawing can fail
}

func (b *bar) done() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
