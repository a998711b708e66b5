package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/vocabulary"
)

func start(t *testing.T) (*server, string) {
	t.Helper()
	v, err := vocabulary.Read("")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newServer(v, 1)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.handler())
	t.Cleanup(web.Close)
	return s, web.URL
}

func send(t *testing.T, url, body string) (int, map[string]any) {
	t.Helper()
	w, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	data, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	var a map[string]any
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return w.StatusCode, a
}

// Every completion has its format, with as many clients as there are.
func TestLoad(t *testing.T) {
	o, err := parse([]string{"-load", "40", "-clients", "8", "-json"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r := a.(*loaded); r.Failures > 0 || r.Wrong > 0 || r.Tokens < 100 || !strings.Contains(r.String(), exact(true, 1)) {
		t.Error(r)
	}
}

// A completion says which distribution it follows.
func TestWhatCompletionsFollow(t *testing.T) {
	_, url := start(t)
	for body, want := range map[string]string{
		`{"max_tokens":4}`:                   command.Free,
		`{"max_tokens":4,"temperature":0.5}`: command.Tempered,
		`{"max_tokens":8,"response_format":{"type":"regex","pattern":"[ab]{3}"}}`:                   exact(true, 1),
		`{"max_tokens":8,"temperature":0.5,"response_format":{"type":"regex","pattern":"[ab]{3}"}}`: command.Changed("the temperature", exact(true, 1)),
	} {
		if status, a := send(t, url+"/v1/completions", body); status != http.StatusOK || a["exact"] != want {
			t.Errorf("%s: %d %v, want %q", body, status, a, want)
		}
	}
}

func TestMasks(t *testing.T) {
	_, url := start(t)
	status, a := send(t, url+"/v1/masks", `{"text":"{\"a\":","response_format":{"type":"json_schema","json_schema":{"schema":{"properties":{"a":{"const":true}},"type":"object"}}}}`)
	if status != http.StatusOK || a["allowed"] != 5.0 || a["may_end"] != false { // t and four kinds of white space
		t.Error(status, a)
	}
	status, a = send(t, url+"/v1/masks", `{"text":"AB12","response_format":{"type":"regex","pattern":"[A-Z]{2}1234"}}`)
	if status != http.StatusOK || a["forced"] != "34" || a["allowed"] != 1.0 {
		t.Error(status, a)
	}
}

func TestErrors(t *testing.T) {
	_, url := start(t)
	for body, want := range map[string]string{
		`{"prompt":"","response_format":{"type":"json_schema","json_schema":{"schema":{"type":"string","minLength":3,"maxLength":2}}}}`: "no value satisfies",
		`{"prompt":"","response_format":{"type":"xml"}}`: "xml",
		`{"prompt":"","max_tokens":5000}`:                "max_tokens = 5000",
		`{"prompt":"","max_tokens":2,"response_format":{"type":"json_schema","json_schema":{"schema":{"const":"abc"}}}}`: "max_tokens = 2",
		`{"prompt":"","response_format":{"type":"regex","pattern":"("}}`:                                                 "missing closing",
		`{"prompt":`: "unexpected EOF",
	} {
		status, a := send(t, url+"/v1/completions", body)
		e, _ := a["error"].(map[string]any)
		message, _ := e["message"].(string)
		if status != http.StatusBadRequest || !strings.Contains(message, want) {
			t.Errorf("%s: %d %v, want %q", body, status, a, want)
		}
	}
	if status, _ := send(t, url+"/v1/masks", `{"text":"[","response_format":{"type":"json_object"}}`); status != http.StatusBadRequest {
		t.Error(status)
	}
}

// Compiled formats are few: the least recently used goes.
func TestFormsAreFew(t *testing.T) {
	s, _ := start(t)
	first := s.form("first")
	for i := range 2 * keptForms {
		s.form(strings.Repeat("x", i+1))
		if s.form("first") != first {
			t.Fatal("a form that is in use was dropped")
		}
	}
	if s.used.Len() != keptForms || len(s.forms) != keptForms {
		t.Error(s.used.Len(), len(s.forms))
	}
}
