//go:build js && wasm

// Strings is the WebAssembly program of the playground's tab of regular expressions.
package main

import (
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/pattern"
	"github.com/gibbsite-go/gibbsite/site/wasm"
)

func main() { wasm.Serve(engine.New(pattern.Tab)) }
