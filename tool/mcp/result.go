package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc"
)

const (
	// maxText bounds all text of a result. It stays below 1 MiB by what the runtime needs around it in one record.
	maxText = 1<<20 - 16<<10
	// maxPieces bounds how many pieces a result has.
	maxPieces = 256
)

// pictures are the types of image that every provider accepts: another would spoil the conversation that it is part of.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// resultOf is an answer as the runtime takes it.
func resultOf(answer *sdk.CallToolResult) svc.ToolResult {
	result := svc.ToolResult{IsError: answer.IsError}
	left := maxText
	if answer.StructuredContent != nil {
		output, err := encode(answer.StructuredContent)
		switch {
		case err == nil && len(output) <= left:
			result.Output = output
			left -= len(output)
		case len(answer.Content) == 0:
			answer.Content = []sdk.Content{&sdk.TextContent{Text: string(output)}}
		}
	}
	if repeats(answer.Content, result.Output) {
		return result
	}
	for i, c := range answer.Content {
		if i == maxPieces {
			result.Content = append(result.Content, note("%d more pieces are left out", len(answer.Content)-i))
			break
		}
		piece := pieceOf(c)
		piece.Text = shorten(piece.Text, left)
		left = max(0, left-len(piece.Text))
		result.Content = append(result.Content, piece)
	}
	if result.Content == nil && result.Output == nil {
		result.Content = []svc.ToolContent{{Text: ""}}
	}
	return result
}

// repeats reports that the content is the output once more, as the protocol asks servers to send it.
func repeats(content []sdk.Content, output json.RawMessage) bool {
	if output == nil || len(content) != 1 {
		return false
	}
	var v any
	text, ok := content[0].(*sdk.TextContent)
	if !ok || json.Unmarshal([]byte(text.Text), &v) != nil {
		return false
	}
	same, err := encode(v)
	return err == nil && bytes.Equal(same, output)
}

func pieceOf(c sdk.Content) svc.ToolContent {
	switch c := c.(type) {
	case *sdk.TextContent:
		return svc.ToolContent{Text: c.Text}
	case *sdk.ImageContent:
		return picture(c.MIMEType, c.Data)
	case *sdk.AudioContent:
		return note("audio of type %s and %d bytes is left out", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return svc.ToolContent{Text: strings.TrimSpace(c.Name + " " + c.URI + "\n" + c.Description)}
	case *sdk.EmbeddedResource:
		return embedded(c.Resource)
	}
	return note("content of an unknown kind is left out")
}

func embedded(r *sdk.ResourceContents) svc.ToolContent {
	switch {
	case r == nil:
		return note("a resource without content")
	case r.Blob != nil:
		return picture(r.MIMEType, r.Blob)
	}
	return svc.ToolContent{Text: r.Text}
}

func picture(kind string, data []byte) svc.ToolContent {
	if len(data) == 0 || !slices.Contains(pictures, kind) {
		return note("data of type %s and %d bytes is left out", kind, len(data))
	}
	return svc.ToolContent{MimeType: kind, Data: data}
}

func note(format string, args ...any) svc.ToolContent {
	return svc.ToolContent{Text: "[" + fmt.Sprintf(format, args...) + "]"}
}

// shorten keeps what there is room for and says how much is missing.
func shorten(text string, room int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= room {
		return text
	}
	kept := cut(text, room)
	return kept + fmt.Sprintf("\n[%d bytes are left out]", len(text)-len(kept))
}

// cut is the beginning of a text, in whole characters.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "")
}
