package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// scanner walks over a header; blanks between tokens mean nothing.
type scanner struct{ rest string }

func (s *scanner) skip() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

// take consumes the token if it comes next.
func (s *scanner) take(token string) (ok bool) {
	s.skip()
	s.rest, ok = strings.CutPrefix(s.rest, token)
	return ok
}

func (s *scanner) want(token string) error {
	if s.take(token) {
		return nil
	}
	if s.rest == "" {
		return fmt.Errorf("ends where %q should be", token)
	}
	return fmt.Errorf("%q where %q should be", s.rest[:1], token)
}

// quoted consumes 'text' or "text"; escapes are not interpreted.
func (s *scanner) quoted() (string, error) {
	for _, q := range []string{"'", `"`} {
		if !s.take(q) {
			continue
		}
		text, rest, ok := strings.Cut(s.rest, q)
		if !ok {
			return "", errors.New("a string without an end")
		}
		s.rest = rest
		return text, nil
	}
	return "", errors.New("no string where one should be")
}

// integer consumes a decimal integer ≥ 0, with the L that Python 2 wrote.
func (s *scanner) integer() (int, error) {
	s.skip()
	k := 0
	for k < len(s.rest) && '0' <= s.rest[k] && s.rest[k] <= '9' {
		k++
	}
	if k == 0 {
		return 0, errors.New("no integer ≥ 0")
	}
	n, err := strconv.Atoi(s.rest[:k])
	if err != nil {
		return 0, fmt.Errorf("%s is out of range", s.rest[:k])
	}
	s.rest = strings.TrimPrefix(s.rest[k:], "L")
	return n, nil
}
