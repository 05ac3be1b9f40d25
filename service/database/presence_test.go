package database

import "testing"

func TestAProcessIsNamedInItsConnections(t *testing.T) {
	for address, want := range map[string]string{
		"sqlite:x":                              "sqlite:x",
		"postgres://a@b/c":                      "postgres://a@b/c?application_name=svc%20gateway%20node_1",
		"postgres://a:p%40@b/c?sslmode=disable": "postgres://a:p%40@b/c?sslmode=disable&application_name=svc%20gateway%20node_1",
		"postgres://a@b/c?application_name=x":   "postgres://a@b/c?application_name=x",
	} {
		if got := Named(address, "gateway", "node_1"); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
}
