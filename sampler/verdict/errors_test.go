package verdict_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/sampler/verdict"
)

func TestErrors(t *testing.T) {
	assert.NoError(t, verdict.Of(nil))
	assert.NoError(t, verdict.Of(make([]error, 3)))
	each := []error{nil, io.EOF, nil, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}}
	err := errors.Join(fmt.Errorf("call: %w", verdict.Of(each)), io.ErrClosedPipe)
	var failed verdict.Errors
	assert.True(t, errors.As(err, &failed))
	assert.Equal(t, verdict.Errors(each), failed)
	assert.Equal(t, 2, failed.Failed())
	assert.Len(t, failed, 4)
	assert.ErrorIs(t, err, io.EOF)
	assert.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	var path *fs.PathError
	assert.ErrorAs(t, err, &path)
	assert.EqualError(t, failed, "EOF; open x: file does not exist (2 of 4 samples failed)")
	assert.EqualError(t, verdict.Of([]error{io.EOF}), "EOF")
	assert.EqualError(t, verdict.Of([]error{io.EOF, nil}), "EOF (1 of 2 samples failed)")
	assert.EqualError(t, verdict.Of([]error{io.EOF, io.EOF, io.EOF, io.EOF}), "EOF; EOF; EOF (4 of 4 samples failed)")
}

// A run goes on past samples that cannot be made.
func ExampleErrors() {
	sample := func(rows int) error { // stands for a diffusion.Runner
		each := make([]error, rows)
		each[1] = errors.New("no way to the set")
		return verdict.Of(each)
	}
	err := sample(3)
	failed, finished := err.(verdict.Errors)
	if err != nil && !finished {
		panic(err) // of the call
	}
	for i, err := range failed {
		fmt.Println(i, err)
	}
	// Output:
	// 0 <nil>
	// 1 no way to the set
	// 2 <nil>
}
