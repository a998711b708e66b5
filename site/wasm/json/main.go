//go:build js && wasm

// Json is the WebAssembly program of the playground's JSON tab.
package main

import (
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/document"
	"github.com/gibbsite-go/gibbsite/site/wasm"
)

func main() { wasm.Serve(engine.New(document.Tab)) }
