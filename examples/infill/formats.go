package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
)

// alphabet lists the characters of all records. The mask of the diffusion is the token after the
// last of them.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-"

// builders maps a format to the function that compiles its language. The function gets the
// record with its blanks.
var builders = map[string]func(ctx context.Context, record string) (constraint.Automaton, error){
	"date":  func(ctx context.Context, _ string) (constraint.Automaton, error) { return dates(ctx) },
	"plate": func(ctx context.Context, _ string) (constraint.Automaton, error) { return plates(ctx) },
	"iban":  ibans,
}

// pattern compiles a regular expression over the alphabet.
func pattern(ctx context.Context, expr string) (constraint.Automaton, error) {
	return text.Regexp(ctx, expr, text.Runes(alphabet), constraint.Limits{})
}

// residue returns the constraint Σ_i value(i, c_i)·weight[i] ≡ want modulo modulus.
func residue(weight []int, value func(c byte) int, modulus, want int) (constraint.Automaton, error) {
	w := make([][]int, len(weight))
	for i := range w {
		w[i] = make([]int, len(alphabet))
		for t := range w[i] {
			w[i][t] = weight[i] * value(alphabet[t]) % modulus
		}
	}
	return constraint.NewSiteResidue(w, modulus, want)
}

// digit returns the value of a digit, and 0 for other characters.
func digit(c byte) int {
	if c >= '0' && c <= '9' {
		return int(c - '0')
	}
	return 0
}

// dates returns the language of the days of the Gregorian calendar, years 0001 to 9999, as
// YYYY-MM-DD. The 29th of February requires a year divisible by 4, and by 400 if it is divisible
// by 100.
func dates(ctx context.Context) (constraint.Automaton, error) {
	common, err := pattern(ctx, `[0-9]{4}-(`+
		`(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|`+
		`(0[469]|11)-(0[1-9]|[12][0-9]|30)|`+
		`02-(0[1-9]|1[0-9]|2[0-8]))`)
	if err != nil {
		return nil, err
	}
	leap, err := pattern(ctx, `[0-9]{4}-02-29`)
	if err != nil {
		return nil, err
	}
	years := make([][]int, len("YYYY-MM-DD"))
	for i := range years {
		years[i] = make([]int, len(alphabet))
		if i < 4 {
			for t := range years[i] {
				years[i][t] = digit(alphabet[t]) * [4]int{1000, 100, 10, 1}[i]
			}
		}
	}
	var leapYears []int
	for y := 0; y < 400; y += 4 {
		if y%100 != 0 || y == 0 {
			leapYears = append(leapYears, y)
		}
	}
	leapYear, err := constraint.NewSiteResidue(years, 400, leapYears...)
	if err != nil {
		return nil, err
	}
	leapDay, err := constraint.Intersect(leap, leapYear)
	if err != nil {
		return nil, err
	}
	days, err := constraint.Union(common, leapDay)
	if err != nil {
		return nil, err
	}
	zero, err := pattern(ctx, `0000-.*`)
	if err != nil {
		return nil, err
	}
	return constraint.Intersect(days, constraint.Complement(zero))
}

// plates returns the language of Singapore's licence plates: S, two letters, four digits and a
// check letter. The second and third letter, counted from A = 1, and the digits are weighted by
// 9, 4, 5, 4, 3, 2. The sum modulo 19 is the index of the check letter in checkLetters. The
// letters I and O are not used.
func plates(ctx context.Context) (constraint.Automaton, error) {
	const checkLetters = "AZYXUTSRPMLKJHGEDCB"
	format, err := pattern(ctx, `S[A-HJ-NP-Z]{2}[0-9]{4}[`+checkLetters+`]`)
	if err != nil {
		return nil, err
	}
	weight := [...]int{0, 9, 4, 5, 4, 3, 2}
	w := make([][]int, len(weight)+1)
	for i := range w {
		w[i] = make([]int, len(alphabet))
		for t, c := range []byte(alphabet) {
			switch {
			case i == len(weight):
				w[i][t] = -max(0, strings.IndexByte(checkLetters, c))
			case c >= 'A' && c <= 'Z':
				w[i][t] = weight[i] * (int(c-'A') + 1)
			default:
				w[i][t] = weight[i] * digit(c)
			}
		}
	}
	check, err := constraint.NewSiteResidue(w, 19, 0)
	if err != nil {
		return nil, err
	}
	return constraint.Intersect(format, check)
}

// accounts maps a country to the numbers of letters and of digits that follow the check digits
// of its IBAN (ISO 13616, SWIFT IBAN registry).
var accounts = map[string]struct{ letters, digits int }{
	"DE": {0, 18},
	"GB": {4, 14},
	"NL": {4, 10},
	"NO": {0, 11},
}

// ibans returns the language of the account numbers of the country with which the record begins.
// To check a number, its first four characters are moved to the end and its letters are replaced
// by 10 … 35. The result must be 1 modulo 97. The format fixes the place of every decimal. Check
// digits range from 02 to 98, because 00, 01 and 99 would be equivalent to 97, 98 and 02.
func ibans(ctx context.Context, record string) (constraint.Automaton, error) {
	country := record[:min(2, len(record))]
	a, ok := accounts[country]
	if !ok {
		return nil, fmt.Errorf("country %q, want DE, GB, NL or NO", country)
	}
	format, err := pattern(ctx, fmt.Sprintf(`%s(0[2-9]|[1-8][0-9]|9[0-8])[A-Z]{%d}[0-9]{%d}`, country, a.letters, a.digits))
	if err != nil {
		return nil, err
	}
	// Places from the right: the check digits, the country, the digits and the
	// letters of the account.
	n := 4 + a.letters + a.digits
	weight := make([]int, n)
	power := 1
	place := func(i, decimals int) {
		weight[i] = power
		for range decimals {
			power = power * 10 % 97
		}
	}
	place(3, 1)
	place(2, 1)
	place(1, 2)
	place(0, 2)
	for i := n - 1; i >= 4; i-- {
		if i < 4+a.letters {
			place(i, 2)
		} else {
			place(i, 1)
		}
	}
	value := func(c byte) int {
		if c >= 'A' && c <= 'Z' {
			return int(c-'A') + 10
		}
		return digit(c)
	}
	check, err := residue(weight, value, 97, 1)
	if err != nil {
		return nil, err
	}
	return constraint.Intersect(format, check)
}

// digitSums returns the language of the records whose digits add up to sum.
func digitSums(sum int) (constraint.Automaton, error) {
	w := make([]int, len(alphabet))
	for t := range w {
		w[t] = digit(alphabet[t])
	}
	return constraint.NewSum(w, sum, sum)
}
