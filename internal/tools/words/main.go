// Command words finds words that this project avoids, in code, comments, messages and documents,
// and prints what to write instead. It fails if there are any. Names are split into words:
// beginRun contains "begin" and "run". Its test performs the same check.
//
//	go run ./internal/tools/words [folder ...]
package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/gibbsite-go/gibbsite/internal/tools/folder"
)

// list holds the words to avoid, with replacements and exceptions.
//
//go:embed list
var list string

func main() {
	log.SetFlags(0)
	words, err := parse(list)
	if err != nil {
		log.Fatal(err)
	}
	found, err := search(os.DirFS("."), words, os.Args[1:])
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		log.Fatalf("%d places", len(found))
	}
}

// word is a word or phrase to avoid.
type word struct {
	text    string // text in lower case, with words separated by a space
	instead string
	// pattern of lines, prefixed by the file name, on which the word is right; nil for none
	except *regexp.Regexp
}

// parse parses a list of three columns and comments.
func parse(list string) (words []word, err error) {
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		column := strings.SplitN(line, "|", 3)
		if len(column) < 3 {
			return nil, fmt.Errorf("words: %q has %d columns, want 3", line, len(column))
		}
		w := word{text: strings.TrimSpace(column[0]), instead: strings.TrimSpace(column[1])}
		if except := strings.TrimSpace(column[2]); except != "" {
			if w.except, err = regexp.Compile(except); err != nil {
				return nil, err
			}
		}
		words = append(words, w)
	}
	return words, nil
}

// search returns the occurrences of words in the files of a tree that people read, restricted to
// the folders if there are any.
func search(tree fs.FS, words []word, folders []string) (found []string, err error) {
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == ".git" || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !read(name) || !folder.Among(name, folders) {
			return nil
		}
		file, err := tree.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			text := split(lines.Text())
			for _, w := range words {
				if strings.Contains(text, " "+w.text+" ") && (w.except == nil || !w.except.MatchString(name+": "+lines.Text())) {
					found = append(found, fmt.Sprintf("%s:%d: %q: write %s", name, n, w.text, w.instead))
				}
			}
		}
		return lines.Err()
	})
	return found, err
}

// read reports whether a file is checked. CHANGELOG.md is not, because it contains the names of
// earlier versions.
func read(name string) bool {
	switch path.Ext(name) {
	case ".go", ".md":
		return name != "CHANGELOG.md"
	}
	return path.Dir(name) == ".ci"
}

// split returns the words of a line in lower case, separated and surrounded by spaces. Names in
// camel case are split.
func split(line string) string {
	var b strings.Builder
	b.WriteByte(' ')
	var before rune
	for _, r := range line {
		switch {
		case !unicode.IsLetter(r):
			if before != ' ' {
				b.WriteByte(' ')
			}
			before = ' '
			continue
		case unicode.IsUpper(r) && unicode.IsLower(before):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	if before != ' ' {
		b.WriteByte(' ')
	}
	return b.String()
}
