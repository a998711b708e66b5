package grammar_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// large is a vocabulary of the given size: bytes, JSON in pieces and words. The last token is padding.
func large(size int) text.Vocabulary {
	v := text.Bytes()
	v.Tokens = append(v.Tokens, `{"`, `"}`, `":`, `","`, `[[`, `]]`, `}}`, `},`, `],`, `":"`, `{}`, `[]`, `"]`,
		`"},{"`, `":{`, `["`, `": "`, `, "`, `}}}`, `]}`)
	r := rand.New(rand.NewPCG(1, 1))
	for len(v.Tokens) < size-1 {
		b := make([]byte, 2+r.IntN(7))
		for i := range b {
			b[i] = byte('a' + r.IntN(26))
		}
		if r.IntN(2) == 0 {
			b[0] = ' '
		}
		if r.IntN(30) == 0 {
			b[0] = byte('0' + r.IntN(10))
		}
		v.Tokens = append(v.Tokens, string(b))
	}
	v.Padding = []int32{int32(size - 1)}
	v.Tokens = append(v.Tokens, "")
	return v
}

// least reports the least time of processors that a run takes: what other
// processes do at the same time does not count.
func least(b *testing.B, run func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	most := time.Duration(math.MaxInt64)
	for b.Loop() {
		from := cpuTime()
		run()
		most = min(most, cpuTime()-from)
	}
	b.ReportMetric(float64(most)/1e6, "cpu-ms")
}

func BenchmarkJSON(b *testing.B) {
	ctx := context.Background()
	g, err := grammar.JSONSchema(ctx, []byte(`true`), grammar.SchemaConfig{})
	if err != nil {
		b.Fatal(err)
	}
	v := large(50257) // as many as GPT-2 has
	l, err := g.Over(ctx, v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("over", func(b *testing.B) {
		least(b, func() {
			if _, err := g.Over(ctx, v); err != nil {
				b.Fatal(err)
			}
		})
	})
	p, err := grammar.Prepare(v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("prepared", func(b *testing.B) {
		least(b, func() {
			if _, err := g.OverPrepared(ctx, p); err != nil {
				b.Fatal(err)
			}
		})
	})
	for _, sites := range []int{24, 128, 512} {
		for _, sd := range []float64{1, 200} {
			if sites == 512 && sd > 1 {
				continue // sums in numbers, as at 128 sites
			}
			run := pushdown.NewRunner(l.Pushdown().(*pushdown.Graph), sites, len(v.Tokens))
			w := make([]float32, sites*len(v.Tokens))
			r := rand.New(rand.NewPCG(2, 2))
			for i := range w {
				w[i] = float32(r.NormFloat64() * sd)
			}
			name := fmt.Sprintf("sites=%d/sd=%v", sites, sd)
			b.Run("filter/"+name, func(b *testing.B) {
				least(b, func() {
					if _, err := run.Filter(w); err != nil {
						b.Fatal(err)
					}
				})
			})
			x, src := make([]int32, sites), rand.NewPCG(3, 3)
			b.Run("draw/"+name, func(b *testing.B) {
				if _, err := run.Filter(w); err != nil {
					b.Fatal(err)
				}
				least(b, func() { run.Draw(x, src) })
			})
			if sd > 1 {
				continue
			}
			dst := make([]float64, len(w))
			b.Run("marginals/"+name, func(b *testing.B) {
				if _, err := run.Filter(w); err != nil { // marginals are of the last
					b.Fatal(err)
				}
				least(b, func() { run.Marginals(dst) })
			})
		}
	}
}

// BenchmarkSchemaDraw draws a text of up to 512 tokens over a vocabulary of 2¹⁷, sums included, from
// a schema that can contain itself and from one that cannot.
func BenchmarkSchemaDraw(b *testing.B) {
	ctx := context.Background()
	const sites = 512
	v := large(1 << 17)
	p, err := grammar.Prepare(v)
	if err != nil {
		b.Fatal(err)
	}
	w := make([]float32, sites*len(v.Tokens))
	r := rand.New(rand.NewPCG(2, 2))
	for i := range w {
		w[i] = float32(r.NormFloat64())
	}
	for _, c := range []struct{ name, schema string }{
		{"flat", `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},
			"tags":{"type":"array","items":{"enum":["a","b","c"]}}},"required":["name","age"],"additionalProperties":false}`},
		{"recursive", `{}`},
	} {
		g, err := grammar.JSONSchema(ctx, []byte(c.schema), grammar.SchemaConfig{})
		if err != nil {
			b.Fatal(err)
		}
		l, err := g.OverPrepared(ctx, p)
		if err != nil {
			b.Fatal(err)
		}
		run := pushdown.NewRunner(l.Pushdown().(*pushdown.Graph), sites, len(v.Tokens))
		x, src := make([]int32, sites), rand.NewPCG(3, 3)
		b.Run("schema="+c.name, func(b *testing.B) {
			least(b, func() {
				if _, err := run.Filter(w); err != nil {
					b.Fatal(err)
				}
				run.Draw(x, src)
			})
		})
	}
}
