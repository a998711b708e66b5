// Package wire encodes checkpoints. It has a codec for numbers and puts bodies into frames with
// a length and a checksum.
//
// A frame is little-endian:
//
//	magic, length of the body (8 bytes), body, CRC-64/ECMA of the body (8 bytes)
package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"io"
	"math"
)

var crcTable = crc64.MakeTable(crc64.ECMA)

// Write writes a frame with a single call of w.Write.
func Write(w io.Writer, magic string, body []byte) error {
	_, err := w.Write(Append(make([]byte, 0, len(magic)+len(body)+16), magic, body))
	return err
}

// Append appends a frame with the given magic and body to b.
func Append(b []byte, magic string, body []byte) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, magic...), uint64(len(body)))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint64(b, crc64.Checksum(body, crcTable))
}

// Read reads one frame, and no more, and returns its body. It rejects a wrong magic, a body
// longer than limit and a checksum that does not match. It allocates memory only as data
// arrives, so a damaged length costs nothing.
func Read(r io.Reader, magic string, limit uint64) ([]byte, error) {
	head := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("reading the head: %w", err)
	}
	if string(head[:len(magic)]) != magic {
		return nil, fmt.Errorf("not a checkpoint: it begins with %q, want %q", head[:len(magic)], magic)
	}
	size := binary.LittleEndian.Uint64(head[len(magic):])
	if limit = min(limit, math.MaxInt-8); size > limit {
		return nil, fmt.Errorf("the checkpoint holds %d bytes, want ≤ %d", size, limit)
	}
	var b bytes.Buffer
	if n, err := io.CopyN(&b, r, int64(size)+8); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("reading the body: %d bytes of %d: %w", n, size+8, err)
	}
	body := b.Bytes()[:size]
	sum := binary.LittleEndian.Uint64(b.Bytes()[size:])
	if got := crc64.Checksum(body, crcTable); got != sum {
		return nil, fmt.Errorf("the checkpoint is damaged: checksum %016x, want %016x", got, sum)
	}
	return body, nil
}

// Body returns the body of the frame in b, as a subslice of b. The frame must fill b.
func Body(b []byte, magic string) ([]byte, error) {
	if len(b) < len(magic)+8 || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("it begins with %q, want %q and a length", b[:min(len(b), len(magic))], magic)
	}
	size := binary.LittleEndian.Uint64(b[len(magic):])
	rest := b[len(magic)+8:]
	if uint64(len(rest)) < 8 || size > uint64(len(rest)-8) {
		return nil, fmt.Errorf("%d bytes follow the length, want %d and a checksum", len(rest), size)
	}
	if more := uint64(len(rest)-8) - size; more > 0 {
		return nil, fmt.Errorf("%d bytes too many", more)
	}
	body := rest[:size:size]
	if sum, got := binary.LittleEndian.Uint64(rest[size:]), crc64.Checksum(body, crcTable); got != sum {
		return nil, fmt.Errorf("the data are damaged: checksum %016x, want %016x", got, sum)
	}
	return body, nil
}
