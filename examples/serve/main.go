// Serve is a small HTTP server with an API like OpenAI's. A model completes a text, restricted to
// a JSON Schema, a regular expression or a grammar given in the request. The example shows where
// a language model server computes masks: after the network and before the draw.
//
//	go -C examples run ./serve -addr 127.0.0.1:8080
//	go -C examples run ./serve -addr 127.0.0.1:8080 -vocab tokenizer.json
//	go -C examples run ./serve -load 200 -clients 16 -json
//
//	curl 127.0.0.1:8080/v1/completions -d '{"prompt":"A person: ","max_tokens":80,"response_format":{"type":"json_schema",
//	  "json_schema":{"schema":{"type":"object","properties":{"name":{"type":"string","maxLength":8}},"required":["name"]}}}}'
//	curl 127.0.0.1:8080/v1/masks -d '{"text":"{\"na","response_format":{"type":"json_object"}}'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/vocabulary"
)

type options struct {
	command.Output

	addr, vocab   string
	load, clients int
	seed          uint64
}

// mostLoad and mostClients are the maxima of -load and -clients.
const (
	mostLoad    = 100_000
	mostClients = 256
)

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	f.StringVar(&o.addr, "addr", "127.0.0.1:8080", "`address` to listen on")
	f.StringVar(&o.vocab, "vocab", "", "vocabulary `file`: a tokenizer.json, or a vocab.json like that of GPT-2; without one, tokens are bytes")
	f.IntVar(&o.load, "load", 0, "only test with this many requests, over the loopback interface")
	f.IntVar(&o.clients, "clients", 8, "with -load, number of concurrent requests")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the network, and of requests without one")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.load < 0 || o.load > mostLoad:
		return o, fmt.Errorf("-load = %d, want 0 … %d", o.load, mostLoad)
	case o.clients < 1 || o.clients > mostClients:
		return o, fmt.Errorf("-clients = %d, want 1 … %d", o.clients, mostClients)
	}
	return o, nil
}

// served is the report of a server after it was stopped.
type served struct {
	Requests int64 `json:"requests"`
}

func (s served) String() string { return fmt.Sprintf("%d requests\n", s.Requests) }

func run(ctx context.Context, o options) (fmt.Stringer, error) {
	v, err := vocabulary.Read(o.vocab)
	if err != nil {
		return nil, err
	}
	s, err := newServer(v, o.seed)
	if err != nil {
		return nil, err
	}
	addr := o.addr
	if o.load > 0 {
		addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	web := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	defer web.Close()
	if o.load > 0 {
		return test(ctx, "http://"+l.Addr().String(), o)
	}
	fmt.Printf("http://%s\n", l.Addr())
	select {
	case <-ctx.Done():
	case err := <-ended:
		if !errors.Is(err, http.ErrServerClosed) {
			return nil, err
		}
	}
	last, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := web.Shutdown(last); err != nil {
		return nil, err
	}
	return served{s.requests.Load()}, nil
}

func main() {
	command.Main("serve", parse, run)
}
