package grammar

import "strings"

// formats are patterns of package regexp for whole texts. An exact one accepts
// precisely what its standard allows; the others accept the common part of it, and
// readings of the standard accept at most what matches wide.
var formats = map[string]struct {
	pattern string
	exact   bool
	wide    string
}{
	"date":      {date, true, date},                                                                     // RFC 3339, full-date
	"time":      {clock, false, `(?s:.*:.*)`},                                                           // RFC 3339, full-time; a leap second in UTC only
	"date-time": {date + `[Tt]` + clock, false, `(?s:.*[0-9].*)`},                                       // RFC 3339
	"duration":  {duration, false, `(?s:[Pp].*)`},                                                       // RFC 3339, appendix A
	"uuid":      {uuid, true, uuid},                                                                     // RFC 4122
	"ipv4":      {`(?:` + ipv4Part + `\.){3}` + ipv4Part, true, `(?:` + ipv4Part + `\.){3}` + ipv4Part}, // RFC 2673
	"ipv6":      {ipv6(), true, ipv6()},                                                                 // RFC 4291
	"hostname":  {hostname, false, `(?s:.+)`},                                                           // RFC 1123
	"email":     {email, false, `(?s:.*@.*)`},                                                           // RFC 5321, a dot-string at a host name
	"uri":       {uri, false, `(?s:.*:.*)`},                                                             // RFC 3986
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
	atom         = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
	email        = atom + `(?:\.` + atom + `)*@` + label + `(?:\.` + label + `)*`
	pathChar     = `(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})`
	authority    = `(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(?::[0-9]*)?`
	uri          = `[A-Za-z][A-Za-z0-9+.-]*:(?://` + authority + `(?:/` + pathChar + `*)*|/?(?:` + pathChar + `+(?:/` + pathChar + `*)*)?)` +
		`(?:\?(?:` + pathChar + `|[/?])*)?(?:#(?:` + pathChar + `|[/?])*)?`
)

// ipv6 writes the alternatives of RFC 3986, section 3.2.2.
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
