// Package engine computes the results that the playground shows. The same code is compiled for
// the browser and for the tests, which compare the two.
//
// An [Engine] answers calls by name, with JSON arguments and replies, and does not depend on a
// browser. Every [Tab] of the playground is a package in a subfolder and is compiled to a
// separate program. Such a program is small and starts fast, because it does not contain the
// packages of other tabs.
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

// Engine answers calls by name. It keeps the state of a running lattice or search between calls,
// so that later calls continue the run. An Engine is not safe for concurrent use.
type Engine struct {
	calls map[string]func(context.Context, []byte) (any, error)

	// Pixels returns the states of a lattice, one byte per site, chain after chain. It is nil
	// if no lattice is running.
	Pixels func() []byte
}

// Tab is a function that registers the calls of one tab of the playground with an engine.
type Tab func(*Engine)

// New returns an engine that answers the calls of the given tabs. The code of all other tabs is
// left out of the program by the linker.
func New(tabs ...Tab) *Engine {
	e := &Engine{calls: map[string]func(context.Context, []byte) (any, error){}, Pixels: func() []byte { return nil }}
	for _, add := range tabs {
		add(e)
	}
	return e
}

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

// Handle registers f as the function that answers calls with the given name. The argument of f is
// decoded from JSON.
func Handle[A, R any](e *Engine, name string, f func(context.Context, A) (R, error)) {
	e.calls[name] = func(ctx context.Context, args []byte) (any, error) {
		var a A
		if err := json.Unmarshal(args, &a); err != nil {
			return nil, err
		}
		return f(ctx, a)
	}
}

// Within checks a number from a form or a URL. It returns an error unless lo ≤ n ≤ hi.
func Within(name string, n, lo, hi int) error {
	if n < lo || n > hi {
		return fmt.Errorf("%s = %d, want %d … %d", name, n, lo, hi)
	}
	return nil
}

// Explain returns err with advice added if it is an error that visitors often see.
func Explain(err error) error {
	var limit *constraint.LimitError
	switch {
	case errors.As(err, &limit):
		return fmt.Errorf("too large for this page: %w", err)
	case errors.Is(err, constraint.ErrInfeasible):
		return fmt.Errorf("nothing of this length is allowed: %w", err)
	}
	return err
}

// Milliseconds returns the time since t in milliseconds.
func Milliseconds(t time.Time) float64 { return float64(time.Since(t).Microseconds()) / 1000 }

// Digest returns the 64-bit FNV-1a hash of x, encoded as little-endian int32, in hexadecimal.
func Digest(x []int32) string {
	h := fnv.New64a()
	var b [4]byte
	for _, l := range x {
		binary.LittleEndian.PutUint32(b[:], uint32(l))
		h.Write(b[:])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
