package grammar

import "slices"

// evaluation is one combination of keywords that may hold for a value, with the members and
// items that these keywords evaluate.
type evaluation struct {
	holds    []*value // schemas that hold in this combination, besides those that always hold
	names    []string
	patterns []string
	all      bool // true if all members are evaluated

	prefix   int // number of leading items that are evaluated
	contains []*value
	allItems bool
}

// evaluations bounds the number of combinations that are distinguished.
const evaluations = 64

// unevaluated rewrites unevaluatedProperties and unevaluatedItems as a choice. For every
// combination of the other keywords that may hold, it applies additionalProperties and items to
// the members and items that this combination does not evaluate.
func (c *schemas) unevaluated(s *value) (parts []part, err error) {
	for _, k := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		x := s.get(k)
		if x == nil || c.legacy {
			continue
		}
		if !isSchema(x) {
			return nil, malformed(x, "a schema: an object or a Boolean")
		}
		if x.kind == boolean && x.truth {
			continue
		}
		ways, err := c.evaluations(s, s, k, 0)
		if err != nil {
			return nil, err
		}
		var subs []*value
		for _, w := range ways {
			holds := list(s.path, w.holds...)
			if k == "unevaluatedItems" && !w.allItems {
				first := list(s.path)
				for range w.prefix {
					first.items = append(first.items, truth(s.path, true))
				}
				rest := x
				if len(w.contains) > 0 {
					rest = made(x.path, "anyOf", list(x.path, append(slices.Clip(w.contains), x)...))
				}
				holds.items = append(holds.items, made(s.path, "prefixItems", first, "items", rest))
			}
			if k == "unevaluatedProperties" && !w.all {
				properties, patterns := made(s.path), made(s.path)
				for _, name := range w.names {
					properties.set(name, truth(s.path, true))
				}
				for _, p := range w.patterns {
					patterns.set(p, truth(s.path, true))
				}
				rest := made(s.path, "properties", properties, "additionalProperties", x)
				if len(w.patterns) > 0 {
					rest.set("patternProperties", patterns)
				}
				holds.items = append(holds.items, rest)
			}
			if len(holds.items) == 0 { // whatever else holds
				subs = nil
				break
			}
			subs = append(subs, made(s.path, "allOf", holds))
		}
		if subs != nil {
			parts = append(parts, part{op: opAny, subs: subs})
		}
	}
	return parts, nil
}

// evaluations returns the combinations of keywords with which s may hold. keyword, in the
// schema top, is the keyword being rewritten and is itself not considered.
func (c *schemas) evaluations(s, top *value, keyword string, depth int) ([]evaluation, error) {
	if depth > referred {
		return nil, unsupported(top, keyword, "%d schemas apply one within another, want ≤ %d", depth, referred)
	}
	ways := []evaluation{{}}
	if s.kind != object {
		return ways, nil
	}
	and := func(more []evaluation) error {
		var both []evaluation
		for _, a := range ways {
			for _, b := range more {
				if both = append(both, a.and(b)); len(both) > evaluations {
					return unsupported(top, keyword, "more than %d ways in which anyOf, oneOf, if and dependencies may hold", evaluations)
				}
			}
		}
		ways = both
		return nil
	}
	of := func(sub *value) ([]evaluation, error) { return c.evaluations(sub, top, keyword, depth+1) }
	targets, err := c.targets(s)
	if err != nil {
		return nil, err
	}
	always := slices.Clone(targets)
	if x := s.get("allOf"); x != nil {
		always = append(always, x.items...)
	}
	for _, sub := range always {
		more, err := of(sub)
		if err == nil {
			err = and(more)
		}
		if err != nil {
			return nil, err
		}
	}
	w := c.evaluates(s, s == top, keyword)
	if err := and([]evaluation{w}); err != nil {
		return nil, err
	}
	// if adds the ways in which some schemas hold in addition, or not.
	maybe := func(alone bool, choices ...[]*value) error {
		more := []evaluation{{}}
		for _, holds := range choices {
			some := []evaluation{{holds: holds}}
			for _, sub := range holds {
				inner, err := of(sub)
				if err != nil {
					return err
				}
				var next []evaluation
				for _, a := range some {
					for _, b := range inner {
						next = append(next, a.and(b))
					}
				}
				some = next
			}
			some = slices.DeleteFunc(some, evaluation.nothing)
			n := len(more)
			if alone {
				n = 1
			}
			for _, a := range more[:n] {
				for _, b := range some {
					more = append(more, a.and(b))
				}
			}
			if len(more) > evaluations {
				break
			}
		}
		return and(more)
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		var choices [][]*value
		if x := s.get(k); x != nil {
			for _, sub := range x.items {
				choices = append(choices, []*value{sub})
			}
			if err := maybe(k == "oneOf", choices...); err != nil {
				return nil, err
			}
		}
	}
	if x := s.get("if"); x != nil {
		then, other := []*value{x}, []*value{made(x.path, "not", x)}
		if y := s.get("then"); y != nil {
			then = append(then, y)
		}
		if y := s.get("else"); y != nil {
			other = append(other, y)
		}
		if err := maybe(true, then, other); err != nil {
			return nil, err
		}
	}
	for _, k := range []string{"dependencies", "dependentSchemas"} {
		x := s.get(k)
		if x == nil {
			continue
		}
		for _, name := range x.keys {
			if then := x.field[name]; then.kind == object {
				has := made(x.path, "type", word(x.path, "object"), "required", list(x.path, word(x.path, name)))
				if err := maybe(true, []*value{has, then}); err != nil {
					return nil, err
				}
			}
		}
	}
	return ways, nil
}

// evaluates returns the members and items that the keywords of s evaluate, without those of its
// subschemas that apply to the same value. top states that s contains the keyword being
// rewritten.
func (c *schemas) evaluates(s *value, top bool, keyword string) (w evaluation) {
	if p := s.get("properties"); p != nil {
		w.names = p.keys
	}
	if p := s.get("patternProperties"); p != nil {
		w.patterns = p.keys
	}
	w.all = s.get("additionalProperties") != nil || s.get("unevaluatedProperties") != nil && !(top && keyword == "unevaluatedProperties")
	w.prefix = len(prefix(s))
	w.allItems = itemOf(s, 1<<30) != nil || s.get("unevaluatedItems") != nil && !(top && keyword == "unevaluatedItems")
	if x := s.get("contains"); x != nil && !c.older {
		w.contains = []*value{x}
	}
	return w
}

// and returns the combination of w and v.
func (w evaluation) and(v evaluation) evaluation {
	return evaluation{
		holds: append(slices.Clip(w.holds), v.holds...), names: append(slices.Clip(w.names), v.names...),
		patterns: append(slices.Clip(w.patterns), v.patterns...), all: w.all || v.all,
		prefix: max(w.prefix, v.prefix), contains: append(slices.Clip(w.contains), v.contains...), allItems: w.allItems || v.allItems,
	}
}

// nothing reports whether no members and no items are evaluated.
func (w evaluation) nothing() bool {
	return len(w.names)+len(w.patterns)+len(w.contains)+w.prefix == 0 && !w.all && !w.allItems
}
