package bolt_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/projection/novelty/bolt"
)

// Three runs of a program, one after the other: each opens the file, makes what none
// before it has made, and closes the file.
func ExampleCorpus() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bolt")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "known.db")
	v := []float32{ // ones are likely, least so at site 1
		0, 3,
		0, 1,
		0, 2,
	}
	for range 3 {
		known, err := bolt.OpenCorpus(ctx, path, bolt.Config{})
		if err != nil {
			log.Fatal(err)
		}
		s, err := novelty.Projector{Seen: known}.Compile(ctx, 3, 2)
		if err != nil {
			log.Fatal(err)
		}
		x := []int32{1, 1, 1}
		if err := s.Commit(context.Background(), x, v, nil); err != nil {
			log.Fatal(err)
		}
		fmt.Println(x, known.Len(), "known")
		if err := known.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// [1 1 1] 1 known
	// [1 0 1] 2 known
	// [1 1 0] 3 known
}

// A set that stays in its file, for what does not fit into memory.
func ExampleSet() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bolt")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	known, err := bolt.Open(ctx, filepath.Join(dir, "known.db"), bolt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer known.Close()
	fmt.Println(known.Add([]int32{3, 1}), known.Add([]int32{3, 1}), known.Len(), known.Err())
	// Output: true false 1 <nil>
}
