package mcptest_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"svc.dev/svc/service/mcp/mcptest"
)

// TestTheOfficialClientSignsIn has the SDK's own client judge what our tests are made with.
func TestTheOfficialClientSignsIn(t *testing.T) {
	for _, by := range []mcptest.Resource{mcptest.ByHeader, mcptest.ByPath, mcptest.ByRoot, mcptest.ByNone} {
		for _, o := range []mcptest.Options{{}, {Path: "/tenant", Metadata: []string{"appended"}}, {Metadata: []string{"openid"}, Silent: true}} {
			if by == mcptest.ByNone && o.Path != "" {
				continue // whoever is its own has no path
			}
			t.Run(string(by)+o.Path, func(t *testing.T) {
				t.Parallel()
				a := mcptest.NewAuthority(t, o)
				s := mcptest.NewServer(t, a, by)
				handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
					DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
						RedirectURIs: []string{"https://client.example/callback"}, TokenEndpointAuthMethod: "client_secret_basic",
					}},
					AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
						q := a.Visit(t, args.URL).Query()
						return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				client := sdk.NewClient(&sdk.Implementation{Name: "official", Version: "1"}, nil)
				session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: s.Address(), OAuthHandler: handler, DisableStandaloneSSE: true}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				if got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo"}); err != nil || got.IsError || s.Calls.Load() != 1 {
					t.Errorf("call: %+v %v", got, err)
				}
			})
		}
	}
}
