package grammar

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// references resolves the references between the schemas of a document. It also records which
// schemas are below a negation.
type references struct {
	root    *value
	legacy  bool // drafts up to 7: keywords next to $ref are ignored
	strict  bool // drafts up to 4: 1.0 is not an integer, and $id is spelled id
	older   bool // draft 2019-09: contains does not evaluate items
	third   bool // the schema names draft 3 or no draft
	byID    map[string]*value
	anchors map[anchor]*value
	// schemas with a $dynamicAnchor, by its name; "" stands for $recursiveAnchor
	dynamic map[string][]*value
	// resource that contains each reference, and each schema with a dynamic anchor
	resource map[*value]*resource
	// true if some schema of the document is negated, so that all schemas must read the same
	// texts
	exact bool
	// schemas below a negation, for which accepting too few texts is an error
	negated map[*value]bool
}

// resource is a schema with an $id. References inside it are relative to this $id.
type resource struct {
	root *value
	uri  *url.URL
}

// anchor is the name of an anchor within the resource root. A nil root means any resource.
type anchor struct {
	root *value
	name string
}

// resolve returns the schema that a $ref refers to.
func (c *references) resolve(ref *value) (*value, error) {
	if ref.kind != str {
		return nil, malformed(ref, "a string")
	}
	base, pointer, _ := strings.Cut(ref.text, "#")
	in := c.resource[ref]
	if in == nil {
		in = &resource{root: c.root, uri: &url.URL{}}
	}
	at := in.root
	if base != "" {
		at = c.byID[base]
		if u, err := in.uri.Parse(base); err == nil && c.byID[u.String()] != nil {
			at = c.byID[u.String()]
		}
		if at == nil {
			return nil, c.refError(ref, "no schema in the document has this $id")
		}
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil, malformed(ref, "a URI reference")
	}
	if pointer != "" && pointer[0] != '/' {
		for _, root := range []*value{at, nil} {
			if x := c.anchors[anchor{root, pointer}]; x != nil {
				return x, nil
			}
		}
		return nil, c.refError(ref, "no schema in the document has this anchor")
	}
	x, err := c.follow(ref, at, pointer)
	if err != nil && base == "" {
		x, err = c.follow(ref, c.root, pointer) // many take pointers to be of the document
	}
	return x, err
}

// follow returns the value that a JSON pointer selects, starting from at. ref is the reference
// that errors name.
func (c *references) follow(ref, at *value, pointer string) (*value, error) {
	for _, k := range strings.Split(pointer, "/")[min(1, len(pointer)):] {
		if pointer == "" {
			break
		}
		k = strings.NewReplacer("~1", "/", "~0", "~").Replace(k)
		switch at.kind {
		case object:
			at = at.get(k)
		case array:
			i, err := strconv.Atoi(k)
			if err != nil || i < 0 || i >= len(at.items) {
				return nil, c.refError(ref, "nothing is there")
			}
			at = at.items[i]
		default:
			at = nil
		}
		if at == nil {
			return nil, c.refError(ref, "nothing is there")
		}
	}
	return at, nil
}

// targets returns the schemas to which the references in s lead.
func (c *references) targets(s *value) (all []*value, err error) {
	for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref := s.get(k)
		if ref == nil || k != "$ref" && c.legacy {
			continue
		}
		x, err := c.resolve(ref)
		if err == nil && k != "$ref" {
			x, err = c.outermost(ref, x)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// outermost returns the schema that the dynamic reference ref selects. Of the schemas with the
// same dynamic anchor, it is the first on the path from the root of the document. A schema in
// the root resource is on every path. Otherwise the choice would depend on the path, which is
// an error unless only one schema has the anchor.
func (c *references) outermost(ref, x *value) (*value, error) {
	name := ""
	if strings.HasSuffix(ref.path.String(), "$dynamicRef") {
		_, name, _ = strings.Cut(ref.text, "#")
		if a := x.get("$dynamicAnchor"); a == nil || a.kind != str || a.text != name || name == "" {
			return x, nil
		}
	} else if a := x.get("$recursiveAnchor"); a == nil || a.kind != boolean || !a.truth {
		return x, nil
	}
	all := c.dynamic[name]
	for _, y := range all {
		if c.resource[y].root == c.root {
			return y, nil
		}
	}
	if len(all) > 1 {
		return nil, c.refError(ref, fmt.Sprintf("%d schemas have the dynamic anchor, none of them in the outermost resource", len(all)))
	}
	return x, nil
}

func (c *references) refError(ref *value, what string) error {
	return &SchemaError{Path: ref.path.String(), What: fmt.Sprintf("%s %s: %s", ref.path.name, check.Quote(ref.text), what), Unsupported: true}
}

// index records the identifiers and anchors in the value v, which lies in the resource in, and
// whether any schema is negated.
func (c *references) index(v *value, in *resource) {
	switch v.kind {
	case array:
		for _, x := range v.items {
			c.index(x, in)
		}
	case object:
		for _, k := range []string{"$id", "id"} {
			x := v.get(k)
			if x == nil || x.kind != str {
				continue
			}
			text := strings.TrimSuffix(x.text, "#")
			if name, is := strings.CutPrefix(text, "#"); is {
				c.name(v, in, name)
			}
			c.byID[text] = v
			u, err := in.uri.Parse(text)
			if err != nil || text == "" || text[0] == '#' || (k == "id") != c.strict || c.legacy && v.get("$ref") != nil {
				continue
			}
			in = &resource{v, u}
			c.byID[u.String()] = v
		}
		for _, k := range []string{"$anchor", "$dynamicAnchor"} {
			if x := v.get(k); x != nil && x.kind == str {
				c.name(v, in, x.text)
				if k == "$dynamicAnchor" {
					c.dynamic[x.text] = append(c.dynamic[x.text], v)
					c.resource[v] = in
				}
			}
		}
		if x := v.get("$recursiveAnchor"); x != nil && x.kind == boolean && x.truth {
			c.dynamic[""] = append(c.dynamic[""], v)
			c.resource[v] = in
		}
		for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if x := v.get(k); x != nil {
				c.resource[x] = in
			}
		}
		for _, k := range []string{"not", "oneOf", "if", "maxContains", "dependencies", "dependentRequired", "dependentSchemas"} {
			c.exact = c.exact || v.get(k) != nil
		}
		for _, k := range v.keys {
			c.index(v.field[k], in)
		}
	}
}

// name records an anchor.
func (c *references) name(v *value, in *resource, name string) {
	c.anchors[anchor{in.root, name}] = v
	c.anchors[anchor{nil, name}] = v
}

// negate marks all schemas whose failure may make a value valid. below states that v is below a
// negation.
func (c *references) negate(v *value, below bool) {
	if below {
		if c.negated[v] {
			return
		}
		c.negated[v] = true
		if targets, err := c.targets(v); err == nil {
			for _, x := range targets {
				c.negate(x, true)
			}
		}
	}
	for _, x := range v.items {
		c.negate(x, below)
	}
	for _, k := range v.keys {
		turns := k == "not" || k == "oneOf" || k == "if" || k == "contains" && v.get("maxContains") != nil
		c.negate(v.field[k], below || turns)
	}
}
