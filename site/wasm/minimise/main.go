//go:build js && wasm

// Minimise is the program of the playground's tab of minima.
package main

import (
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/wasm"
)

func main() { wasm.Serve(engine.New(engine.MinimiseTab)) }
