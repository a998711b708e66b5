// Canvas fills the blanks of a fixed text with a masked diffusion language model (LLaDA, Dream,
// the diffusion versions of Qwen3). The text of each blank matches a JSON Schema, a regular
// expression or a list of choices. The fixed tokens stay unchanged.
//
//	go -C examples run ./canvas -model DIR -prompt "A person as JSON: " -schema schema.json -n 3
//	go -C examples run ./canvas -model DIR -prompt "Is 7 a prime? " -choice yes,no -json
//	go -C examples run ./canvas -model DIR -canvas pieces.json
//
// The file of -canvas is a JSON array of pieces in order. A piece is {"text": "…"}, or a blank:
// {"schema": {…}, "tokens": 64}, {"regex": "[0-9]+", "tokens": 4}, {"choice": ["yes", "no"]} or,
// for any text, {"tokens": 8}.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/unmask"
)

// options holds the command-line options.
type options struct {
	command.Output

	model, prompt, schema, regex, choice, canvas, pad string

	chat             bool
	tokens, n, steps int
	block, left      int
	order            string
	seed             uint64
}

// piece is a part of the canvas: a text or a blank.
type piece struct {
	Text   *string         `json:"text"`
	Schema json.RawMessage `json:"schema"`
	Regex  *string         `json:"regex"`
	Choice []string        `json:"choice"`
	Tokens int             `json:"tokens"`
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("canvas", flag.ContinueOnError)
	f.StringVar(&o.model, "model", "", "`folder` with config.json, the weights (.safetensors) and tokenizer.json")
	f.StringVar(&o.prompt, "prompt", "", "`text` before the blank")
	f.BoolVar(&o.chat, "chat", false, "put -prompt into the chat template of the model")
	f.StringVar(&o.schema, "schema", "", "`file` with the JSON Schema that the blank must fit")
	f.StringVar(&o.regex, "regex", "", "regular `expression` that the blank must match")
	f.StringVar(&o.choice, "choice", "", "comma-separated `choices` for the blank")
	f.StringVar(&o.canvas, "canvas", "", "`file` with a sequence of texts and blanks, instead of the options for one blank; go doc ./examples/canvas shows its format")
	f.StringVar(&o.pad, "pad", "", "`name` of the token that pads a blank, instead of the one named in tokenizer_config.json")
	f.IntVar(&o.tokens, "tokens", 64, "maximum number of tokens in the blank")
	f.IntVar(&o.block, "block", 0, "tokens per block, for block diffusion (bd3lm); 0 lets every token attend to all others")
	f.IntVar(&o.left, "left", 0, "fill in this many `tokens` at a time from left to right; 0 means as many as -block, or all")
	f.StringVar(&o.order, "order", "random", "which tokens are revealed first: random ones (random), the most certain by probability, margin or entropy, as many as an entropy bound allows (bound), or random ones that may be masked again (remask)")
	f.IntVar(&o.n, "n", 1, "texts")
	f.IntVar(&o.steps, "steps", 32, "steps of the diffusion")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	o.Define(f, "")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	kinds := 0
	for _, s := range []string{o.schema, o.regex, o.choice} {
		if s != "" {
			kinds++
		}
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; see -help", f.Arg(0))
	case o.model == "":
		return o, fmt.Errorf("-model names no folder; it needs one with config.json, .safetensors files and tokenizer.json")
	case kinds > 1:
		return o, fmt.Errorf("%d of -schema, -regex and -choice are given, want one; put several blanks into the file of -canvas", kinds)
	case o.canvas != "" && (kinds > 0 || o.prompt != "" || o.chat):
		return o, fmt.Errorf("-canvas %s has texts and blanks of its own and excludes -prompt, -chat, -schema, -regex and -choice", o.canvas)
	case o.tokens < 1:
		return o, fmt.Errorf("-tokens = %d, want ≥ 1", o.tokens)
	case o.block < 0:
		return o, fmt.Errorf("-block = %d, want ≥ 0", o.block)
	case o.left < 0:
		return o, fmt.Errorf("-left = %d, want ≥ 0", o.left)
	case o.block > 0 && o.left%o.block != 0:
		return o, fmt.Errorf("-left = %d, want a multiple of -block = %d", o.left, o.block)
	case !slices.Contains(orders, o.order):
		return o, fmt.Errorf("-order = %q, want one of %s", o.order, strings.Join(orders, ", "))
	case (o.left > 0 || o.block > 0) && (o.order == "bound" || o.order == "remask"):
		return o, fmt.Errorf("-order %s works on all tokens at once and excludes -left and -block", o.order)
	case o.n < 1:
		return o, fmt.Errorf("-n = %d, want ≥ 1", o.n)
	case o.steps < 1:
		return o, fmt.Errorf("-steps = %d, want ≥ 1", o.steps)
	}
	return o, nil
}

// orders lists the values of -order.
var orders = []string{"random", "probability", "margin", "entropy", "bound", "remask"}

// exact says which distribution the texts follow.
func (o options) exact() string {
	if o.order == "probability" {
		return "texts meet the rules, but are likely ones rather than samples: the order depends on the tokens drawn"
	}
	return command.Steps
}

// process returns the diffusion that fills in a canvas. clamp holds −1 where a token is to be found.
func (o options) process(mask int32, clamp []int32) diffusion.Process[int32] {
	size := o.left
	if size == 0 {
		size = o.block
	}
	switch o.order {
	case "bound":
		return unmask.EntropyBound{Mask: mask, Bound: 0.1}
	case "remask":
		return diffusion.Remask{Mask: mask}
	case "random":
		if size == 0 {
			return diffusion.Masked{Mask: mask}
		}
		parts := 0
		for part := range slices.Chunk(clamp, size) {
			if slices.Contains(part, -1) {
				parts++
			}
		}
		return unmask.Blocks{Mask: mask, Size: size, Steps: max(1, o.steps/max(parts, 1))}
	}
	var score diffusion.OrderScore
	if err := score.UnmarshalText([]byte(o.order)); err != nil {
		panic(err) // parse accepts only names that are known
	}
	return diffusion.Ordered{Mask: mask, Score: score, Block: size}
}

// pieces returns the pieces described by the options.
func (o options) pieces() ([]piece, error) {
	if o.canvas != "" {
		return readPieces(o.canvas)
	}
	blank := piece{Tokens: o.tokens}
	switch {
	case o.schema != "":
		b, err := os.ReadFile(o.schema)
		if err != nil {
			return nil, fmt.Errorf("-schema: %w", err)
		}
		blank.Schema = b
	case o.regex != "":
		blank.Regex = &o.regex
	case o.choice != "":
		blank.Choice = strings.Split(o.choice, ",")
	}
	if o.prompt == "" {
		return []piece{blank}, nil
	}
	return []piece{{Text: &o.prompt}, blank}, nil
}

func readPieces(path string) ([]piece, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("-canvas: %w", err)
	}
	var all []piece
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil {
		return nil, fmt.Errorf("-canvas %s: %w", path, err)
	}
	blanks := 0
	for i, p := range all {
		kinds := 0
		for _, given := range []bool{p.Text != nil, p.Schema != nil, p.Regex != nil, p.Choice != nil} {
			if given {
				kinds++
			}
		}
		switch {
		case kinds > 1:
			return nil, fmt.Errorf("-canvas %s: piece %d has %d of text, schema, regex and choice, want one", path, i, kinds)
		case (p.Text != nil || p.Choice != nil) && p.Tokens != 0:
			return nil, fmt.Errorf("-canvas %s: piece %d: tokens = %d, want none with text or choice", path, i, p.Tokens)
		case p.Text == nil && p.Choice == nil && p.Tokens < 1:
			return nil, fmt.Errorf("-canvas %s: piece %d: tokens = %d, want ≥ 1", path, i, p.Tokens)
		}
		if p.Text == nil {
			blanks++
		}
	}
	if blanks == 0 {
		return nil, fmt.Errorf("-canvas %s: %d pieces, none of them a blank", path, len(all))
	}
	return all, nil
}

func run(ctx context.Context, o options) (fmt.Stringer, error) { return write(ctx, o) }

func main() { command.Main("canvas", parse, run) }
