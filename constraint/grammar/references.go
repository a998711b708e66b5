package grammar

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// references holds the schemas of a document by the references to them, and
// which of them are negated.
type references struct {
	root    *value
	legacy  bool // drafts up to 7: keywords next to $ref are ignored
	byID    map[string]*value
	exact   bool            // somewhere a schema is negated: only texts that all schemas read alike
	negated map[*value]bool // where an approximation from below is none
}

// resolve finds the schema that a $ref names.
func (c *references) resolve(ref *value) (*value, error) {
	if ref.kind != str {
		return nil, malformed(ref, "a string")
	}
	base, pointer, _ := strings.Cut(ref.text, "#")
	at := c.root
	if base != "" {
		if at = c.byID[base]; at == nil {
			return nil, c.refError(ref, "no schema in the document has this $id")
		}
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil, malformed(ref, "a URI reference")
	}
	if pointer != "" && pointer[0] != '/' {
		if at = c.byID["#"+pointer]; at == nil {
			return nil, c.refError(ref, "no schema in the document has this anchor")
		}
		return at, nil
	}
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

func (c *references) refError(ref *value, what string) error {
	return &SchemaError{Path: ref.path.String(), What: fmt.Sprintf("$ref %s: %s", check.Quote(ref.text), what), Unsupported: true}
}

// index records identifiers and whether a schema is negated anywhere.
func (c *references) index(v *value) {
	switch v.kind {
	case array:
		for _, x := range v.items {
			c.index(x)
		}
	case object:
		for _, k := range []string{"$id", "id"} {
			if x := v.get(k); x != nil && x.kind == str && v != c.root {
				c.byID[strings.TrimSuffix(x.text, "#")] = v
			} else if x != nil && x.kind == str {
				c.byID[strings.TrimSuffix(x.text, "#")] = c.root
			}
		}
		if x := v.get("$anchor"); x != nil && x.kind == str {
			c.byID["#"+x.text] = v
		}
		for _, k := range []string{"not", "oneOf", "if", "maxContains", "dependencies", "dependentRequired", "dependentSchemas"} {
			c.exact = c.exact || v.get(k) != nil
		}
		for _, k := range v.keys {
			c.index(v.field[k])
		}
	}
}

// negate marks all schemas whose failure may make a value valid.
func (c *references) negate(v *value, below bool) {
	if below {
		if c.negated[v] {
			return
		}
		c.negated[v] = true
		if ref := v.get("$ref"); ref != nil {
			if target, err := c.resolve(ref); err == nil {
				c.negate(target, true)
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
