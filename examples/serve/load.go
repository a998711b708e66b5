package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// loads lists the formats of a load test, each with a function that checks a completion without
// the library.
var loads = []struct {
	format string
	judge  func(text string) bool
}{
	{`{"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"city":{"type":"string","maxLength":12},"days":{"type":"integer","minimum":1,"maximum":14}},` +
		`"required":["city","days"],"additionalProperties":false}}}`, func(text string) bool {
		var x struct {
			City string
			Days float64
		}
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.DisallowUnknownFields()
		return d.Decode(&x) == nil && len([]rune(x.City)) <= 12 && x.Days >= 1 && x.Days <= 14
	}},
	{`{"type":"json_schema","json_schema":{"schema":{"type":"array","items":{"enum":["red","green","blue"]},"maxItems":4}}}`, func(text string) bool {
		var x []string
		return json.Unmarshal([]byte(text), &x) == nil && len(x) <= 4 && !slices.ContainsFunc(x, func(c string) bool { return c != "red" && c != "green" && c != "blue" })
	}},
	{`{"type":"json_object"}`, func(text string) bool {
		var x map[string]any
		return json.Unmarshal([]byte(text), &x) == nil
	}},
	{`{"type":"regex","pattern":"[A-Z]{2}[0-9]{4}(-[0-9])?"}`, regexp.MustCompile(`^[A-Z]{2}[0-9]{4}(-[0-9])?$`).MatchString},
	{`{"type":"grammar","grammar":"root ::= num (\"+\" num)*\nnum ::= [0-9]{1,3}"}`, regexp.MustCompile(`^[0-9]{1,3}(\+[0-9]{1,3})*$`).MatchString},
}

// loaded is the report of a load test. Wrong counts completions that violate their format,
// Failures counts requests without an answer.
type loaded struct {
	Requests int     `json:"requests"`
	Clients  int     `json:"clients"`
	Failures int64   `json:"failures"`
	Wrong    int64   `json:"wrong"`
	Tokens   int64   `json:"tokens"`
	Seconds  float64 `json:"seconds"`
	Exact    string  `json:"exact"` // which distribution the completions follow
	Millis   struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
		Max float64 `json:"max"`
	} `json:"ms"`

	why string // cause of the first failure
}

func (r *loaded) String() string {
	s := fmt.Sprintf("%d requests, %d at a time, %.1f s: %d failures, %d wrong, %.0f tokens/s; a request p50 %.1f ms, p99 %.1f ms, at most %.1f ms\n%s\n",
		r.Requests, r.Clients, r.Seconds, r.Failures, r.Wrong, float64(r.Tokens)/r.Seconds, r.Millis.P50, r.Millis.P99, r.Millis.Max, r.Exact)
	if r.why != "" {
		s += r.why + "\n"
	}
	return s
}

// test sends the requests of a load test and checks the answers.
func test(ctx context.Context, url string, o options) (*loaded, error) {
	r := &loaded{Requests: o.load, Clients: o.clients, Exact: exact(true, 1)}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.clients}, Timeout: 30 * time.Second}
	millis := make([]float64, o.load)
	var next atomic.Int64
	var failed sync.Once
	var wait sync.WaitGroup
	began := time.Now()
	for range o.clients {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < o.load && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				x := loads[i%len(loads)]
				start := time.Now()
				a, err := post(ctx, client, url+"/v1/completions", fmt.Sprintf(`{"prompt":"An answer: ","max_tokens":96,"seed":%d,"response_format":%s}`, i, x.format))
				millis[i] = float64(time.Since(start).Microseconds()) / 1000
				switch {
				case err != nil:
					atomic.AddInt64(&r.Failures, 1)
					failed.Do(func() { r.why = err.Error() })
				case !x.judge(a.Choices[0].Text) || a.Choices[0].Reason != "stop":
					atomic.AddInt64(&r.Wrong, 1)
					failed.Do(func() { r.why = fmt.Sprintf("%s: %q, %s", x.format, a.Choices[0].Text, a.Choices[0].Reason) })
				default:
					atomic.AddInt64(&r.Tokens, int64(a.Usage.Completion))
				}
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.Seconds = time.Since(began).Seconds()
	slices.Sort(millis)
	r.Millis.P50, r.Millis.P99, r.Millis.Max = millis[len(millis)/2], millis[len(millis)*99/100], millis[len(millis)-1]
	return r, nil
}

func post(ctx context.Context, client *http.Client, url, body string) (*completion, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	w, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	data, err := io.ReadAll(io.LimitReader(w.Body, mostBody))
	if err != nil {
		return nil, err
	}
	if w.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d: %.200s", w.StatusCode, data)
	}
	a := &completion{}
	if err := json.Unmarshal(data, a); err != nil {
		return nil, err
	}
	if len(a.Choices) != 1 {
		return nil, fmt.Errorf("%d choices, want 1", len(a.Choices))
	}
	return a, nil
}
