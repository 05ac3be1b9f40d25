package mcp_test

import (
	"context"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.dev/svc/internal/sqldb/sqldbtest"
)

// speaks makes the test binary an MCP server instead of a test.
const speaks = "MCP_TEST_SPEAKS"

func TestMain(m *testing.M) {
	if os.Getenv(speaks) != "" {
		s := sdk.NewServer(&sdk.Implementation{Name: "program", Version: "1"}, nil)
		sdk.AddTool(s, &sdk.Tool{Name: "variable", Description: "Says what a variable is."}, func(_ context.Context, _ *sdk.CallToolRequest, in struct{ Name string }) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: os.Getenv(in.Name)}}}, nil, nil
		})
		_ = s.Run(context.Background(), &sdk.StdioTransport{})
		return
	}
	if err := os.Setenv(ours, "not for programs"); err != nil {
		panic(err)
	}
	os.Exit(sqldbtest.Reuse(m))
}
