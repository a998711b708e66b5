package grammar

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
)

// setEdges bounds the number of transitions of an array with uniqueItems. There is one for
// every set of values read and every value that may come next. The bound allows 11 values, or
// 64 values in arrays of two items.
const setEdges = 1 << 14

// enumerate finds the possible values of the items of an array with unique items. s is the
// schema with the keyword uniqueItems.
func (a *arrays) enumerate(s *value) error {
	deepest := a.deepest()
	for i := 0; i <= deepest && (a.most < 0 || i < a.most); i++ {
		var few []*value
		found := false
		for _, x := range a.of {
			values, ok := a.values(itemOf(x, i), 0)
			if ok && (!found || len(values) < len(few)) {
				few, found = values, true
			}
		}
		if !found {
			return unsupported(s, "uniqueItems", "supported only where items are of an enum, a const, Booleans or a range of at most %d integers", rangeOfItems)
		}
		for _, v := range few {
			if !slices.ContainsFunc(a.distinct, func(w *value) bool { return sameValue(v, w) }) {
				a.distinct = append(a.distinct, v)
			}
		}
	}
	n, edges, most := len(a.distinct), new(big.Int), len(a.distinct)
	if a.most >= 0 {
		most = min(most, a.most)
	}
	for k := range most {
		of := new(big.Int).Binomial(int64(n), int64(k))
		edges.Add(edges, of.Mul(of, big.NewInt(int64(n-k))))
		if n > 64 || edges.Cmp(big.NewInt(setEdges)) > 0 {
			return unsupported(s, "uniqueItems", "items may have %d values and an array %d of them: more sets than are distinguished", n, most)
		}
	}
	for i, v := range a.distinct {
		a.distinct[i] = made(v.path, "const", v)
	}
	if a.distinct == nil {
		a.distinct = []*value{}
	}
	return nil
}

// rangeOfItems bounds the number of integers in a range that enumerate expands.
const rangeOfItems = 64

// referred bounds the depth of nested schemas that values and evaluations follow.
const referred = 32

// values returns a finite list that contains every value that satisfies s. It returns false if
// it finds no such list.
func (c *compiler) values(s *value, depth int) ([]*value, bool) {
	c.n.charge(nodeBytes)
	switch {
	case s == nil || depth > referred || c.n.check(1) != nil:
		return nil, false
	case s.kind == boolean:
		return nil, !s.truth
	}
	if x := s.get("const"); x != nil && !c.ignored(s) {
		return []*value{x}, true
	}
	if x := s.get("enum"); x != nil && x.kind == array && !c.ignored(s) {
		return x.items, true
	}
	targets, err := c.targets(s)
	if err != nil {
		return nil, false
	}
	for _, x := range targets {
		if values, ok := c.values(x, depth+1); ok || c.ignored(s) {
			return values, ok
		}
	}
	if x := s.get("allOf"); x != nil {
		for _, sub := range x.items {
			if values, ok := c.values(sub, depth+1); ok {
				return values, true
			}
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		var all []*value
		x := s.get(k)
		ok := x != nil && len(x.items) > 0
		for i := 0; ok && i < len(x.items); i++ {
			var values []*value
			values, ok = c.values(x.items[i], depth+1)
			all = append(all, values...)
		}
		if ok {
			return all, true
		}
	}
	t, err := typesOf(s)
	if err != nil || t.object || t.array || t.str || t.number {
		return nil, false
	}
	var all []*value
	if t.null {
		all = append(all, &value{kind: null, path: s.path})
	}
	if t.boolean {
		all = append(all, truth(s.path, false), truth(s.path, true))
	}
	if t.integer {
		low, high, ok := integersOf(s)
		if !ok {
			return nil, false
		}
		for i := low; i <= high; i++ {
			all = append(all, &value{kind: number, num: json.Number(fmt.Sprint(i)), path: s.path})
		}
	}
	return all, true
}

// ignored reports whether the keywords of s are ignored because s has a $ref.
func (c *compiler) ignored(s *value) bool { return c.legacy && s.get("$ref") != nil }

// integersOf returns bounds on the integers that satisfy s. ok is false if the range is too
// long or open.
func integersOf(s *value) (low, high int64, ok bool) {
	var ends [2]*big.Rat
	for i, name := range []string{"inimum", "aximum"} {
		for _, k := range []string{"m" + name, "exclusiveM" + name} {
			x := s.get(k)
			if x == nil || x.kind != number {
				continue
			}
			if _, err := parseDecimal(x.num); err != nil {
				return 0, 0, false
			}
			r, _ := new(big.Rat).SetString(string(x.num))
			if ends[i] == nil || (r.Cmp(ends[i]) > 0) == (i == 0) {
				ends[i] = r
			}
		}
	}
	if ends[0] == nil || ends[1] == nil {
		return 0, 0, false
	}
	// The Euclidean quotient rounds down.
	down := func(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }
	a, b := down(new(big.Rat).Neg(ends[0])), down(ends[1])
	if a.Neg(a); !a.IsInt64() || !b.IsInt64() || new(big.Int).Sub(b, a).Cmp(big.NewInt(rangeOfItems)) >= 0 {
		return 0, 0, false
	}
	return a.Int64(), b.Int64(), true
}

// sameValue reports whether two values are equal as JSON Schema defines it. The order of
// members does not matter.
func sameValue(a, b *value) bool {
	switch {
	case a.kind != b.kind:
		return false
	case a.kind == array:
		return slices.EqualFunc(a.items, b.items, sameValue)
	case a.kind != object:
		return sameScalar(a, b)
	case len(a.keys) != len(b.keys):
		return false
	}
	for _, k := range a.keys {
		if y, ok := b.field[k]; !ok || !sameValue(a.field[k], y) {
			return false
		}
	}
	return true
}
