package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

const document = "# Title\n\n" +
	"<!-- figures: ./a -json -->\n<!-- nightly figures: ./b -->\n" +
	"| what | mean | `x1` | seconds | % |\n|---|---|---|---|---|\n" +
	"| row 7 | −0.50 ± .02 | 1 234 of 2000 | 99 | 41.3 |\n" +
	"| tiny | 1.4e-7 | `12` | 1 | |\n\n" +
	"Text.\n\n| no | commands |\n|---|---|\n| 1 | 2 |\n\n" +
	"<!-- no figures: they are settings -->\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" +
	"| words | only |\n|---|---|\n| a | b |\n"

// Tables are found with their commands; those without figures do not count.
func TestTables(t *testing.T) {
	all := tables(document)
	require.Len(t, all, 3)
	require.Equal(t, []string{"./a -json", "./b"}, all[0].commands)
	require.True(t, all[0].nightly)
	require.Equal(t, 5, all[0].line)
	require.Empty(t, all[1].commands)
	require.Equal(t, "they are settings", all[2].reason)
}

// The figures of a row are on one line, rounded to their digits, or those of every column
// are.
func TestMissing(t *testing.T) {
	table := tables(document)[0]
	row, tiny := []float64{-.4962, .0213, 1234, 2000, .4126}, []float64{1.43e-7, 8}
	require.Empty(t, table.missing([][]float64{{1}, row, tiny}))
	require.Empty(t, table.missing([][]float64{{-.4962, .0213, 1.43e-7}, {1234, 2000}, {.4126}}), "turned")
	require.Equal(t, []string{
		`row "row 7" is on no line: −0.50, 41.3 not on the nearest, [-0.494 0.0213 1234 2000 41.36]`,
		`row "tiny" is on no line: 1.4e-7 not on the nearest, [-0.494 0.0213 1234 2000 41.36]`,
	}, table.missing([][]float64{{-.494, .0213, 1234, 2000, 41.36}, {1.5e-7}}))
	require.Len(t, table.missing([][]float64{append(row[:4:4], 7), {.4126}, tiny}), 1, "on two lines")
	require.Contains(t, table.missing(nil)[0], "nothing is printed")
	table.anywhere = true
	require.Empty(t, table.missing([][]float64{append(row[:4:4], 7), {.4126}, tiny}))
}

// A command runs once, and its failure is named.
func TestOutputs(t *testing.T) {
	calls := 0
	o := outputs{known: map[string]func() ([][]float64, error){}, run: func(command string) ([]byte, error) {
		if calls++; command == "./bad" {
			return nil, errors.New("exit status 1")
		}
		return []byte("-1.5 [2e3,.5]\nno\n−7%\n"), nil
	}}
	for range 2 {
		n, err := o.of([]string{"./a"})
		require.NoError(t, err)
		require.Equal(t, [][]float64{{-1.5, 2000, .5}, {-7}}, n)
	}
	require.Equal(t, 1, calls)
	_, err := o.of([]string{"./bad"})
	require.ErrorContains(t, err, "go run ./bad: exit status 1")
}

// Arguments of go run follow its flag -C.
func TestRun(t *testing.T) {
	_, err := run("-C ../../.. ./internal/tools/imports")
	require.NoError(t, err)
	_, err = run("./nothing")
	require.ErrorContains(t, err, "exit status 1")
}
