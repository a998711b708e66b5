package check

import "fmt"

// Setting is a whole number of a configuration.
type Setting struct {
	name         string
	value        *int
	least, usual int
}

// Number is a setting that is no less than least, and usual where it is 0.
func Number(name string, value *int, least, usual int) Setting {
	return Setting{name, value, least, usual}
}

// Defaults returns an error for the first setting that is out of range, and replaces
// zeros by what is usual. prefix, such as "diffusion: Config.", goes before the name.
func Defaults(prefix string, settings ...Setting) error {
	for _, s := range settings {
		if *s.value < s.least {
			return fmt.Errorf("%s%s = %d, want ≥ %d", prefix, s.name, *s.value, s.least)
		}
		if *s.value == 0 {
			*s.value = s.usual
		}
	}
	return nil
}

// Refusal is why a setting is refused, or nothing.
type Refusal struct {
	bad   bool
	name  string
	value any
	want  string
}

// Rule refuses the value of a setting if bad.
func Rule(bad bool, name string, value any, want string) Refusal {
	return Refusal{bad, name, value, want}
}

// Refuse returns an error for the first setting that is refused. prefix is as in
// [Defaults].
func Refuse(prefix string, rules ...Refusal) error {
	for _, r := range rules {
		if r.bad {
			return fmt.Errorf("%s%s = %v, want %s", prefix, r.name, r.value, r.want)
		}
	}
	return nil
}
