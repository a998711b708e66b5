package sorted

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"iter"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Build sorts sequences of tokens 0 … levels−1 and writes them to the file at path. It returns the
// number of distinct sequences. The iterator may yield sequences in any order and may repeat them.
// The slices that it yields are not kept.
//
// The file appears under its name only once it is complete. If path is a symbolic link, Build
// writes its target. The lock file path.lock keeps other processes from building the same file.
// Build needs 24 bytes of memory per sequence. A token takes 1 byte with up to 2⁸ levels, 2 bytes
// with up to 2¹⁶, and otherwise 4 bytes.
//
// The error is an *[constraint.ArgumentError] for levels or tokens out of range. It is a
// *[constraint.LimitError] for a set that is too large for [Open]. If another process is building
// the file, the error names the file. Other errors are the cause of ctx and errors of the operating
// system. After an error there is no file.
func Build(ctx context.Context, path string, levels int, all iter.Seq[[]int32]) (n int, err error) {
	switch {
	case levels < 1 || levels > 1<<31-1:
		return 0, &constraint.ArgumentError{Func: "sorted.Build", Arg: "levels", Value: levels, Want: "1 … 2³¹−1"}
	case all == nil:
		return 0, &constraint.ArgumentError{Func: "sorted.Build", Arg: "all", Value: "nil", Want: "sequences"}
	}
	if err := check.Given("sorted: Build", "ctx", ctx); err != nil {
		return 0, err
	}
	file, err := durable.Acquire(path)
	if err != nil {
		return 0, fmt.Errorf("sorted: Build: %w", err)
	}
	defer file.Release()
	b := builder{width: widthOf(levels)}
	for x := range all {
		if err = b.add(x, levels); err != nil {
			return 0, err
		}
		if len(b.records)%pollRecords == 0 && poll.Err(ctx) != nil {
			return 0, context.Cause(ctx)
		}
	}
	b.sort()
	if poll.Err(ctx) != nil {
		return 0, context.Cause(ctx)
	}
	h := b.head()
	if states := uint64(h.count) * (uint64(h.longest) + 1); states > maxStates {
		return 0, &constraint.LimitError{What: "sorted: states", Value: int(min(states, math.MaxInt)), Bound: maxStates}
	}
	if err := b.save(file, h); err != nil {
		return 0, fmt.Errorf("sorted: %w", err)
	}
	return h.count, nil
}

// pollRecords is the number of sequences between two checks of the context.
const pollRecords = 1 << 12

// chunkSize is the number of bytes per chunk of memory in which sequences are collected. Chunks
// avoid copying as the number of sequences grows. A sequence longer than chunkSize gets its own
// chunk.
const chunkSize = 1 << 24

// builder collects the encoded sequences of a file.
type builder struct {
	width   int
	chunks  [][]byte
	records []record
}

// record is an encoded sequence: its first bytes as a sort key, and its position in the chunks.
type record struct {
	key    uint64
	chunk  int32
	at     int32
	length int32 // length in bytes
}

// add encodes and appends a sequence. It returns an error if a token is out of range.
func (b *builder) add(x []int32, levels int) error {
	size := len(x) * b.width
	if size > 1<<30 {
		return &constraint.ArgumentError{Func: "sorted.Build", Arg: "len(x)", Value: len(x), Want: "≤ 2³⁰ bytes"}
	}
	last := len(b.chunks) - 1
	if last < 0 || cap(b.chunks[last])-len(b.chunks[last]) < size {
		b.chunks = append(b.chunks, make([]byte, 0, max(chunkSize, size)))
		last++
	}
	c := b.chunks[last]
	r := record{chunk: int32(last), at: int32(len(c)), length: int32(size)}
	for i, t := range x {
		if t < 0 || int(t) >= levels {
			return &constraint.ArgumentError{Func: "sorted.Build", Arg: fmt.Sprintf("token %d of sequence %d", i, len(b.records)), Value: t, Want: fmt.Sprintf("0 … %d", levels-1)}
		}
		switch b.width {
		case 1:
			c = append(c, byte(t))
		case 2:
			c = binary.BigEndian.AppendUint16(c, uint16(t))
		default:
			c = binary.BigEndian.AppendUint32(c, uint32(t))
		}
	}
	b.chunks[last] = c
	var first [8]byte
	copy(first[:], b.of(r))
	r.key = binary.BigEndian.Uint64(first[:])
	b.records = append(b.records, r)
	return nil
}

// of returns the encoded bytes of the record r.
func (b *builder) of(r record) []byte { return b.chunks[r.chunk][r.at : r.at+r.length] }

// sort sorts the records and removes duplicates.
func (b *builder) sort() {
	slices.SortFunc(b.records, func(p, q record) int {
		if c := cmp.Compare(p.key, q.key); c != 0 {
			return c
		}
		return bytes.Compare(b.of(p), b.of(q))
	})
	b.records = slices.CompactFunc(b.records, func(p, q record) bool {
		return p.key == q.key && bytes.Equal(b.of(p), b.of(q))
	})
}

func (b *builder) head() head {
	h := head{width: b.width, count: len(b.records)}
	for _, r := range b.records {
		n := int(r.length) / b.width
		h.tokens += n
		h.longest = max(h.longest, n)
	}
	return h
}

// save writes a temporary file in the same directory and then renames it to the final name.
func (b *builder) save(file *durable.Lock, h head) error {
	return file.Replace(func(w io.Writer) error { return b.write(w, h) })
}

// write writes the header, the offsets, the tokens and the checksum.
func (b *builder) write(w io.Writer, h head) error {
	sum := crc64.New(table)
	out := bufio.NewWriterSize(struct{ io.Writer }{io.MultiWriter(w, hash.Hash(sum))}, 1<<20)
	buf := h.appendTo(nil)
	out.Write(buf) // the first error stays until Flush
	place := uint64(0)
	for i := 0; ; i++ {
		out.Write(binary.LittleEndian.AppendUint64(buf[:0], place))
		if i == len(b.records) {
			break
		}
		place += uint64(int(b.records[i].length) / b.width)
	}
	for _, r := range b.records {
		out.Write(b.of(r))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, sum.Sum64()))
	return err
}
