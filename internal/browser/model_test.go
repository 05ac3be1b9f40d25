package browser

import (
	"testing"

	"svc.dev/svc/model/modeltest"
)

// withModels lets the script have providers of models that answer as the real ones do, and say what they are told to, one reply after the
// other: words, reasoning, and calls of the tools that an agent has.
func (s *scene) withModels(t *testing.T) {
	on(s, "model server", func(of struct {
		API     modeltest.API
		Replies []modeltest.Reply
	}) (any, error) {
		server := modeltest.NewServer(t, of.API, of.Replies...)
		return map[string]string{"address": server.URL, "key": modeltest.Key}, nil
	})
}
