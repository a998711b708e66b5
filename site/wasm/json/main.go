//go:build js && wasm

// Json is the program of the playground's tab of JSON.
package main

import (
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/wasm"
)

func main() { wasm.Serve(engine.New(engine.JSONTab)) }
