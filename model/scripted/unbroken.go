package scripted

import (
	"slices"
	"strings"

	"svc.dev/svc/model"
)

// Unbroken is a conversation without a reply at its end that an interruption broke off, however often, and what was told of
// that reply: a script that goes on needs both.
func Unbroken(messages []model.Message) (before []model.Message, told []model.Part) {
	for len(messages) > 0 && isRecovery(messages[len(messages)-1]) {
		messages = messages[:len(messages)-1]
		if n := len(messages); n > 0 && messages[n-1].Role == model.RoleAssistant {
			messages, told = messages[:n-1], slices.Concat(messages[n-1].Parts, told)
		}
	}
	return messages, told
}

// isRecovery reports whether a message is the runtime's, about a reply that broke off.
func isRecovery(m model.Message) bool {
	return m.Role == model.RoleUser && len(m.Parts) == 1 && m.Parts[0].Text != nil && strings.HasPrefix(*m.Parts[0].Text, `<signal type="stream_`)
}
