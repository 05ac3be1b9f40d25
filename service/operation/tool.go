package operation

import (
	"context"
	"encoding/json"
	"strings"

	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/toolbox"
)

// tools are what the agents of a workspace may be given.
var tools = everywhere("workspace",
	list(W+"/tools", readsAgents, listTools).says("List the tools that agents may be given, with the JSON Schema of what each is asked."),
)

// tool is something that a model may call.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Source      string          `json:"source"` // built-in, or the room that it comes from
	InputSchema json.RawMessage `json:"inputSchema" type:"object"`
}

func listTools(_ context.Context, _ Call, in page) (shown listing.Page[tool], err error) {
	shown.Items = []tool{}
	for _, e := range toolbox.Catalogue() {
		if strings.Contains(e.Name, strings.ToLower(in.Q)) {
			shown.Items = append(shown.Items, tool(e))
		}
	}
	return shown, nil
}
