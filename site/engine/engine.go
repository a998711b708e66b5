// Package engine computes the results that the playground shows. The same code is compiled for
// the browser and for the tests, which compare the two.
//
// An [Engine] answers calls by name, with JSON arguments and replies, and does not depend on a
// browser. Every [Tab] of the playground is a separate program, which keeps each download small.
package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Engine answers calls by name. It keeps the lattice and the search between calls, so that later
// calls continue them. An Engine is not safe for concurrent use.
type Engine struct {
	calls   map[string]func(context.Context, []byte) (any, error)
	lattice *lattice
	search  *search
}

// Tab registers the calls of one tab with an engine.
type Tab func(*Engine)

// New returns an engine that answers the calls of the given tabs. The linker leaves out the code
// of all other tabs.
func New(tabs ...Tab) *Engine {
	e := &Engine{calls: map[string]func(context.Context, []byte) (any, error){}}
	for _, add := range tabs {
		add(e)
	}
	return e
}

// LatticeTab registers the calls that run chains of one sampler on a lattice.
func LatticeTab(e *Engine) {
	e.calls["lattice/start"] = with(e.startLattice)
	e.calls["lattice/run"] = with(e.runLattice)
	e.calls["lattice/program"] = program(Lattice.program)
}

// StringsTab registers the calls that count and draw strings matching a regular expression.
func StringsTab(e *Engine) {
	e.calls["strings"] = with(Strings)
	e.calls["strings/program"] = program(Pattern.program)
}

// JSONTab registers the calls that count and draw documents matching a JSON Schema.
func JSONTab(e *Engine) {
	e.calls["json"] = with(Documents)
	e.calls["json/program"] = program(Schema.program)
}

// MinimiseTab registers the calls that minimise the energy read from a file.
func MinimiseTab(e *Engine) {
	e.calls["minimise/start"] = with(e.startSearch)
	e.calls["minimise/run"] = with(e.runSearch)
	e.calls["minimise/bound"] = with(e.bound)
	e.calls["minimise/program"] = program(Problem.program)
}

// BitsTab registers the call that runs a reproducible [Case].
func BitsTab(e *Engine) { e.calls["bits"] = with(Run) }

// patience is the time limit of a call that compiles, counts or draws.
const patience = 20 * time.Second

// Call answers one call. It returns a panic as an error, so that no input from a visitor can end
// the program.
func (e *Engine) Call(ctx context.Context, name string, args []byte) (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, fmt.Errorf("%s: panic: %v", name, p)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("stopped after %v: ask for something smaller", patience))
	defer cancel()
	call, ok := e.calls[name]
	if !ok {
		return nil, fmt.Errorf("no such call: %q", name)
	}
	return call(ctx, args)
}

// with wraps f so that it decodes its argument from JSON.
func with[A, R any](f func(context.Context, A) (R, error)) func(context.Context, []byte) (any, error) {
	return func(ctx context.Context, args []byte) (any, error) {
		var a A
		if err := json.Unmarshal(args, &a); err != nil {
			return nil, err
		}
		return f(ctx, a)
	}
}

// Pixels returns the states of the lattice, one byte per site, chain after chain. The slice is
// reused by the next call. It is nil before the first lattice/start.
func (e *Engine) Pixels() []byte {
	if e.lattice == nil {
		return nil
	}
	return e.lattice.pixels
}

// within checks a number from a form or a URL: it returns an error unless least ≤ n ≤ most.
func within(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s = %d, want %d … %d", name, n, least, most)
	}
	return nil
}

// explain adds advice to errors that visitors often see.
func explain(err error) error {
	var limit *constraint.LimitError
	switch {
	case errors.As(err, &limit):
		return fmt.Errorf("too large for this page: %w", err)
	case errors.Is(err, constraint.ErrInfeasible):
		return fmt.Errorf("nothing of this length is allowed: %w", err)
	}
	return err
}

// milliseconds returns the time since t in milliseconds.
func milliseconds(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }

// digest returns the 64-bit FNV-1a hash of x, encoded as little-endian int32, in hexadecimal.
func digest(x []int32) string {
	h := fnv.New64a()
	var b [4]byte
	for _, l := range x {
		binary.LittleEndian.PutUint32(b[:], uint32(l))
		h.Write(b[:])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
