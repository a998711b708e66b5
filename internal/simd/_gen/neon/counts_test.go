package neon

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestInstructionsPerElement counts the instructions of a turn of the main loop of the
// kernels that matter, of NEON and of AVX2, whose registers are twice as wide. A turn
// takes as many elements as the table says: words, weights, sites, or products of two
// numbers.
func TestInstructionsPerElement(t *testing.T) {
	const most = 2.2
	type turn struct {
		loop     string
		elements float64
	}
	for _, k := range []struct {
		kernel, topic string // topic on amd64
		avx2, neon    turn
	}{
		{"philox", "random", turn{"group", 64}, turn{"group", 64}},
		{"unit32", "random", turn{"loop", 8}, turn{"loop", 16}},
		{"unit64", "random", turn{"loop", 4}, turn{"loop", 8}},
		{"maxSegment", "rows", turn{"max", 32}, turn{"max", 16}},
		{"weightsSegment", "rows", turn{"loop", 16}, turn{"loop", 16}},
		{"weightsRows", "rows", turn{"loop", 16}, turn{"loop", 16}},
		{"flooredSegment", "rows", turn{"loop", 16}, turn{"loop", 16}},
		{"flooredRows", "rows", turn{"loop", 16}, turn{"loop", 16}},
		{"scaleRows", "rows", turn{"loop", 8}, turn{"loop", 16}},
		{"shiftRow", "rows", turn{"loop", 8}, turn{"loop", 16}},
		{"pickRow", "pick", turn{"loop", 16}, turn{"loop", 16}},
		{"pickRows", "pick", turn{"loop", 16}, turn{"loop", 16}},
		{"flipThresholds", "flip", turn{"loop", 8}, turn{"loop", 8}},
		{"flipDraw", "flip", turn{"loop", 16}, turn{"loop", 16}},
		{"flipScore", "flip", turn{"loop", 16}, turn{"loop", 16}},
		{"sigmoid", "logistic", turn{"loop", 8}, turn{"loop", 8}},
		{"gemm1x16", "gemm", turn{"loop", 16}, turn{"loop", 4 * 16}},
		{"gemm2x16", "gemm", turn{"loop", 32}, turn{"loop", 4 * 32}},
		{"gemm1x64", "gemm", turn{"loop", 64}, turn{"loop", 4 * 64}},
		{"fixedTile2", "fixed", turn{"pair", 64}, turn{"pair", 64}},
		{"fixedTile1", "fixed", turn{"pair", 32}, turn{"pair", 32}},
		{"packRows", "gemm", turn{"loop", 16}, turn{"loop", 16}},
		{"packColumns", "gemm", turn{"block", 64}, turn{"block", 32}},
	} {
		avx2 := instructions(t, "asm_"+k.topic+"_amd64.s", k.kernel+"AVX2", k.avx2.loop) / k.avx2.elements
		topic := map[string]string{"logistic": "flip"}[k.topic]
		if topic == "" {
			topic = k.topic
		}
		neon := instructions(t, "asm_"+topic+"_arm64.s", k.kernel+"NEON", k.neon.loop) / k.neon.elements
		t.Logf("%-15s %5.2f with AVX2, %5.2f with NEON: %.2f times", k.kernel, avx2, neon, neon/avx2)
		if neon > most*avx2 {
			t.Errorf("%s: %.2f instructions an element, %.2f with AVX2: more than %.1f times", k.kernel, neon, avx2, most)
		}
	}
	// The tallest tiles differ: 6 rows with AVX2, 4 with NEON.
	avx2 := instructions(t, "asm_gemm_amd64.s", "gemm6x16AVX2", "loop") / (6 * 16)
	neon := instructions(t, "asm_gemm_arm64.s", "gemm4x16NEON", "loop") / (4 * 4 * 16)
	t.Logf("%-15s %5.2f with AVX2, %5.2f with NEON: %.2f times", "tallest tile", avx2, neon, neon/avx2)
	if neon > most*avx2 {
		t.Errorf("tallest tile: %.2f instructions an element, %.2f with AVX2", neon, avx2)
	}
}

// instructions counts those from the first label of a function whose name begins with
// loop to the first jump back to it, with no other loop between them.
func instructions(t *testing.T, file, function, loop string) float64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(b), "TEXT ·"+function+"(SB)")
	if !found {
		t.Fatalf("no %s in %s", function, file)
	}
	text, _, _ = strings.Cut(text, "\nTEXT ")
	lines := strings.Split(text, "\n")
	label := regexp.MustCompile(`^` + loop + `\d*:$`)
	first := slices.IndexFunc(lines, label.MatchString)
	if first < 0 {
		t.Fatalf("no %s in %s", loop, function)
	}
	back := regexp.MustCompile(`^[JB][A-Z]*\s+` + strings.TrimSuffix(lines[first], ":") + `$`)
	n := 0
	for _, line := range lines[first+1:] {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
			continue
		case strings.HasSuffix(line, ":"):
			t.Fatalf("%s: %s within the loop", function, line)
		}
		n++
		if back.MatchString(line) {
			return float64(n)
		}
	}
	t.Fatalf("%s: nothing jumps back to %s", function, lines[first])
	return 0
}
