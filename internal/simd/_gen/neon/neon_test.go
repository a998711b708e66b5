package neon

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestWords holds every word of what is committed against what the assembler of GNU
// binutils makes of its mnemonic.
func TestWords(t *testing.T) {
	as, err := exec.LookPath("aarch64-linux-gnu-as")
	if err != nil {
		t.Skip("no aarch64-linux-gnu-as")
	}
	var words []uint32
	var mnemonics []string
	var source bytes.Buffer
	for _, topic := range topics {
		file, err := os.ReadFile("../../asm_" + topic.name + "_arm64.s")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`WORD \$(0x[0-9a-f]{8}) // (.*)`).FindAllStringSubmatch(string(file), -1) {
			w, err := strconv.ParseUint(m[1], 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			words, mnemonics = append(words, uint32(w)), append(mnemonics, m[2])
			source.WriteString(m[2] + "\n")
		}
	}
	object, text := filepath.Join(t.TempDir(), "o"), filepath.Join(t.TempDir(), "text")
	assemble := exec.Command(as, "-march=armv8-a", "-o", object, "-")
	assemble.Stdin = &source
	if out, err := assemble.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", object, text).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	code, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(code) != 4*len(words) {
		t.Fatalf("%d bytes of %d instructions", len(code), len(words))
	}
	for i, w := range words {
		if got := binary.LittleEndian.Uint32(code[4*i:]); got != w {
			t.Errorf("%s: %#08x, the assembler says %#08x", mnemonics[i], w, got)
		}
	}
}
