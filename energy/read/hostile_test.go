package read_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A message shows the beginning of what is wrong, however long that is.
func TestErrorsAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	bqm := func(kind, variables string) string {
		return fmt.Sprintf(`{"type":%q,"version":{"bqm_schema":"3.0.0"},"variable_labels":["a"],"variable_type":%q,"offset":0,
			"linear_biases":[0],"quadratic_head":[],"quadratic_tail":[],"quadratic_biases":[]}`, kind, variables)
	}
	term := fmt.Sprintf(`{"id_head":1%s,"id_tail":1%[1]s,"coeff":1}`, strings.Repeat("0", 1<<20))
	for name, err := range map[string]error{
		"type":            second(read.BQM(strings.NewReader(bqm(long, "SPIN")))),
		"variable_type":   second(read.BQM(strings.NewReader(bqm("BinaryQuadraticModel", long)))),
		"variable_domain": second(read.BQPJSON(strings.NewReader(`{"variable_ids":[0],"variable_domain":"` + long + `"}`))),
		"id_head": second(read.BQPJSON(strings.NewReader(fmt.Sprintf(`{"variable_ids":[1%s],"variable_domain":"spin","scale":1,"offset":0,
			"linear_terms":[],"quadratic_terms":[%s]}`, strings.Repeat("0", 1<<20), term)))),
	} {
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), name)
		assert.Less(t, len(err.Error()), 300, name)
	}
}

func second(_ *model.Quadratic, _ []string, err error) error { return err }

// Some programs put U+FEFF before a text: it is no part of a name or of a number.
func TestByteOrderMarks(t *testing.T) {
	const mark = "\uFEFF"
	for name, c := range map[string]struct {
		text string
		read func(r io.Reader) (any, error)
	}{
		"CSV": {"a,b\n1,2\n3,4\n", func(r io.Reader) (any, error) {
			m, names, err := read.CSV(r, read.CSVConfig{})
			return []any{m, names}, err
		}},
		"COO":    {"0 1 2.5\n", func(r io.Reader) (any, error) { return read.COO(r, read.COOConfig{}) }},
		"Rudy":   {"2 1\n1 2 1\n", func(r io.Reader) (any, error) { return read.Rudy(r) }},
		"QBSolv": {"p qubo 0 2 2 0\n0 0 1\n1 1 1\n", func(r io.Reader) (any, error) { return read.QBSolv(r) }},
		"UAI":    {"MARKOV\n1\n2\n1\n1 0\n2\n1 3\n", func(r io.Reader) (any, error) { return read.UAI(r) }},
		"BQPJSON": {`{"variable_ids":[0],"variable_domain":"spin","scale":1,"offset":0,"linear_terms":[],"quadratic_terms":[]}`,
			func(r io.Reader) (any, error) { m, _, err := read.BQPJSON(r); return m, err }},
	} {
		want, err := c.read(strings.NewReader(c.text))
		require.NoError(t, err, name)
		got, err := c.read(strings.NewReader(mark + c.text))
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
}
