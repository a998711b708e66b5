package engine_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/document"
	"github.com/gibbsite-go/gibbsite/site/engine/minimum"
	"github.com/gibbsite-go/gibbsite/site/engine/pattern"
)

var late = flag.Duration("late", 0, "fail if a call takes longer than this under a deadline of 50 ms; 0: the deadline has passed when it begins")

// A deadline ends every call that may be long, also where nothing interrupts a busy
// goroutine:
//
//	GOOS=js GOARCH=wasm go -C site test -exec "$(go env GOROOT)/lib/wasm/go_js_wasm_exec" -run Deadline -v ./engine -late 150ms
func TestDeadline(t *testing.T) {
	for _, job := range []struct {
		name, call string
		args       any
		before     func(e *engine.Engine) // outside the deadline
	}{
		{name: "a pattern of a million states", call: "strings", args: pattern.Pattern{Pattern: `(a|b)*a(a|b){19}`, Length: 40, Model: "uniform", Samples: 1}},
		{name: "a text and a pattern", call: "strings", args: pattern.Pattern{Pattern: `.*(.*[aeiou].*){12}`, Length: 64, UpTo: true, Model: "text", Samples: 1000}},
		{name: "draws of a pattern", call: "strings", args: pattern.Pattern{Pattern: `(.*[aeiou].*){20}`, Length: 64, UpTo: true, Model: "uniform", Samples: 1000}},
		{name: "a schema with a long pattern", call: "json", args: document.Schema{Schema: `{"type": "string", "pattern": "^(a|b)*a(a|b){19}$"}`, Length: 60, Model: "uniform", Average: 8, Samples: 1}},
		{name: "a schema of many members", call: "json", args: document.Schema{Schema: members(400), Length: 300, Model: "text", Average: 8, Samples: 100}},
		{name: "a schema without a bound on depth", call: "json", args: document.Schema{Schema: `{}`, Length: 300, Model: "text", Average: 8, Samples: 100}},
		{name: "draws of a person", call: "json", args: document.Schema{Schema: person, Length: 300, Model: "text", Average: 64, Samples: 100}},
		{name: "Gibbs on 256 by 256 sites", call: "lattice/run", args: frames, before: start(256, "gibbs", 2)},
		{name: "DMALA on 256 by 256 sites", call: "lattice/run", args: frames, before: start(256, "dmala", 2)},
		{name: "Wolff on 256 by 256 sites", call: "lattice/run", args: frames, before: start(256, "wolff", 2)},
		{name: "Hamming balls on 256 by 256 sites of seven levels", call: "lattice/run", args: frames, before: start(256, "hammingball", 7)},
		{name: "tempering on 128 by 128 sites of seven levels", call: "lattice/run", args: frames, before: start(128, "tempering", 7)},
		{name: "Hamming balls on 256 by 256 sites begin", call: "lattice/start", args: map[string]any{"Levels": 7, "Side": 256, "Method": "hammingball", "Seed": 1, "Temperature": 1}},
		{name: "a search on a dense graph", call: "minimise/run", args: map[string]any{"Rounds": 1 << 14, "MS": 1e9}, before: func(e *engine.Engine) {
			args, err := json.Marshal(minimum.Problem{Text: rudy(700, 699), Seed: 1})
			require.NoError(t, err)
			_, err = e.Call(context.Background(), "minimise/start", args)
			require.NoError(t, err)
		}},
		{name: "a search on a sparse graph", call: "minimise/run", args: map[string]any{"Rounds": 1 << 14, "MS": 1e9}, before: func(e *engine.Engine) {
			args, err := json.Marshal(minimum.Problem{Text: rudy(5000, 4), Seed: 1})
			require.NoError(t, err)
			_, err = e.Call(context.Background(), "minimise/start", args)
			require.NoError(t, err)
		}},
		{name: "a bound for a sparse graph", call: "minimise/bound", args: struct{}{}, before: func(e *engine.Engine) {
			args, err := json.Marshal(minimum.Problem{Text: rudy(5000, 8), Seed: 1})
			require.NoError(t, err)
			_, err = e.Call(context.Background(), "minimise/start", args)
			require.NoError(t, err)
		}},
		{name: "a file of a quarter of a million edges", call: "minimise/start", args: minimum.Problem{Text: rudy(5000, 100), Seed: 1}},
	} {
		t.Run(job.name, func(t *testing.T) {
			e := whole()
			if job.before != nil {
				job.before(e)
			}
			args, err := json.Marshal(job.args)
			require.NoError(t, err)
			deadline := 50 * time.Millisecond
			if *late == 0 {
				deadline = 0
			}
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			_, err = e.Call(ctx, job.call, args)
			took := time.Since(began)
			t.Logf("%.0f ms, %v", engine.Milliseconds(began), err)
			if *late == 0 || err != nil && took >= deadline {
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			}
			if *late > 0 {
				assert.LessOrEqual(t, took, *late)
			}
		})
	}
}

var frames = map[string]any{"Steps": 1_000_000, "MS": 1e9}

func start(side int, method string, levels int) func(e *engine.Engine) {
	return func(e *engine.Engine) {
		args := fmt.Sprintf(`{"Levels":%d,"Side":%d,"Method":%q,"Seed":1,"Temperature":1,"Anew":true}`, levels, side, method)
		if _, err := e.Call(context.Background(), "lattice/start", []byte(args)); err != nil {
			panic(err)
		}
	}
}

// members is a schema of n optional members.
func members(n int) string {
	var s strings.Builder
	s.WriteString(`{"type": "object", "additionalProperties": false, "minProperties": 40, "properties": {`)
	for i := range n {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, `"p%d": {"enum": ["a%d", "b%d", %d]}`, i, i, i, i)
	}
	return s.String() + "}}"
}

// rudy is a ring of n vertices, each with edges to the next ones.
func rudy(n, degree int) string {
	var s strings.Builder
	half := degree / 2
	fmt.Fprintf(&s, "%d %d\n", n, n*half)
	for i := range n {
		for k := range half {
			fmt.Fprintf(&s, "%d %d %d\n", i+1, (i+k+1)%n+1, 1-2*((i+k)%2))
		}
	}
	return s.String()
}
