package command

import (
	"context"
	"errors"
	"strings"
	"testing"
)

type report struct {
	Value int `json:"value"`
}

func (report) String() string { return "value 3\n" }

func TestExecute(t *testing.T) {
	parse := func(args []string) (string, error) {
		if len(args) == 0 {
			return "", errors.New("no arguments")
		}
		return args[0], nil
	}
	run := func(_ context.Context, o string) (report, error) {
		if o == "fail" {
			return report{}, errors.New("failed")
		}
		return report{3}, nil
	}
	asJSON := func(o string) bool { return o == "json" }
	for args, want := range map[string]string{"text": "value 3\n", "json": "{\"value\":3}\n", "fail": "failed", "": "no arguments"} {
		var b strings.Builder
		err := execute(context.Background(), &b, strings.Fields(args), parse, run, asJSON)
		got := b.String()
		if err != nil {
			got += err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}
