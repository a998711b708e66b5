package pretrained

import (
	"fmt"
	"strings"
)

// Message is one turn of a conversation.
type Message struct {
	Role    string // author of the turn: system, user or assistant
	Content string
}

// Chat returns the prompt of a conversation, ending where the answer of the assistant begins. It
// uses the template with which the public instruct models of LLaDA, Dream and Qwen were trained.
// Marks of the template, such as <|im_start|>, must be encoded as single tokens (text.BPE's
// EncodeMarked). Chat returns an error if a role is not in the template, or if the model type
// ([Config.Type]) has no template.
func (c Config) Chat(messages ...Message) (string, error) {
	var b strings.Builder
	for i, m := range messages {
		if m.Role != "system" && m.Role != "user" && m.Role != "assistant" {
			return "", fmt.Errorf("pretrained: Chat: message %d: Role = %q, want system, user or assistant", i, m.Role)
		}
	}
	switch c.Type {
	case "llada":
		b.WriteString("<|startoftext|>")
		for _, m := range messages {
			fmt.Fprintf(&b, "<|start_header_id|>%s<|end_header_id|>\n\n%s<|eot_id|>", m.Role, strings.TrimSpace(m.Content))
		}
		b.WriteString("<|start_header_id|>assistant<|end_header_id|>\n\n")
	case "Dream", "a2d-qwen2", "a2d-qwen3":
		if c.Type != "a2d-qwen3" && (len(messages) == 0 || messages[0].Role != "system") {
			b.WriteString("<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n")
		}
		for _, m := range messages {
			fmt.Fprintf(&b, "<|im_start|>%s\n%s<|im_end|>\n", m.Role, m.Content)
		}
		b.WriteString("<|im_start|>assistant\n")
	default:
		return "", fmt.Errorf("pretrained: Chat: a network of type %q has no template here", c.Type)
	}
	return b.String(), nil
}
