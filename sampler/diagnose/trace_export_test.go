package diagnose

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/npy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// small is a trace of two chains × three draws of two sites.
func small() *Trace {
	t := NewTrace(first, second).Name("m.1", "m.2").KeepStates()
	for c := range 2 {
		for i := range 3 {
			t.Observe(c, i, []int32{int32(100 * i), int32(c)}, &sampler.Info{Energy: float64(i), Accept: 0.1, Moved: i})
		}
	}
	return t
}

func TestWriteCSV(t *testing.T) {
	tr := small()
	tr.Observe(0, 3, []int32{7, 7}, nil) // chain 1 lacks it
	var b bytes.Buffer
	require.NoError(t, tr.WriteCSV(&b, 1))
	assert.Equal(t, `# gibbsite draws
# num_samples = 3
# save_warmup = 0
# id = 2
lp__,accept_stat__,moves__,m.1,m.2,x.1,x.2
0,0.1,0,0,1,0,1
-1,0.1,1,0.1,1,100,1
-2,0.1,2,0.2,1,200,1
`, b.String())

	v := math.Inf(1)
	odd := NewTrace(func([]int32) float64 { v = -v; return v })
	odd.Observe(0, 0, nil, nil)
	odd.Observe(0, 1, nil, &sampler.Info{Energy: math.Inf(1)})
	b.Reset()
	require.NoError(t, odd.WriteCSV(&b, 0))
	assert.Contains(t, b.String(), "lp__,accept_stat__,moves__,f1\nNaN,NaN,0,-inf\n-inf,0,0,inf\n")
}

// arviz reads a file by the rules of ArviZ's from_cmdstan (io_cmdstan.py):
// lines that start with # are comments and nowhere else may one be; the first
// other line names the columns; names that end in __ are statistics, and all
// others are split at dots into a name and 1-based indices.
func arviz(t *testing.T, r io.Reader) (columns []string, draws [][]float64) {
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case columns == nil:
			columns = strings.Split(line, ",")
			for _, c := range columns {
				if strings.HasSuffix(c, "__") {
					continue
				}
				for _, index := range strings.Split(c, ".")[1:] {
					n, err := strconv.Atoi(index)
					require.NoError(t, err)
					require.Positive(t, n)
				}
			}
		default:
			var row []float64
			for _, cell := range strings.Split(line, ",") {
				v, err := strconv.ParseFloat(cell, 64)
				require.NoError(t, err)
				row = append(row, v)
			}
			require.Len(t, row, len(columns))
			draws = append(draws, row)
		}
	}
	return columns, draws
}

func TestCSVGivesTheDrawsBack(t *testing.T) {
	x := posteriorSeries(t)["slow"]
	tr := NewTrace(first, func(x []int32) float64 { return math.Exp(first(x)) })
	feed(tr, x, 0, 250)
	for range 10 { // longer than one buffer
		feed(tr, x, 0, 250)
	}
	paths, err := tr.SaveCSV(filepath.Join(t.TempDir(), "draws"))
	require.NoError(t, err)
	require.Len(t, paths, 4)
	exps, err := tr.Values("f2")
	require.NoError(t, err)
	for c, path := range paths {
		assert.Equal(t, "draws_"+strconv.Itoa(c+1)+".csv", filepath.Base(path))
		f, err := os.Open(path)
		require.NoError(t, err)
		columns, draws := arviz(t, f)
		require.NoError(t, f.Close())
		assert.Equal(t, []string{"lp__", "accept_stat__", "moves__", "f1", "f2"}, columns)
		require.Len(t, draws, 11*250)
		for i, row := range draws {
			require.Equal(t, []float64{-float64(i % 250), 0.25 * float64(c), float64(c), x[c][i%250], exps[c][i]}, row)
		}
	}
}

func TestCSVNames(t *testing.T) {
	for _, names := range [][2]string{
		{"", "b"}, {"a b", "b"}, {"a,b", "b"}, {"1a", "b"}, {"#a", "b"}, {"a__", "b"}, {"a.0", "b"}, {"a.x", "b"}, {"a.", "b"},
		{"a", "a"}, {"a", "a.1"}, {"a.1", "a.1.1"}, {"a\n", "b"}, {"x", "b"}, {"x.1", "b"}, {"é", "b"},
	} {
		tr := NewTrace(first, second).Name(names[0], names[1]).KeepStates()
		var b bytes.Buffer
		assert.ErrorContains(t, tr.WriteCSV(&b, 0), "diagnose: WriteCSV: the function name ", names)
		assert.Zero(t, b.Len())
	}
	tr := NewTrace(first, second).Name("x", "a_b.12.3")
	tr.Observe(0, 0, []int32{1, 2}, nil)
	assert.NoError(t, tr.WriteCSV(io.Discard, 0))
	assert.PanicsWithValue(t, "diagnose: chain = 1, want 0 ≤ chain < 1", func() { tr.WriteCSV(io.Discard, 1) })
}

func TestNPY(t *testing.T) {
	tr, dir := small(), t.TempDir()
	require.NoError(t, tr.SaveNPY(filepath.Join(dir, "f.npy")))
	require.NoError(t, tr.SaveStatesNPY(filepath.Join(dir, "x.npy")))
	f, err := os.Open(filepath.Join(dir, "f.npy"))
	require.NoError(t, err)
	defer f.Close()
	shape, values, err := npy.Read[float64](f)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3, 2}, shape)
	assert.Equal(t, []float64{0, 0, 0.1, 0, 0.2, 0, 0, 1, 0.1, 1, 0.2, 1}, values)
	g, err := os.Open(filepath.Join(dir, "x.npy"))
	require.NoError(t, err)
	defer g.Close()
	shape, states, err := npy.Read[int32](g)
	require.NoError(t, err)
	assert.Equal(t, []int{2, 3, 2}, shape)
	assert.Equal(t, []int32{0, 0, 100, 0, 200, 0, 0, 1, 100, 1, 200, 1}, states)
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestExportErrors(t *testing.T) {
	assert.ErrorIs(t, small().WriteCSV(fullDisk{}, 0), errFull)
	assert.ErrorIs(t, small().WriteNPY(fullDisk{}), errFull)
	long := NewTrace(first)
	for i := range 10_000 {
		long.Observe(0, i, []int32{int32(i)}, nil)
	}
	assert.ErrorIs(t, long.WriteCSV(fullDisk{}, 0), errFull)
	assert.EqualError(t, long.WriteStatesNPY(io.Discard), "diagnose: WriteStatesNPY: no states were kept")
	ragged := NewTrace().KeepStates()
	ragged.Observe(0, 0, []int32{1}, nil)
	ragged.Observe(1, 0, []int32{1, 2}, nil)
	assert.EqualError(t, ragged.WriteStatesNPY(io.Discard), "diagnose: WriteStatesNPY: chain 1 has 2 sites, want 1 as the first")
	for _, err := range []error{NewStreamingTrace().WriteNPY(io.Discard), NewStreamingTrace().WriteCSV(io.Discard, 0)} {
		assert.ErrorIs(t, err, ErrStreaming)
	}
}

// A link stays one: the file that it names is replaced.
func TestSaveWritesThroughALink(t *testing.T) {
	dir := t.TempDir()
	path, to := filepath.Join(dir, "f.npy"), filepath.Join(dir, "elsewhere")
	require.NoError(t, os.WriteFile(to, []byte("old"), 0o600))
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Skip(err)
	}
	require.NoError(t, small().SaveNPY(path))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)
	text, err := os.ReadFile(to)
	require.NoError(t, err)
	assert.NotEqual(t, "old", string(text))
}

// An error leaves the old file and nothing else.
func TestSaveKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "draws_1.csv")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	_, err := NewTrace(first).Name("a b").SaveCSV(filepath.Join(dir, "draws"))
	assert.Error(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, 1)

	assert.Error(t, small().SaveNPY(filepath.Join(dir, "absent", "f.npy")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "f.npy", "in the way"), 0o700))
	assert.Error(t, small().SaveNPY(filepath.Join(dir, "f.npy")), "a directory cannot be replaced")
	assert.NoFileExists(t, filepath.Join(dir, "f.npy.partial"))
}
