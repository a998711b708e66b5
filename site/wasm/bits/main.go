//go:build js && wasm

// Bits is the WebAssembly program of the playground's tab of reproducible runs.
package main

import (
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/repeat"
	"github.com/gibbsite-go/gibbsite/site/wasm"
)

func main() { wasm.Serve(engine.New(repeat.Tab)) }
