// Package engine is what the playground computes: the same code, compiled for the browser
// and for the tests, which compare the two.
//
// An [Engine] answers calls by name, with JSON in and out. It knows nothing of browsers.
// Every [Tab] of the playground is a program of its own, which is small and starts soon.
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

// Engine answers calls, and holds what one leaves for the next: a lattice that moves, a
// search that goes on. It is for one goroutine.
type Engine struct {
	calls   map[string]func(context.Context, []byte) (any, error)
	lattice *lattice
	search  *search
}

// Tab adds the calls of one tab to an engine.
type Tab func(*Engine)

// New returns an engine that answers the calls of the tabs. A program has the code of those
// alone: the linker leaves out the rest.
func New(tabs ...Tab) *Engine {
	e := &Engine{calls: map[string]func(context.Context, []byte) (any, error){}}
	for _, add := range tabs {
		add(e)
	}
	return e
}

// LatticeTab has chains of one method on a lattice.
func LatticeTab(e *Engine) {
	e.calls["lattice/start"] = with(e.startLattice)
	e.calls["lattice/run"] = with(e.runLattice)
	e.calls["lattice/program"] = program(Lattice.program)
}

// StringsTab has strings of a regular expression.
func StringsTab(e *Engine) {
	e.calls["strings"] = with(Strings)
	e.calls["strings/program"] = program(Pattern.program)
}

// JSONTab has documents of a JSON Schema.
func JSONTab(e *Engine) {
	e.calls["json"] = with(Documents)
	e.calls["json/program"] = program(Schema.program)
}

// MinimiseTab has minima of a file's energy.
func MinimiseTab(e *Engine) {
	e.calls["minimise/start"] = with(e.startSearch)
	e.calls["minimise/run"] = with(e.runSearch)
	e.calls["minimise/bound"] = with(e.bound)
	e.calls["minimise/program"] = program(Problem.program)
}

// BitsTab has runs that anybody can repeat.
func BitsTab(e *Engine) { e.calls["bits"] = with(Run) }

// patience bounds a call that compiles, counts or draws.
const patience = 20 * time.Second

// Call answers one call. A panic comes back as an error: what a visitor types must not end
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

// with decodes the arguments of a call.
func with[A, R any](f func(context.Context, A) (R, error)) func(context.Context, []byte) (any, error) {
	return func(ctx context.Context, args []byte) (any, error) {
		var a A
		if err := json.Unmarshal(args, &a); err != nil {
			return nil, err
		}
		return f(ctx, a)
	}
}

// Pixels returns the states of the lattice, a byte a site, chain after chain.
func (e *Engine) Pixels() []byte {
	if e.lattice == nil {
		return nil
	}
	return e.lattice.pixels
}

// within checks a number that a visitor or an address gave.
func within(name string, n, least, most int) error {
	if n < least || n > most {
		return fmt.Errorf("%s = %d, want %d … %d", name, n, least, most)
	}
	return nil
}

// explain adds the cure to errors that a visitor meets often.
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

// milliseconds since t.
func milliseconds(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }

// digest is the 64-bit FNV-1a hash of x as little-endian int32.
func digest(x []int32) string {
	h := fnv.New64a()
	var b [4]byte
	for _, l := range x {
		binary.LittleEndian.PutUint32(b[:], uint32(l))
		h.Write(b[:])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
