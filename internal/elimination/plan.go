package elimination

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
)

// DefaultBytes is the default bound on the messages of a [Run]: 1 GiB.
const DefaultBytes = 1 << 30

// Options holds the options of [New]. The zero value is right for sums.
type Options struct {
	Bytes int64  // bound on the messages of a Run; 0 means DefaultBytes
	Late  []bool // variables eliminated after all others; nil for none
}

// Plan is an order of elimination for scopes, with the operations of each step. It is immutable
// and safe for concurrent use.
type Plan struct {
	cards   []int32
	scopes  [][]int32
	late    []bool
	order   []int32
	at      []int32 // place of a variable in the order
	buckets []bucket
	cuts    []int // buckets at which segments begin, and their number at the end
	bytes   int64

	Width   float64 // log₂ of the number of entries of the largest clique
	Entries float64 // number of entries of all cliques
}

// bucket is the elimination of one variable v: the product of its operands is summed over
// v and becomes a message over the scope.
type bucket struct {
	v      int32
	scope  []int32 // by place in the order
	size   int     // entries of the message
	parent int     // the bucket that takes the message, −1 for none
	ops    []operand
}

// operand is a table over v and part of the scope, in that order, v slowest. It is the
// product of its parts, or is a message alone.
type operand struct {
	vars  []int32
	size  int
	parts []part
	alone bool // the one part is a message in this layout
}

// part is a factor or the message of a bucket.
type part struct {
	factor, child int   // one is −1
	strides       []int // of the variables of the operand
	size          int
}

// small is the largest number of entries in a product of small operands: 4 KiB.
const small = 1 << 9

// New returns a plan for tables over the given scopes. The error is a *[energy.WidthError] if
// messages would need too many bytes.
func New(ctx context.Context, cards []int32, scopes [][]int32, o Options) (*Plan, error) {
	if o.Bytes == 0 {
		o.Bytes = DefaultBytes
	}
	g := newGraph(cards, scopes, o.Late)
	found, err := g.search(ctx, math.Log2(float64(o.Bytes)/8))
	if err != nil {
		return nil, err
	}
	refuse := &energy.WidthError{Variables: len(cards), Limit: o.Bytes}
	if len(found) == 0 {
		refuse.LowerBound, refuse.Width = g.lowerBound(patience), g.front(g.far(0))
		refuse.Bytes = 8 * math.Exp2(refuse.Width)
		return nil, refuse
	}
	for _, e := range found {
		p := &Plan{cards: cards, scopes: scopes, late: o.Late, order: e.order, Width: e.width, Entries: e.entries}
		p.build(e.scopes)
		need := p.cut(float64(o.Bytes))
		if need <= float64(o.Bytes) {
			p.bytes = int64(need)
			return p, nil
		}
		if refuse.Bytes == 0 || need < refuse.Bytes {
			refuse.Width, refuse.Bytes = e.width, need
		}
	}
	refuse.LowerBound = g.lowerBound(patience)
	return nil, refuse
}

// Bytes returns the memory that the messages of a Run need.
func (p *Plan) Bytes() int64 { return p.bytes }

// build makes the buckets of an order, given the scopes of its messages.
func (p *Plan) build(messages [][]int32) {
	n := len(p.cards)
	p.at = make([]int32, n)
	for k, v := range p.order {
		p.at[v] = int32(k)
	}
	first := make([][]part, n) // what a bucket multiplies
	for f, scope := range p.scopes {
		if len(scope) > 0 {
			v := slices.MinFunc(scope, func(a, b int32) int { return cmp.Compare(p.at[a], p.at[b]) })
			first[p.at[v]] = append(first[p.at[v]], part{factor: f, child: -1, size: p.size(scope)})
		}
	}
	p.buckets = make([]bucket, n)
	for k := range p.buckets {
		b := &p.buckets[k]
		b.v, b.scope, b.parent = p.order[k], slices.Clone(messages[k]), -1
		slices.SortFunc(b.scope, func(a, b int32) int { return cmp.Compare(p.at[a], p.at[b]) })
		b.size = p.size(b.scope)
		p.group(b, first[k])
		first[k] = nil
		if len(b.scope) > 0 {
			b.parent = int(p.at[b.scope[0]])
			first[b.parent] = append(first[b.parent], part{factor: -1, child: k, size: b.size})
		}
	}
}

// size returns the entries of a table over some variables.
func (p *Plan) size(vars []int32) int {
	size := 1
	for _, v := range vars {
		size *= int(p.cards[v])
	}
	return size
}

// vars returns the variables of a part.
func (p *Plan) vars(t part) []int32 {
	if t.factor >= 0 {
		return p.scopes[t.factor]
	}
	return p.buckets[t.child].scope
}

// group makes operands of the parts of a bucket: small ones are multiplied together.
func (p *Plan) group(b *bucket, parts []part) {
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.size, b.size) })
	for len(parts) > 0 {
		vars, take := slices.Clone(p.vars(parts[0])), 1
		for size := parts[0].size; take < len(parts); take++ {
			more := vars
			for _, v := range p.vars(parts[take]) {
				if !slices.Contains(vars, v) {
					more, size = append(more[:len(more):len(more)], v), size*int(p.cards[v])
				}
			}
			if size > small {
				break
			}
			vars = more
		}
		b.ops = append(b.ops, p.operand(vars, parts[:take]))
		parts = parts[take:]
	}
}

// operand makes an operand over variables, the first in the order among them.
func (p *Plan) operand(vars []int32, parts []part) operand {
	slices.SortFunc(vars, func(a, b int32) int { return cmp.Compare(p.at[a], p.at[b]) })
	o := operand{vars: vars, size: p.size(vars), parts: slices.Clone(parts)}
	for k := range o.parts {
		o.parts[k].strides = p.strides(vars, p.vars(parts[k]))
	}
	o.alone = len(parts) == 1 && parts[0].factor < 0 && parts[0].size == o.size
	return o
}

// strides returns, for each variable of vars, how far apart its levels are in a table over
// own, 0 if it is not there.
func (p *Plan) strides(vars, own []int32) []int {
	s := make([]int, len(vars))
	step := 1
	for k := len(own) - 1; k >= 0; k-- {
		if j := slices.Index(vars, own[k]); j >= 0 {
			s[j] = step
		}
		step *= int(p.cards[own[k]])
	}
	return s
}

// cut divides the buckets into the fewest segments whose messages fit into the given
// bytes, and returns the bytes of the division that needs least if none does.
func (p *Plan) cut(bytes float64) float64 {
	n, total := len(p.buckets), 0.0
	for k := range p.buckets {
		total += float64(8 * p.buckets[k].size)
	}
	p.cuts = []int{0, n}
	need := total
	for parts := 2; need > bytes && parts <= n && parts <= 1<<12; parts += 1 + parts/4 {
		cuts, sum := []int{0}, 0.0
		for k := range p.buckets {
			if sum += float64(8 * p.buckets[k].size); sum >= total*float64(len(cuts))/float64(parts) && k+1 < n {
				cuts = append(cuts, k+1)
			}
		}
		cuts = append(cuts, n)
		if s := p.kept(cuts); s < need {
			p.cuts, need = cuts, s
		}
	}
	return need
}

// kept returns the bytes of the messages that cross a cut, and of the largest segment.
func (p *Plan) kept(cuts []int) float64 {
	crossing, largest := 0.0, 0.0
	for s := range len(cuts) - 1 {
		inside := 0.0
		for k := cuts[s]; k < cuts[s+1]; k++ {
			if bytes := float64(8 * p.buckets[k].size); p.buckets[k].parent >= cuts[s+1] {
				crossing += bytes
			} else {
				inside += bytes
			}
		}
		largest = max(largest, inside)
	}
	return crossing + largest
}
