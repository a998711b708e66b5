package document_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gibbsite-go/gibbsite/internal/document"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestValuesKnowTheirPlace(t *testing.T) {
	v, err := document.Parse(strings.NewReader("{\"ä\": [1,\n  -2.5e1, \"x\",null ],\n \"b\" : true, \"c\": {}}\n"))
	require.NoError(t, err)
	require.True(t, v.Is(document.Object))
	assert.Equal(t, []string{"ä", "b", "c"}, v.Keys)
	list := v.Get("ä")
	require.Len(t, list.List, 4)
	for k, want := range []string{"line 1: column 8: ?", "line 2: column 3: ?", "line 2: column 11: ?", "line 2: column 15: ?"} {
		assert.EqualError(t, list.List[k].Errorf("?"), want)
	}
	assert.EqualError(t, v.Get("b").Errorf("?"), "line 3: column 8: ?")
	f, ok := list.List[1].Float()
	assert.True(t, ok)
	assert.Equal(t, -25.0, f)
	_, ok = list.List[1].Int()
	assert.False(t, ok)
	n, ok := list.List[0].Int()
	assert.True(t, ok)
	assert.Equal(t, 1, n)
	for _, none := range []*document.Value{nil, v, list.List[2]} {
		_, ok := none.Float()
		assert.False(t, ok)
		_, ok = none.Int()
		assert.False(t, ok)
	}
	assert.Nil(t, v.Get("d"))
	assert.Nil(t, v.Get("d").Get("e"))
	assert.Nil(t, list.Get("e"))
	assert.False(t, v.Get("d").Is(document.Null))
	assert.ErrorIs(t, v.Errorf("%w", io.ErrNoProgress), io.ErrNoProgress)
}

func TestBrief(t *testing.T) {
	long := strings.Repeat("1", 40)
	v, err := document.Parse(strings.NewReader(`["a", "` + long + `", 1.5, ` + long + `, true, null, [], {}]`))
	require.NoError(t, err)
	for k, want := range []string{`"a"`, `"` + long[:32] + `"…`, "1.5", long[:32] + "…", "true", "null", "an array", "an object"} {
		assert.Equal(t, want, v.List[k].Brief())
	}
	assert.Equal(t, "missing", v.Get("x").Brief())
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "line 1: column 1: the JSON value ends too early",
		"{\"a\": [1,\n2":                   "line 2: column 2: the JSON value ends too early",
		"{\"a\": 1,\n \"a\": 2}":           "line 2: column 2: the key \"a\" a second time",
		"[1,\n  x]":                        "line 2: column 3: invalid character 'x'",
		"[1 2]":                            "line 1: column 4: invalid character '2'",
		"{1: 2}":                           "line 1: column",
		"[1] [2]":                          "line 1: column 5: more text after the JSON value",
		"]":                                "line 1: column 1: ",
		strings.Repeat("[", 200):           "line 1: column 101: values nested more than 100 deep",
		`{"a": {"b": ` + "\n" + `{"c":}}}`: "line 2: column ",
	} {
		_, err := document.Parse(strings.NewReader(in))
		assert.ErrorContains(t, err, want, "%q", in)
	}
	_, err := document.Parse(iotest.ErrReader(io.ErrClosedPipe))
	assert.True(t, errors.Is(err, io.ErrClosedPipe))
}

// What is read is valid JSON, and what is valid JSON is read unless it is too
// deep or has a key twice.
func FuzzParse(f *testing.F) {
	f.Add(`{"a": [1, -2.5e1, "x", null], "b": true}`)
	f.Add("[1,\n 2")
	f.Add(`{"a": 1, "a": 2}`)
	f.Add("\"\xff\"")
	f.Fuzz(func(t *testing.T, in string) {
		_, err := document.Parse(strings.NewReader(in))
		if err == nil {
			require.True(t, json.Valid([]byte(in)))
			return
		}
		require.ErrorContains(t, err, "line ")
		if json.Valid([]byte(in)) {
			require.Regexp(t, "a second time|nested more than|is not Unicode", err.Error())
		}
	})
}

// Text that is no Unicode is an error, not U+FFFD.
func TestTextIsUnicode(t *testing.T) {
	for _, bad := range []string{`{"a": "\ud800"}`, `"\udc00\ud800"`, `["x\ud83dy"]`, "\"\xff\"", `{"\ud800": 1}`} {
		_, err := document.Parse(strings.NewReader(bad))
		require.ErrorContains(t, err, "is not Unicode", bad)
	}
	for _, good := range []string{`"\ud83d\ude00"`, `"\ufffd"`, `"\\ud800"`, `"�"`} {
		_, err := document.Parse(strings.NewReader(good))
		require.NoError(t, err, good)
	}
}
