//go:build js && wasm

// Lattice is the WebAssembly program of the playground's lattice tab.
package main

import (
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/lattice"
	"github.com/gibbsite-go/gibbsite/site/wasm"
)

func main() { wasm.Serve(engine.New(lattice.Tab)) }
