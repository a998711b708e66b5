package grammar

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"testing"
	"time"
)

func TestDevTmp(t *testing.T) {
	f, err := os.Open("/work/shared/data/maskbench_dev.jsonl")
	if err != nil {
		t.Skip()
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<26)
	var n, comp, uns, ve, ie, pass int
	var ms []float64
	reasons := map[string]int{}
	for sc.Scan() {
		var c struct {
			Name   string
			Schema json.RawMessage
			Tests  []struct {
				Valid bool
				Data  json.RawMessage
			}
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		t0 := time.Now()
		g, err := JSONSchema(context.Background(), c.Schema, SchemaConfig{})
		d := time.Since(t0).Seconds() * 1000
		if err != nil {
			uns++
			var se *SchemaError
			if errors.As(err, &se) {
				reasons[fmt.Sprintf("%.90s", se.What)]++
			} else {
				reasons[err.Error()]++
			}
			continue
		}
		comp++
		ms = append(ms, d)
		ok := true
		t0 = time.Now()
		for _, x := range c.Tests {
			got := g.Accepts(string(x.Data))
			if got != x.Valid {
				ok = false
				if got {
					ie++
					fmt.Printf("INVALID %s %.300s\n   %.200s\n", c.Name, c.Schema, x.Data)
				} else {
					ve++
					if os.Getenv("V") != "" {
						fmt.Printf("VALID %s %.300s\n   %.200s\n", c.Name, c.Schema, x.Data)
					}
				}
			}
		}
		if e := time.Since(t0); e > 100*time.Millisecond || d > 100 {
			fmt.Println("slow", c.Name, d, e)
		}
		if ok {
			pass++
		}
	}
	sort.Float64s(ms)
	fmt.Println(n, "compiled", comp, "unsupported", uns, "val", ve, "inval", ie, "passed", pass, "p50", ms[len(ms)/2], "p99", ms[len(ms)*99/100], "max", ms[len(ms)-1])
	var ks []string
	for k := range reasons {
		ks = append(ks, k)
	}
	sort.Slice(ks, func(i, j int) bool { return reasons[ks[i]] > reasons[ks[j]] })
	for _, k := range ks {
		fmt.Println(reasons[k], k)
	}
}
