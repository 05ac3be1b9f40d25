package mcptest

import (
	"context"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Speaks is the variable that makes a test binary an MCP server instead of a test.
const Speaks = "MCP_TEST_SPEAKS"

// Speak is for TestMain: where Speaks is set this process is a server on its standard input and output, until that ends. It reports
// whether it was.
func Speak() bool {
	if os.Getenv(Speaks) == "" {
		return false
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "program", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "variable", Description: "Says what a variable is."}, func(_ context.Context, _ *sdk.CallToolRequest, in struct{ Name string }) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: os.Getenv(in.Name)}}}, nil, nil
	})
	_ = s.Run(context.Background(), &sdk.StdioTransport{}) // whoever started it is gone
	return true
}
