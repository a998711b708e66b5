package main

import (
	"context"
	_ "embed" // for xgrammar.js
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

//go:embed xgrammar.js
var xgrammarScript string

// peerResults is the report about XGrammar that -xgrammar adds to -masks: the same schemas,
// instances and tokens, in processor time.
type peerResults struct {
	Compiled      int    `json:"compiled"`
	Validation    int    `json:"validation_errors"`
	Invalidation  int    `json:"invalidation_errors"`
	Instances     int    `json:"instances"`
	CompileMillis spread `json:"compile_ms"`
	Micros        spread `json:"us"`

	millis, micros []float64

	command *exec.Cmd
	in      io.WriteCloser
	to      *json.Encoder
	from    *json.Decoder
}

// newPeer starts XGrammar under node, in a folder with the npm package @mlc-ai/web-xgrammar.
func newPeer(ctx context.Context, folder string, t *tokens) (*peerResults, error) {
	if len(t.Padding) == 0 {
		return nil, fmt.Errorf("-xgrammar needs a vocabulary with a token that ends a text")
	}
	c := exec.CommandContext(ctx, "node", "-e", xgrammarScript)
	c.Dir, c.Stderr = folder, os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("-xgrammar: %w", err)
	}
	all := make([][]byte, len(t.Tokens)) // encoded in base 64
	for i, s := range t.Tokens {
		all[i] = []byte(s)
	}
	p := &peerResults{command: c, in: in, to: json.NewEncoder(in), from: json.NewDecoder(out)}
	return p, p.to.Encode(map[string]any{"tokens": all, "end": t.Padding[0]})
}

// read compiles a schema and reads its instances through XGrammar's masks. Instances that the
// vocabulary cannot spell are left out.
func (p *peerResults) read(schema string, t *tokens, texts []string, valid []bool) error {
	lists, want := [][]int32{}, []bool{}
	for i, s := range texts {
		if list, ok := t.cut(s); ok {
			lists, want = append(lists, list), append(want, valid[i])
		}
	}
	if err := p.to.Encode(map[string]any{"schema": schema, "instances": lists}); err != nil {
		return fmt.Errorf("-xgrammar: %w", err)
	}
	var answer struct {
		Error    string
		Compile  float64
		Us       []float64
		Accepted []bool
	}
	if err := p.from.Decode(&answer); err != nil {
		return fmt.Errorf("-xgrammar: %w; is @mlc-ai/web-xgrammar installed in its folder?", err)
	}
	if answer.Error != "" {
		return nil
	}
	p.Compiled++
	p.millis, p.micros = append(p.millis, answer.Compile), append(p.micros, answer.Us...)
	for i, got := range answer.Accepted {
		p.Instances++
		switch {
		case got && !want[i]:
			p.Invalidation++
		case !got && want[i]:
			p.Validation++
		}
	}
	return nil
}

// finish ends node and computes the percentiles.
func (p *peerResults) finish() error {
	p.in.Close()
	p.CompileMillis, p.Micros = spreadOf(p.millis), spreadOf(p.micros)
	return p.command.Wait()
}
