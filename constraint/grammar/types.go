package grammar

// typeSet is a set of the types of a JSON Schema.
type typeSet struct{ null, boolean, object, array, number, integer, str bool }

// typesOf reads the keyword type; without it, every type is allowed.
func typesOf(s *value) (t typeSet, err error) {
	x := s.get("type")
	if x == nil {
		return typeSet{true, true, true, true, true, true, true}, nil
	}
	names := x.items
	if x.kind == str {
		names = []*value{x}
	}
	for _, n := range names {
		switch {
		case n.kind != str:
			return t, malformed(n, "the name of a type")
		case n.text == "null":
			t.null = true
		case n.text == "boolean":
			t.boolean = true
		case n.text == "object":
			t.object = true
		case n.text == "array":
			t.array = true
		case n.text == "number":
			t.number, t.integer = true, true
		case n.text == "integer":
			t.integer = true
		case n.text == "string":
			t.str = true
		default:
			return t, malformed(n, "null, boolean, object, array, number, integer or string")
		}
	}
	return t, nil
}

// has reports whether a value is of one of the types.
func (t typeSet) has(v *value) bool {
	switch v.kind {
	case null:
		return t.null
	case boolean:
		return t.boolean
	case str:
		return t.str
	case array:
		return t.array
	case object:
		return t.object
	}
	d, err := parseDecimal(v.num)
	return t.number || t.integer && err == nil && d.fraction == ""
}
