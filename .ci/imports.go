// Imports holds the packages of the module against the list of imports that
// stands beside it, and fails on one that is not allowed.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const root = "github.com/gibbsite-go/gibbsite"

func main() {
	log.SetFlags(0)
	allowed := list(".ci/imports")
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		log.Fatal(err)
	}
	bad := false
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := short(words[0])
		may, known := allowed[pkg]
		if !known && pkg != "" {
			fmt.Printf("%s: not in .ci/imports\n", pkg)
			bad = true
			continue
		}
		for _, path := range words[1:] {
			own := path == root || strings.HasPrefix(path, root+"/")
			if !own && !strings.Contains(strings.Split(path, "/")[0], ".") || slices.Contains(may, "*") {
				continue
			}
			if name := short(path); !slices.Contains(may, name) || strings.HasPrefix(name, "exact") {
				fmt.Printf("forbidden import: %s imports %s\n", pkg, path)
				bad = true
			}
		}
	}
	if bad {
		os.Exit(1)
	}
}

// short returns the name of a package as the list has it.
func short(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(path, root), "/"), "internal/")
}

// list reads lines "package : import import …".
func list(name string) map[string][]string {
	f, err := os.Open(name)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	allowed := map[string][]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		pkg, imports, ok := strings.Cut(text, ":")
		if ok {
			allowed[strings.TrimSpace(pkg)] = strings.Fields(imports)
		}
	}
	return allowed
}
