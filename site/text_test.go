package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The landing page is README.md with links: from a package to its documentation and from an
// example, even one with a package's name, to its page in the gallery.
func TestLanding(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, buildLanding(t.Context(), dir))
	b, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	for _, want := range []string{
		`git clone https://github.com/gibbsite-go/gibbsite`,
		`<td><a href="` + reference + `/problem"><code>problem</code></a>, `,
		`<td><a href="gallery/problem/index.html"><code>problem</code></a></td>`,
		`<a href="gallery/ising/index.html"><code>ising -anneal</code></a>`,
		`<code>sampler/<wbr>mcmc</code>`,
		`times as fast as the same in PyTorch`,
	} {
		assert.Contains(t, string(b), want)
	}
}

func TestSentence(t *testing.T) {
	for doc, want := range map[string]string{
		"Package auto chooses a sampling method by trial.":          "Chooses a sampling method by trial.",
		"Package ground searches for states of pairs ([Pairwise]).": "Searches for states of pairs (Pairwise).",
		"Package layer works over flat []float32:":                  "Works over flat []float32.",
	} {
		assert.Equal(t, want, sentence(doc))
	}
}

// The gallery has every example but the one that needs a published network.
func TestGalleryIsComplete(t *testing.T) {
	shown := map[string]bool{"canvas": true}
	for _, e := range gallery {
		shown[e.Name] = true
	}
	files, err := filepath.Glob("../examples/*/main.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		name := filepath.Base(filepath.Dir(f))
		assert.True(t, shown[name], "%s is missing", name)
	}
}

// What a program prints stands out from the code above it.
func TestOutputs(t *testing.T) {
	html, err := render([]byte("```go\ncode\n```\n\n```text\nprinted\n```\n"), nil)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(html, `<pre tabindex="0"><code class="language-go">`))
	assert.Equal(t, 1, strings.Count(html, `<pre class="output" tabindex="0"><code>printed`))
}
