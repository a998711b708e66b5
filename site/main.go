// Command site builds the pages of gibbsite: a playground that runs the library as
// WebAssembly, guides, a gallery of the examples and the list of packages.
//
//	go -C site run . -out DIR [-serve localhost:8080]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("site: ")
	out := flag.String("out", "", "write the site to this `folder`")
	serve := flag.String("serve", "", "then serve it at this `address`, such as localhost:8080")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: go -C site run . -out DIR [-serve localhost:8080]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Printf("building the site in %s: pages, guides and the playground\n", *out)
	if err := build(ctx, *out); err != nil {
		log.Fatal(err)
	}
	if *serve == "" {
		return
	}
	server := &http.Server{Addr: *serve, Handler: http.FileServer(http.Dir(*out))}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Printf("serving %s at http://%s\n", *out, *serve)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
