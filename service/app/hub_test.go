package app_test

import (
	"testing"

	"svc.dev/svc/service/account/accounttest"
)

// hub is a world and a GitHub that knows it.
type hub struct{ *accounttest.Hub }

// eachUnconfigured runs a test on both databases with a GitHub that no app was made at.
func eachUnconfigured(t *testing.T, fn func(t *testing.T, h *hub)) {
	t.Helper()
	accounttest.EachUnconfigured(t, func(t *testing.T, h *accounttest.Hub) { fn(t, &hub{h}) })
}

// eachHub runs a test on both databases with a GitHub that is configured.
func eachHub(t *testing.T, o accounttest.Options, fn func(t *testing.T, h *hub)) {
	t.Helper()
	accounttest.EachHub(t, o, func(t *testing.T, h *accounttest.Hub) { fn(t, &hub{h}) })
}
