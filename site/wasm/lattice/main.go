//go:build js && wasm

// Lattice is the program of the playground's tab of lattices.
package main

import (
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/wasm"
)

func main() { wasm.Serve(engine.New(engine.LatticeTab)) }
