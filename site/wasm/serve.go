//go:build js && wasm

// Package wasm lets a web worker in the browser call an [engine.Engine], which computes what the
// playground shows. Each program in its subfolders is one tab of the playground.
package wasm

import (
	"context"
	"encoding/json"
	"runtime"
	"syscall/js"

	"github.com/gibbsite-go/gibbsite/site/engine"
)

// Serve registers the engine with the web worker and answers the worker's calls. It never returns.
func Serve(e *engine.Engine) {
	js.Global().Call("ready", map[string]any{
		"go": runtime.Version(),
		// call(name, JSON, done): done gets JSON, {"Error": …} if the call failed.
		"call": js.FuncOf(func(_ js.Value, a []js.Value) any {
			name, args, done := a[0].String(), a[1].String(), a[2]
			go func() {
				r, err := e.Call(context.Background(), name, []byte(args))
				var b []byte
				if err == nil {
					b, err = json.Marshal(r)
				}
				if err != nil {
					b, _ = json.Marshal(map[string]string{"Error": err.Error()})
				}
				done.Invoke(string(b))
			}()
			return nil
		}),
		// pixels(Uint8Array) copies the states of the lattice into it.
		"pixels": js.FuncOf(func(_ js.Value, a []js.Value) any {
			return js.CopyBytesToJS(a[0], e.Pixels())
		}),
	})
	select {}
}
