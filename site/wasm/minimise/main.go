//go:build js && wasm

// Minimise is the WebAssembly program of the playground's minimisation tab.
package main

import (
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/minimum"
	"github.com/gibbsite-go/gibbsite/site/wasm"
)

func main() { wasm.Serve(engine.New(minimum.Tab)) }
