package command_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

// A byte-order mark is no part of the first name, and does not hide its quotes.
func TestTable(t *testing.T) {
	want := [][]string{{"a, b", "c"}, {"1", "0"}}
	for _, text := range []string{"\"a, b\",c\n1,0\n", "\ufeff\"a, b\",c\r\n\r\n1, 0\r\n"} {
		rows, err := command.Table(strings.NewReader(text)).ReadAll()
		require.NoError(t, err)
		assert.Equal(t, want, rows)
	}
	for _, text := range []string{"", "\ufeff"} {
		rows, err := command.Table(strings.NewReader(text)).ReadAll()
		require.NoError(t, err)
		assert.Empty(t, rows)
	}
}
