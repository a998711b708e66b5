package grammar

import (
	"encoding/json"
	"math/big"
	"runtime"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A decimal is the number of its text, in whatever form that is written.
func TestParseDecimal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,5})?([eE][-+]?[0-9]{1,2})?`).Draw(r, "number")
		want, _ := new(big.Rat).SetString(text)
		d, err := parseDecimal(json.Number(text))
		require.NoError(r, err)
		require.Zero(r, d.rat().Cmp(want))
		require.False(r, strings.HasPrefix(d.whole, "0") || strings.HasSuffix(d.fraction, "0"))
		require.Equal(r, want.Sign() < 0, d.negative)
	})
	for _, text := range []string{"1e99999", "1e-99999", "1E+9999", strings.Repeat("9", digits+1)} {
		_, err := parseDecimal(json.Number(text))
		require.ErrorContains(t, err, "want at most 400 digits", "%.20s", text)
	}
}

// A number that is too long is refused before package big reads it, whose time is quadratic.
func TestLongNumbersAreRefusedUnread(t *testing.T) {
	exact.SkipUnderRace(t)
	long := json.Number(strings.Repeat("9", 1<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := parseDecimal(long)
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "want at most 400 digits")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<17))
}
