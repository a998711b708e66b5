package diffusion_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

func TestSampleErrors(t *testing.T) {
	assert.NoError(t, diffusion.SampleErrors(nil).Err())
	assert.NoError(t, make(diffusion.SampleErrors, 3).Err())
	each := diffusion.SampleErrors{nil, io.EOF, nil, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}}
	err := fmt.Errorf("call: %w", each.Err())
	var failed diffusion.SampleErrors
	assert.True(t, errors.As(err, &failed))
	assert.Equal(t, each, failed)
	assert.Equal(t, 2, failed.Failed())
	assert.ErrorIs(t, err, io.EOF)
	assert.NotErrorIs(t, err, io.ErrUnexpectedEOF)
	var path *fs.PathError
	assert.ErrorAs(t, err, &path)
	assert.EqualError(t, failed, "EOF; open x: file does not exist (2 of 4 samples failed)")
	assert.EqualError(t, diffusion.SampleErrors{io.EOF}, "EOF")
	assert.EqualError(t, diffusion.SampleErrors{io.EOF, nil}, "EOF (1 of 2 samples failed)")
	assert.EqualError(t, diffusion.SampleErrors{io.EOF, io.EOF, io.EOF, io.EOF}, "EOF; EOF; EOF (4 of 4 samples failed)")
}

// The errors of samples do not hide that the call did not finish.
func TestUnfinished(t *testing.T) {
	var err error = &diffusion.Unfinished{Err: io.ErrClosedPipe, Finished: diffusion.SampleErrors{nil, io.EOF}}
	assert.ErrorIs(t, err, io.ErrClosedPipe)
	assert.NotErrorIs(t, err, io.EOF)
	assert.False(t, errors.As(err, new(diffusion.SampleErrors)))
	assert.EqualError(t, err, "io: read/write on closed pipe; before: EOF (1 of 2 samples failed)")
}

// A run goes on past samples that cannot be made.
func ExampleSampleErrors() {
	sample := func(rows int) error { // stands for a diffusion.Runner
		each := make(diffusion.SampleErrors, rows)
		each[1] = errors.New("no way to the set")
		return each.Err()
	}
	err := sample(3)
	var failed diffusion.SampleErrors
	if err != nil && !errors.As(err, &failed) {
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

// A call that ends early says which of the samples before that failed.
func ExampleUnfinished() {
	var err error = &diffusion.Unfinished{Err: errors.New("disk full"), Finished: diffusion.SampleErrors{nil, errors.New("no way to the set"), nil}}
	var early *diffusion.Unfinished
	if errors.As(err, &early) {
		fmt.Println(early.Err, len(early.Finished), early.Finished.Failed())
	}
	// Output: disk full 3 1
}
