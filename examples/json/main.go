// Json samples JSON that matches a JSON Schema, by masked diffusion with exact conditioning. It
// can also check an instance, and run a benchmark of schemas with valid and invalid instances.
//
//	go -C examples run ./json -n 5
//	go -C examples run ./json -schema schema.json -vocab tokenizer.json -length 48 -n 10
//	go -C examples run ./json -schema schema.json -spelling canonical -n 10
//	go -C examples run ./json -schema schema.json -check instance.json
//	go -C examples run ./json -maskbench tests.jsonl -json
//	go -C examples run ./json -maskbench tests.jsonl -vocab tokenizer.json -json
//	go -C examples run ./json -maskbench tests.jsonl -masks -vocab tokenizer.json -json
//	go -C examples run ./json -maskbench tests.jsonl -masks -vocab tokenizer.json -xgrammar FOLDER
//	go -C examples run ./json -tools 400 -vocab tokenizer.json -json
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// options holds the command-line options.
type options struct {
	command.Output

	schema, vocab, check, maskbench, xgrammar string
	spelling                                  grammar.Spelling
	length, n, steps, tools                   int
	seed                                      uint64
	compact, masks                            bool
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("json", flag.ContinueOnError)
	f.StringVar(&o.schema, "schema", "", "`file` with a JSON Schema, instead of the program's own")
	f.StringVar(&o.vocab, "vocab", "", "vocabulary `file`: a tokenizer.json, or a vocab.json like that of GPT-2; without one, tokens are bytes; with -maskbench but not -masks, every schema is also compiled over these tokens")
	f.StringVar(&o.check, "check", "", "only report whether the JSON in this `file` is in the language")
	f.StringVar(&o.maskbench, "maskbench", "", "only check the schemas in this `file`; each line is a JSON object with schema and tests")
	f.BoolVar(&o.masks, "masks", false, "with -maskbench, read the instances token by token and check the masks of allowed next tokens")
	f.StringVar(&o.xgrammar, "xgrammar", "", "with -masks, also measure XGrammar: a `folder` with the npm package @mlc-ai/web-xgrammar, run by node")
	f.IntVar(&o.tools, "tools", 0, "only measure the masks for calls to this many tools")
	f.IntVar(&o.length, "length", 64, "maximum number of tokens in a sample")
	f.IntVar(&o.n, "n", 10, "samples")
	f.IntVar(&o.steps, "steps", 4, "steps of the diffusion")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	spelling := f.String("spelling", "free", "spellings of a value: free (all that JSON allows) or canonical (one)")
	f.BoolVar(&o.compact, "compact", false, "draw JSON without white space between its tokens")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	spellings := map[string]grammar.Spelling{"free": grammar.Free, "canonical": grammar.Canonical}
	var ok bool
	if o.spelling, ok = spellings[*spelling]; !ok {
		return o, fmt.Errorf("-spelling = %q, want free or canonical", *spelling)
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.n < 1:
		return o, fmt.Errorf("-n = %d, want ≥ 1", o.n)
	case o.length < 1:
		return o, fmt.Errorf("-length = %d, want ≥ 1", o.length)
	case o.steps < 1:
		return o, fmt.Errorf("-steps = %d, want ≥ 1", o.steps)
	case o.masks && o.maskbench == "":
		return o, fmt.Errorf("-masks needs -maskbench, whose schemas it checks")
	case o.xgrammar != "" && !o.masks:
		return o, fmt.Errorf("-xgrammar needs -masks, with whose results it is compared")
	case o.tools < 0:
		return o, fmt.Errorf("-tools = %d, want ≥ 1", o.tools)
	case o.tools > 0 && (o.maskbench != "" || o.schema != "" || o.check != ""):
		return o, fmt.Errorf("-tools has a schema of its own and excludes -schema, -check and -maskbench")
	case o.maskbench != "" && (o.schema != "" || o.check != ""):
		return o, fmt.Errorf("-maskbench has schemas and instances of its own and excludes -schema and -check")
	}
	return o, nil
}

func run(ctx context.Context, o options) (fmt.Stringer, error) {
	switch {
	case o.tools > 0:
		return tools(ctx, o)
	case o.maskbench != "":
		return benchmark(ctx, o)
	case o.check != "":
		return check(ctx, o)
	}
	return sample(ctx, o)
}

func main() {
	command.Main("json", parse, run)
}
