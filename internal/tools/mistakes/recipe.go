package main

import (
	"fmt"
	"strings"
)

// recipe is the document that describes how to add a kernel.
const recipe = "docs/ADDING.md"

// registry is the file in which a kernel has its line, and the text before the first of
// them.
const (
	registry = "internal/conformance/method_test.go"
	lines    = "return []methodEntry{\n"
)

// glauber returns the kernel that the recipe adds, with a wrong acceptance in place of
// the right one.
func glauber(doc, right, wrong string) (mistake, error) {
	const file = "sampler/mcmc/glauber.go"
	kernel, err := block(doc, file)
	if err != nil {
		return mistake{}, err
	}
	if n := strings.Count(kernel, right); n != 1 {
		return mistake{}, fmt.Errorf("%s: the kernel has %q %d times, want once", recipe, right, n)
	}
	line, err := block(doc, registry)
	if err != nil {
		return mistake{}, err
	}
	return mistake{
		"glauber", "a kernel added as " + recipe + " says accepts with " + wrong,
		[]edit{{file, "", strings.Replace(kernel, right, wrong, 1)}, {registry, lines, lines + line}},
	}, nil
}

// block returns the code of a document that begins with the name of its file.
func block(doc, file string) (string, error) {
	_, code, found := strings.Cut(doc, "```go\n// "+file+"\n")
	if !found {
		return "", fmt.Errorf("%s has no code of %s", recipe, file)
	}
	code, _, _ = strings.Cut(code, "```")
	return code, nil
}
