package shard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Job identifies a [Run] by the name of a registered builder and the arguments of the builder.
// Another process that has registered the same builder can then build the same run.
type Job struct {
	Target string          `json:"target"` // name under which the builder is registered
	Args   json.RawMessage `json:"args"`   // arguments of the builder in JSON; empty means the zero value of the arguments
}

var (
	builders   = map[string]func(json.RawMessage) (Run, error){}
	buildersMu sync.RWMutex
)

// Register registers the function build as a builder under a name, to which a [Job] can refer. The
// function receives the arguments of the Job, decoded from JSON into a value of type A. Register
// the same builders in all processes before jobs run, for instance in an init function. Register
// panics if the name is empty or taken, or if build is nil.
func Register[A any](name string, build func(args A) (Run, error)) {
	if name == "" || build == nil {
		panic("shard: Register: want a name and a function")
	}
	buildersMu.Lock()
	defer buildersMu.Unlock()
	if builders[name] != nil {
		panic(fmt.Sprintf("shard: Register: %q is registered already", name))
	}
	builders[name] = func(raw json.RawMessage) (Run, error) {
		var args A
		if len(raw) > 0 {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			if err := d.Decode(&args); err != nil {
				return nil, err
			}
			if _, err := d.Token(); !errors.Is(err, io.EOF) {
				return nil, errors.New("more than one value")
			}
		}
		return build(args)
	}
}

// Build builds the run that the job identifies, by calling the registered builder. It returns an
// error if no builder has the name Target, if the arguments do not decode, or if the builder fails.
func (j Job) Build() (Run, error) {
	buildersMu.RLock()
	build := builders[j.Target]
	names := slices.Sorted(maps.Keys(builders))
	buildersMu.RUnlock()
	if build == nil {
		return nil, fmt.Errorf("shard: Job.Target = %q, want one that this program registers: %s", j.Target, strings.Join(names, ", "))
	}
	run, err := build(j.Args)
	if err != nil {
		return nil, fmt.Errorf("shard: Job.Args of %s: %w", j.Target, err)
	}
	if check.Nil(run) {
		return nil, fmt.Errorf("shard: Job: the builder of %s returned nil", j.Target)
	}
	return run, nil
}
