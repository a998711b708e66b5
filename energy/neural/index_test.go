package neural

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// put writes tensors to a file of a folder.
func put(t *testing.T, dir, name string, d DType, all []Tensor, meta map[string]string) string {
	path := filepath.Join(dir, name)
	w, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, WriteFile(w, d, all, meta))
	require.NoError(t, w.Close())
	return path
}

// Files as they are published: in parts with an index, behind a prefix of their own,
// among tensors of other things, in mixed precision, with tied weights left out.
func TestPublishedLayouts(t *testing.T) {
	net := randomNet(t, shapes["classes"], 1)
	dir := t.TempDir()
	var all []Tensor
	files := map[string]string{}
	for i, p := range net.Tensors() {
		p.Name = "_orig_mod.model." + p.Name
		all = append(all, p)
		files[p.Name] = []string{"a.safetensors", "b.safetensors"}[min(1, i/3)]
	}
	put(t, dir, "a.safetensors", F32, append([]Tensor{{"ema.decay", []int{}, []float32{1}}}, all[:3]...), map[string]string{"format": "pt"})
	put(t, dir, "b.safetensors", F32, all[3:], nil)
	index := func(files map[string]string) string {
		b, err := json.Marshal(map[string]any{"metadata": map[string]int{"total_size": 1}, "weight_map": files})
		require.NoError(t, err)
		path := filepath.Join(dir, "model.safetensors.index.json")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		return path
	}
	got, err := Open(index(files), Config{Length: 3, Heads: 2})
	require.NoError(t, err)
	assert.Equal(t, net.Weights(), got.Weights())
	assert.Equal(t, net.Config(), got.Config())

	last := all[len(all)-1].Name
	try := func(name, file string) error {
		changed := map[string]string{}
		for k, v := range files {
			changed[k] = v
		}
		changed[name] = file
		return exact.Error(Open(index(changed), Config{Length: 3, Heads: 2}))
	}
	assert.ErrorContains(t, try(last, "c.safetensors"), "c.safetensors: no such file")
	assert.ErrorContains(t, try(last, "a.safetensors"), `a.safetensors: no tensor "`+last)
	assert.ErrorContains(t, try(last, "../a.safetensors"), `is in "../a.safetensors", want a file within the folder`)
	empty := filepath.Join(dir, "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("{}"), 0o600))
	assert.EqualError(t, exact.Error(Open(empty, Config{})), "neural: "+empty+": no weight_map, want the file of every tensor")
	require.NoError(t, os.WriteFile(empty, []byte("["), 0o600))
	assert.ErrorContains(t, exact.Error(Open(empty, Config{})), empty+": unexpected end of JSON input")
	assert.ErrorIs(t, exact.Error(Open(filepath.Join(dir, "no.json"), Config{})), os.ErrNotExist)

	// Tied: the last layer is the embedding, and is left out.
	tied := net.Clone()
	var kept []Tensor
	var table []float32
	for _, p := range tied.Tensors() {
		switch p.Name {
		case "vocab_embed.embedding":
			table = p.Data
		case landmark:
			copy(p.Data, table)
			continue
		}
		kept = append(kept, p)
	}
	path := put(t, dir, "tied.safetensors", BF16, kept, map[string]string{landmark: "vocab_embed.embedding"})
	got, err = Open(path, Config{Length: 3, Heads: 2})
	require.NoError(t, err)
	for i, p := range got.Tensors() {
		assert.InDeltaSlice(t, tied.Tensors()[i].Data, p.Data, 0.02, p.Name)
	}
	path = put(t, dir, "untied.safetensors", "", kept, map[string]string{landmark: "nothing"})
	assert.ErrorContains(t, exact.Error(Open(path, Config{Length: 3, Heads: 2})), "no tensor")

	two := []Tensor{{"a." + landmark, []int{1, 1}, []float32{1}}, {"b." + landmark, []int{1, 1}, []float32{1}}}
	assert.ErrorContains(t, exact.Error(Open(put(t, dir, "two.safetensors", "", two, nil), Config{})), `several networks, ["a." "b."], want one`)
	one := `{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	assert.EqualError(t, exact.Error(read(file(`{"a":`+one+`,"a":`+one+`}`, 4))), `neural: w.safetensors: the header: two members "a"`)
	assert.ErrorContains(t, exact.Error(read(file(`null`, 4))), "the header: ")
}
