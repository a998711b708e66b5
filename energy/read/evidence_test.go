package read_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/read"
)

func TestEvidence(t *testing.T) {
	for text, want := range map[string]map[int]int32{
		"2 3 1 0 2\n":             {3: 1, 0: 2},
		"# seen\n1\n2 3 1\n0\n2":  {3: 1, 0: 2},
		"0":                       {},
		"1 0":                     {},
		"1 5 7":                   {5: 7},
		"2 4 1 4 1":               {4: 1},
		"3 0 0\n1 1\n2 2\n% none": {0: 0, 1: 1, 2: 2},
	} {
		got, err := read.Evidence(strings.NewReader(text))
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":               "read: Evidence: no numbers, want how many variables are observed",
		"2 1 1":          "read: Evidence: 2 numbers after 2, want a variable and a value for each of as many",
		"2 1 0 1":        "read: Evidence: 2 samples of evidence, want 1",
		"1 -1 0":         "read: Evidence: line 1: column 2: a number = -1, want an integer in 0 … 2147483647",
		"2 4 1\n4 0":     "read: Evidence: variable 4 has the values 1 and 0, want one",
		"1 1 2147483648": "read: Evidence: line 1: column 3: a number = 2147483648, want an integer in 0 … 2147483647",
	} {
		_, err := read.Evidence(strings.NewReader(text))
		require.EqualError(t, err, want)
	}
}

func FuzzEvidence(f *testing.F) {
	f.Add("2 0 1 2 0")
	f.Add("1\n1 3 4")
	f.Fuzz(func(t *testing.T, text string) {
		fixed, err := read.Evidence(strings.NewReader(text))
		require.True(t, err != nil || fixed != nil)
		for i, l := range fixed {
			require.True(t, i >= 0 && l >= 0)
		}
	})
}
