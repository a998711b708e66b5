package generator_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/generator"
)

// A stream of seed 1 and chain 0 from each generator.
func ExampleKind() {
	for _, g := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
		var s sampler.Stream
		if err := s.SeedOf(g, 1, 0); err != nil {
			panic(err)
		}
		fmt.Printf("%v: %08x %08x\n", g, s.Uint32(), s.Uint32())
	}
	// Output:
	// Philox4x32-10: e3e80670 ac08141b
	// ARS4x32-7: f0370c86 82d9e305
}

func TestText(t *testing.T) {
	var k generator.Kind
	f := flag.NewFlagSet("", flag.ContinueOnError)
	f.TextVar(&k, "generator", generator.Philox4x32, "of random words")
	require.NoError(t, f.Parse([]string{"-generator", "ARS4x32-7"}))
	assert.Equal(t, generator.ARS4x32, k)
	assert.EqualError(t, k.UnmarshalText([]byte("ars")), `generator = "ars", want "Philox4x32-10" or "ARS4x32-7"`)
	assert.Equal(t, generator.ARS4x32, k)
	for _, k := range []generator.Kind{generator.Philox4x32, generator.ARS4x32} {
		text, err := k.MarshalText()
		require.NoError(t, err)
		var back generator.Kind
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, k, back)
	}
	_, err := generator.Kind(2).MarshalText()
	assert.EqualError(t, err, "generator = 2, want 0 (Philox4x32-10) or 1 (ARS4x32-7)")
	assert.Equal(t, "generator.Kind(2)", generator.Kind(2).String())
}
