package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
)

// Missing values, texts, constant columns and targets that are not 0 and 1 are errors
// that say where.
func TestTableErrors(t *testing.T) {
	rows := func(line string, n int) string { return strings.Repeat(line, n) }
	both := rows("1,2,0\n2,1,1\n", 10)
	for want, text := range map[string]string{
		`line 22, column "b": no value, want a number`:                      "a,b,y\n" + both + "1,,0\n",
		`line 22, column "a": "old", want a finite number`:                  "a,b,y\n" + both + "old,1,0\n",
		`line 22, column "a": "NaN", want a finite number`:                  "a,b,y\n" + both + "NaN,1,0\n",
		`line 22, column "a": "1e39", want a finite number`:                 "a,b,y\n" + both + "1e39,1,0\n",
		`line 22, column "y": "2", want 0 … 1 in the column`:                "a,b,y\n" + both + "1,1,2\n",
		`column "b" is 3 in every training row`:                             "a,b,y\n" + rows("1,3,0\n2,3,1\n", 10),
		`the column to predict is 1 in every training row`:                  "a,b,y\n" + rows("1,3,1\n2,4,1\n", 10),
		`9 rows, want at least 10`:                                          "a,b,y\n" + rows("1,3,1\n2,4,0\n0,1,1\n", 3),
		`column 2 has the name "a" of another column, want different names`: "\ufeffa,a,y\n" + both,
		`wrong number of fields`:                                            "a,b,y\n1,2\n",
		`1 columns, want at least 2`:                                        "y\n1\n",
		`the names of the columns: EOF`:                                     "",
	} {
		path := filepath.Join(t.TempDir(), "table.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		o, err := parse([]string{"-csv", path, "-hidden", "2", "-steps", "1"})
		require.NoError(t, err)
		_, err = run(context.Background(), o)
		require.ErrorContains(t, err, want)
	}
	for want, args := range map[string]string{
		"-target": "-target y", "-n = 10": "-n 10", "-hidden = 0": "-hidden 0", "-chains = 0": "-chains 0", "-steps = 0": "-steps 0",
		"-batch = -1": "-batch -1", "-weight = 0": "-weight 0", "-alpha = -1": "-alpha -1", `no sampler "mala"; there are gibbs,`: "-method mala",
		`unexpected argument "x"`: "x", `no shape "adult"; there are compas, news, blog`: "-shape adult", `-csv = "a.csv" with -shape = "news", want only one`: "-csv a.csv -shape news",
	} {
		_, err := parse(strings.Fields(args))
		assert.ErrorContains(t, err, want)
	}
	o, err := parse(strings.Fields("-n 100 -batch 101 -hidden 2"))
	require.NoError(t, err)
	_, err = run(context.Background(), o)
	require.ErrorContains(t, err, "-batch = 101, want at most the 100 rows")
}

// A table whose target is a column in the middle: what any sampler that moves learns from
// two clear groups is right nearly everywhere, and chains that have not moved are not.
func TestTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,y,b\n")
	for i := range 100 {
		fmt.Fprintf(&b, "%v,%d,%v\n", float64(i%2)+0.01*float64(i%7), i%2, i%3)
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	o, err := parse([]string{"-csv", path, "-target", "y", "-hidden", "10", "-chains", "16", "-steps", "300"})
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	require.Len(t, r.Runs, 4)
	assert.Equal(t, 41, r.Weights)
	assert.Equal(t, []int{80, 20, 2}, []int{r.Rows, r.TestRows, r.Inputs})
	for _, v := range r.Runs {
		assert.Less(t, v.trace[0].value, -0.2, v.Method)
		assert.Greater(t, v.TrainLogLik, v.trace[0].value/2, v.Method)
		assert.Greater(t, v.Accuracy, 0.9, v.Method)
		assert.InDelta(t, -v.TestLogLik, v.TestRMSE*v.TestRMSE, 1e-12)
	}
	assert.NotContains(t, r.String(), "paper")
	picturetest.Album(t, r.Figures(), "training")
}

// Targets may be probabilities. The baseline is the mean square distance from their mean.
func TestProbabilities(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range 50 {
		fmt.Fprintf(&b, "%d,%d,%v\n", i%2, i%3, []float64{0.25, 0.75}[i%2])
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	o, err := parse([]string{"-csv", path, "-hidden", "4", "-chains", "4", "-steps", "40", "-method", "dmala"})
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	assert.InDelta(t, -0.0625, r.Baseline, 0.001)
	assert.Greater(t, r.Runs[0].TrainLogLik, r.Runs[0].trace[0].value)
}

// Batches are for DULA alone; the object of -json has every run.
func TestBatches(t *testing.T) {
	o, err := parse(strings.Fields("-n 200 -hidden 5 -chains 4 -steps 3 -batch 20 -method dmala,dula"))
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	assert.Contains(t, r.String(), "DULA from batches of 20")
	assert.Contains(t, r.String(), "paper: train")
	text, err := json.Marshal(r)
	require.NoError(t, err)
	for _, part := range []string{`"problem":"generated"`, `"rows":200,"test_rows":50,"inputs":13`, `"weights":76`, `{"method":"dula","train_loglik":-0.`, `{"method":"dmala",`} {
		assert.Contains(t, string(text), part)
	}
	o.batch = 0
	whole, err := run(context.Background(), o)
	require.NoError(t, err)
	assert.NotEqual(t, whole.Runs[0].TrainLogLik, r.Runs[0].TrainLogLik)
	assert.Equal(t, whole.Runs[1].TrainLogLik, r.Runs[1].TrainLogLik)
}

// Generated tables for regression have the paper's numbers of inputs and targets within 0 … 1, which
// the inputs explain in part.
func TestShapes(t *testing.T) {
	for name, inputs := range map[string]int{"news": 58, "blog": 280} {
		o, err := parse([]string{"-shape", name, "-n", "300", "-hidden", "5", "-chains", "4", "-steps", "40", "-method", "dmala"})
		require.NoError(t, err)
		d, err := load(o)
		require.NoError(t, err)
		assert.Len(t, d.train.x, 300*inputs, name)
		zeros := 0
		for _, y := range d.train.y {
			require.True(t, y >= 0 && y <= 1, name)
			if y == 0 {
				zeros++
			}
		}
		assert.InDelta(t, 300*shapes[name].zeros, zeros, 45, name)
		r, err := compare(context.Background(), o, d)
		require.NoError(t, err)
		assert.Greater(t, r.Runs[0].TrainLogLik, r.Runs[0].trace[0].value)
		assert.NotContains(t, r.String(), "paper")
	}
}
