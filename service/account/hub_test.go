package account_test

import (
	"testing"

	"svc.dev/svc/service/account/accounttest"
)

// hub is a world and a GitHub that knows it.
type hub struct{ *accounttest.Hub }

// eachHub runs a test on both databases with a GitHub that is configured.
func eachHub(t *testing.T, o accounttest.Options, fn func(t *testing.T, h *hub)) {
	t.Helper()
	accounttest.EachHub(t, o, func(t *testing.T, h *accounttest.Hub) { fn(t, &hub{h}) })
}
