package elimination

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
)

// DefaultBytes is the default limit on the memory for messages (intermediate tables) of a [Run]: 1
// GiB.
const DefaultBytes = 1 << 30

// Options holds the options of [New]. Use the zero value unless [Run.Best] needs late variables.
type Options struct {
	Bytes int64  // limit in bytes on the memory for messages of a Run; 0 means DefaultBytes
	Late  []bool // variables to eliminate after all other variables; nil for none
}

// Plan holds the order in which the variables of a product of tables are summed out, and the
// operations of each step. It is immutable and safe for concurrent use.
type Plan struct {
	cards   []int32
	scopes  [][]int32
	late    []bool
	order   []int32
	at      []int32 // position of each variable in the order
	buckets []bucket
	cuts    []int // first bucket of each segment, followed by the number of buckets
	bytes   int64

	Width   float64 // log₂ of the number of entries of the largest intermediate table (clique)
	Entries float64 // number of entries of all cliques, summed
}

// bucket is the elimination of one variable v: the product of its operands is summed over v and
// becomes a message over the scope.
type bucket struct {
	v      int32
	scope  []int32 // variables of the message, in the order of elimination
	size   int     // number of entries of the message
	parent int     // bucket that multiplies the message; −1 for none
	ops    []operand
}

// operand is a table over v and some variables of the scope, in this order, with v varying
// slowest. It is the product of its parts. If alone is set, it is a single message.
type operand struct {
	vars  []int32
	size  int
	parts []part
	alone bool // whether the only part is a message in this layout
}

// part is a factor of the model or the message of a bucket.
type part struct {
	factor, child int   // index of the factor, and index of the bucket; one index is −1
	strides       []int // strides of the operand's variables
	size          int
}

// small is the largest number of entries of a product of several parts: 4 KiB.
const small = 1 << 9

// New returns a plan for tables over the given scopes. The scope of a table is the list of its
// variables, and variable i has cards[i] levels. The error is a *[energy.WidthError] if messages
// (intermediate tables) would need too many bytes.
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

// Bytes returns the memory in bytes that the messages (intermediate tables) of a Run need.
func (p *Plan) Bytes() int64 { return p.bytes }

// build makes the buckets of the order, given the scopes of its messages.
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

// size returns the number of entries of a table over vars.
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

// group combines the parts of a bucket into operands. Small parts are multiplied together.
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

// operand returns an operand over vars, which it sorts in the order of elimination.
func (p *Plan) operand(vars []int32, parts []part) operand {
	slices.SortFunc(vars, func(a, b int32) int { return cmp.Compare(p.at[a], p.at[b]) })
	o := operand{vars: vars, size: p.size(vars), parts: slices.Clone(parts)}
	for k := range o.parts {
		o.parts[k].strides = p.strides(vars, p.vars(parts[k]))
	}
	o.alone = len(parts) == 1 && parts[0].factor < 0 && parts[0].size == o.size
	return o
}

// strides returns, for each variable of vars, the distance between its levels in a table over
// own, or 0 if the table does not contain it.
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

// cut divides the buckets into the fewest segments whose messages fit into the given number of
// bytes, and returns the bytes needed. If no division fits, it uses the one that needs least.
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

// kept returns the bytes of the messages that cross a cut, plus those of the largest segment.
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
