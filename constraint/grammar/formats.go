package grammar

import "strings"

// formats holds patterns of package regexp for whole texts, by the name of the format. The
// pattern within accepts the texts that the standard and all common implementations accept. The
// pattern beyond accepts every text that any implementation accepts, and is "" if within is
// exact.
var formats = map[string]struct{ within, beyond string }{
	"date":                  {date, ""},                                                        // RFC 3339, full-date
	"time":                  {clock, `[0-9]{1,2}:[0-9]{2}` + anyText},                          // RFC 3339, full-time; a leap second in UTC only
	"date-time":             {date + `[Tt]` + clock, `[0-9]{4}-?[0-9]{2}` + anyText},           // RFC 3339
	"duration":              {duration, `[Pp]` + anyText},                                      // RFC 3339, appendix A
	"uuid":                  {uuid, ""},                                                        // RFC 4122
	"ipv4":                  {`(?:` + ipv4Part + `\.){3}` + ipv4Part, ""},                      // RFC 2673
	"ipv6":                  {ipv6(), ""},                                                      // RFC 4291
	"hostname":              {hostname, hostlike},                                              // RFC 1123
	"idn-hostname":          {hostname, hostlike},                                              // RFC 5890; those in ASCII
	"email":                 {atom + `(?:\.` + atom + `)*@` + domain, anyText + `@` + anyText}, // RFC 5321, a dot-string at a host name
	"idn-email":             {wideAtom + `(?:\.` + wideAtom + `)*@` + domain, anyText + `@` + anyText},
	"uri":                   {identifier("", false), scheme + anyText},               // RFC 3986
	"uri-reference":         {identifier("", true), anyText},                         // RFC 3986
	"iri":                   {identifier(beyondASCIIOfIRI, false), scheme + anyText}, // RFC 3987
	"iri-reference":         {identifier(beyondASCIIOfIRI, true), anyText},           // RFC 3987
	"uri-template":          {template, anyText},                                     // RFC 6570
	"json-pointer":          {pointer, ""},                                           // RFC 6901
	"relative-json-pointer": {natural + `(?:#|` + pointer + `)`, natural + `(?:[+-]` + natural + `)?(?:#|` + pointer + `)`},
	"regex":                 {expressions(), anyText}, // ECMA-262, groups within each other twice at most
}

const (
	date = `(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))` +
		`|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)`
	clock = `(?:(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]))` +
		`|23:59:60(?:\.[0-9]+)?[Zz])`
	durationTime = `T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)`
	durationDate = `(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)`
	duration     = `P(?:[0-9]+W|` + durationTime + `|` + durationDate + `(?:` + durationTime + `)?)`
	uuid         = `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`
	ipv4Part     = `(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	label        = `[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?`
	hostname     = label + `(?:\.` + label + `){0,3}`
	atomChars    = "A-Za-z0-9!#$%&'*+/=?^_`{|}~-"
	atom         = "[" + atomChars + "]+"
	domain       = label + `(?:\.` + label + `)*`
	natural      = `(?:0|[1-9][0-9]*)`
	pointer      = `(?:/(?:[^~/]|~[01])*)*`
	encoded      = `%[0-9A-Fa-f]{2}`
	scheme       = `[A-Za-z][A-Za-z0-9+.-]*:`
	template     = `(?:[!#$&()*+,./0-9:;=?@A-Z\[\]_a-z~` + beyondASCIIOfIRI + `-]|` + encoded + `|\{[+#./;?&]?` + variable + `(?:,` + variable + `)*\})*`
	variable     = `(?:[A-Za-z0-9_]|` + encoded + `)+(?:\*|:[1-9][0-9]{0,3})?`
	anyText      = `(?s:.*)`
	hostlike     = `[^\x00-,/:-@\[-^\x60{-\x7F]*`

	beyondASCIIOfIRI = `\x{A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}\x{10000}-\x{1FFFD}`
	wideAtom         = `[\p{L}` + atomChars + "]+"
)

// identifier returns a pattern for URIs, or for URI references if relative is true. more lists
// characters that are allowed in addition to those of ASCII.
func identifier(more string, relative bool) string {
	const free = `-A-Za-z0-9._~!$&'()*+,;=`
	char := func(also string) string { return `(?:[` + free + also + more + `]|` + encoded + `)` }
	authority := `//(?:` + char(":") + `*@)?` + char("") + `*(?::[0-9]*)?(?:/` + char(":@") + `*)*`
	absolute := `/(?:` + char(":@") + `+(?:/` + char(":@") + `*)*)?`
	path := func(first string) string { return first + `+(?:/` + char(":@") + `*)*` }
	p := scheme + `(?:` + authority + `|` + absolute + `|(?:` + path(char(":@")) + `)?)`
	if relative {
		p = `(?:` + p + `|` + authority + `|` + absolute + `|(?:` + path(char("@")) + `)?)`
	}
	rest := `(?:` + char(":@/?") + `)*`
	return p + `(?:\?` + rest + `)?(?:#` + rest + `)?`
}

// expressions returns a pattern for the ECMA-262 regular expressions that every implementation
// reads in the same way: characters, escapes of one letter, classes, groups and quantifiers.
func expressions() string {
	const (
		class      = `\[\^?(?:a-z|A-Z|0-9|[^\\\]\[^-]|\\[dDsSwWfnrtv\\\]^-])+\]`
		one        = `[^\\^$.*+?()\[\]{}|/]|\\[dDsSwWfnrtv^$\\.*+?()\[\]{}|/]|\.|` + class
		quantifier = `(?:(?:[*+?]|\{` + natural + `,?\})\??)?`
	)
	term, p := one, ""
	for range 3 {
		sequence := `(?:(?:` + term + `)` + quantifier + `)*`
		p = sequence + `(?:\|` + sequence + `)*`
		term = one + `|\((?:\?:)?` + p + `\)`
	}
	return `\^?` + p + `\$?`
}

// ipv6 returns a pattern with the alternatives of RFC 3986, section 3.2.2.
func ipv6() string {
	const h = `[0-9A-Fa-f]{1,4}`
	tail := `(?:` + h + `:` + h + `|(?:` + ipv4Part + `\.){3}` + ipv4Part + `)`
	alternatives := []string{`(?:` + h + `:){6}` + tail}
	front := func(n int) string { // up to n+1 groups before ::
		if n < 0 {
			return ""
		}
		return `(?:(?:` + h + `:){0,` + string(rune('0'+n)) + `}` + h + `)?`
	}
	for n := -1; n <= 5; n++ {
		after := ""
		switch left := 4 - n; {
		case left >= 2:
			after = `(?:` + h + `:){` + string(rune('0'+left-0)) + `}` + tail
		}
		switch n {
		case 3:
			after = h + `:` + tail
		case 4:
			after = tail
		case 5:
			after = h
		}
		alternatives = append(alternatives, front(n)+`::`+after)
	}
	alternatives = append(alternatives, front(6)+`::`)
	return `(?:` + strings.Join(alternatives, `|`) + `)`
}
