package command

import (
	"bufio"
	"encoding/csv"
	"io"
)

// Table returns a reader of tables whose values are separated by commas, from behind the
// byte-order mark that some programs set before the names of the columns, quoted or not.
func Table(r io.Reader) *csv.Reader {
	const mark = "\ufeff"
	b := bufio.NewReader(r)
	if head, _ := b.Peek(len(mark)); string(head) == mark {
		_, _ = b.Discard(len(mark)) // which Peek has found
	}
	c := csv.NewReader(b)
	c.TrimLeadingSpace = true
	return c
}
