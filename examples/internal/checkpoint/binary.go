package checkpoint

import (
	"bytes"
	"context"
	"encoding"
	"encoding/binary"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"io"
)

// most is the maximum length of a block, 16 GiB. It limits the memory that a damaged length
// field can request.
const most = 1 << 34

// block writes the length and the checksum of b, followed by b.
func block(w io.Writer, b []byte) error {
	head := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
	head = binary.LittleEndian.AppendUint32(head, crc32.ChecksumIEEE(b))
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

func unblock(r io.Reader) ([]byte, error) {
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint64(head[:])
	if size > most {
		return nil, fmt.Errorf("a part of %d bytes, want ≤ %d", size, uint64(most))
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, r, int64(size)); err != nil {
		return nil, err
	}
	if crc32.ChecksumIEEE(b.Bytes()) != binary.LittleEndian.Uint32(head[8:]) {
		return nil, fmt.Errorf("a part of %d bytes is damaged", size)
	}
	return b.Bytes(), nil
}

// Binary returns a Saver for a value that marshals itself, such as a trace.
func Binary(v interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}) Saver {
	return binarySaver{v.AppendBinary, v.UnmarshalBinary}
}

type binarySaver struct {
	write func(b []byte) ([]byte, error)
	read  func(b []byte) error
}

func (s binarySaver) Save(w io.Writer) error {
	b, err := s.write(nil)
	if err != nil {
		return err
	}
	return block(w, b)
}

func (s binarySaver) Load(_ context.Context, r io.Reader) error {
	b, err := unblock(r)
	if err != nil {
		return err
	}
	return s.read(b)
}

// Value returns a Saver for the struct to which v points, all of whose fields must be exported.
// The Saver also stores the text run, which identifies the run. Loading the data of another run
// is an error.
func Value(run string, v any) Saver {
	return binarySaver{
		func([]byte) ([]byte, error) {
			var b bytes.Buffer
			e := gob.NewEncoder(&b)
			if err := e.Encode(run); err != nil {
				return nil, err
			}
			err := e.Encode(v)
			return b.Bytes(), err
		},
		func(b []byte) error {
			d := gob.NewDecoder(bytes.NewReader(b))
			var of string
			if err := d.Decode(&of); err != nil {
				return err
			}
			if of != run {
				return fmt.Errorf("the checkpoint is of the run %q, this is %q", of, run)
			}
			return d.Decode(v)
		},
	}
}
