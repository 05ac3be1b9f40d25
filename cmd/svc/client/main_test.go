package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestClientHasWhatPeopleDoAndNoService(t *testing.T) {
	var out, wrong bytes.Buffer
	if code := run([]string{"--help"}, &out, &wrong); code != 0 {
		t.Fatalf("help ends with %d: %s", code, &wrong)
	}
	for _, verb := range []string{"login", "chat", "agents", "workflows", "runs", "projects"} {
		if !strings.Contains(out.String(), "\n  "+verb) {
			t.Errorf("help does not name %s:\n%s", verb, &out)
		}
	}
	if code := run([]string{"serve"}, &out, &wrong); code != 2 || !strings.Contains(wrong.String(), `there is no command "serve"`) {
		t.Errorf("serve ends with %d: %s", code, &wrong)
	}
}
