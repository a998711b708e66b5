package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decode returns the text of a file: UTF-8, with or without a byte-order mark,
// or UTF-16 with one.
func decode(b []byte) (string, error) {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(b, []byte("\x00\x00\xfe\xff")):
		return "", errors.New("the byte-order mark of UTF-32; save the file as UTF-8")
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		b = b[3:]
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return wide(b[2:], binary.LittleEndian)
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return wide(b[2:], binary.BigEndian)
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return "", fmt.Errorf("line %d: a zero byte: UTF-16 without a byte-order mark, or no text; save the file as UTF-8", 1+bytes.Count(b[:i], []byte("\n")))
	}
	line := 1
	for text := range bytes.Lines(b) {
		if !utf8.Valid(text) {
			return "", fmt.Errorf("line %d: bytes that are no UTF-8; save the file as UTF-8", line)
		}
		line++
	}
	text := string(b)
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, "\r", "\n") // line ends of old Macintoshes
	}
	return text, nil
}

// wide decodes UTF-16.
func wide(b []byte, order binary.ByteOrder) (string, error) {
	if len(b)%2 != 0 {
		return "", errors.New("UTF-16 with an odd number of bytes: the file is cut off")
	}
	words := make([]uint16, len(b)/2)
	for i := range words {
		words[i] = order.Uint16(b[2*i:])
	}
	return strings.ToValidUTF8(string(utf16.Decode(words)), "\uFFFD"), nil
}
