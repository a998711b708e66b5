package pretrained

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestChat(t *testing.T) {
	for _, c := range []struct {
		kind string
		in   []Message
		want string
	}{
		{"llada", []Message{{"user", " Hi "}}, "<|startoftext|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
		{"Dream", []Message{{"user", "Hi"}}, "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"},
		{"a2d-qwen2", []Message{{"system", "Be brief."}, {"user", "Hi"}}, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"},
		{"a2d-qwen3", []Message{{"user", "Hi"}, {"assistant", "Ho"}, {"user", "!"}}, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n<|im_start|>user\n!<|im_end|>\n<|im_start|>assistant\n"},
	} {
		got, err := Config{Type: c.kind}.Chat(c.in...)
		assert.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	_, err := Config{Type: "llada"}.Chat(Message{"robot", ""})
	assert.ErrorContains(t, err, `Role = "robot"`)
	_, err = Config{Type: "a2d-llama"}.Chat()
	assert.ErrorContains(t, err, "no template")
}
