package projection_test

import (
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/stretchr/testify/require"
)

var (
	manyBytes  = flag.Int("json.bytes", 0, "diffusion samples of JSON over bytes, 24 sites")
	manyTokens = flag.Int("json.tokens", 0, "diffusion samples of JSON over 50 257 tokens, 128 sites")
)

// TestManySamplesAreJSON conditions masked diffusion on a recursive schema, as
// often as the flags say: every sample is judged by encoding/json and by isTree.
func TestManySamplesAreJSON(t *testing.T) {
	if *manyBytes == 0 && *manyTokens == 0 {
		t.Skip("neither -json.bytes nor -json.tokens")
	}
	bytes := text.Bytes()
	r := rand.New(rand.NewPCG(1, 17))
	tokens := append([]string(nil), bytes.Tokens...)
	tokens = append(tokens, `{"`, `"v`, `":`, ` {"`, `{"v":`, `"l":[`, `[{"`, `}]`, `]}`, `}},`, `},{`, `}]}`, `,"`, `": `, `"v": `)
	for len(tokens) < 50256 {
		b := make([]byte, 1+r.IntN(7))
		for i := range b {
			b[i] = ` 0123456789abcdefghijklmnopqrstuvwxyz{}[]":,`[r.IntN(44)]
		}
		tokens = append(tokens, string(b))
	}
	if *manyBytes > 0 {
		samples(t, bytes, 24, *manyBytes)
	}
	if *manyTokens > 0 {
		samples(t, text.Vocabulary{Tokens: tokens}, 128, *manyTokens)
	}
}

func samples(t *testing.T, v text.Vocabulary, sites, n int) {
	ctx := context.Background()
	g, err := grammar.JSONSchema(ctx, []byte(`{"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "additionalProperties": false,
		"properties": {"v": {"type": "integer", "maximum": 50}, "l": {"type": "array", "items": {"$ref": "#/$defs/t"}}}, "required": ["v"]}}}`),
		grammar.SchemaConfig{})
	require.NoError(t, err)
	levels := len(v.Tokens) + 1
	v.Tokens, v.Padding = append(v.Tokens, ""), []int32{int32(levels - 1)}
	l, err := g.Over(ctx, v)
	require.NoError(t, err)
	w, r := make([]float64, sites*levels), rand.New(rand.NewPCG(2, 17))
	for i := range w {
		w[i] = 2 * r.NormFloat64()
	}
	independent, err := model.NewIndependent(w, levels)
	require.NoError(t, err)
	d, err := denoise.NewIndependent(independent, denoise.Absorbing)
	require.NoError(t, err)
	run, err := diffusion.New(ctx, d, diffusion.Masked{Mask: int32(levels)},
		diffusion.Config{Seed: 1, Steps: 3, Batch: 4, Projector: projection.Path{Language: l}})
	require.NoError(t, err)
	judged, different := 0, map[string]bool{}
	x := make([]int32, 100*sites)
	for judged < n {
		x = x[:min(100, n-judged)*sites]
		require.NoError(t, run.Sample(ctx, x))
		for at := 0; at < len(x); at += sites {
			s := v.Text(x[at : at+sites])
			var value any
			require.NoError(t, json.Unmarshal([]byte(s), &value), "%q", s)
			require.True(t, isTree(value), "%q", s)
			different[s] = true
			judged++
		}
	}
	t.Logf("%d samples of %d sites over %d tokens, %d different: all valid", judged, sites, levels, len(different))
}
