package main

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/contract/program"
)

// TestTheProgramServesUntilItsInputEnds starts it as a test in another language does.
func TestTheProgramServesUntilItsInputEnds(t *testing.T) {
	in, parent := io.Pipe()
	child, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run("", program.Config{}, in, out) }()
	var at addresses
	if err := json.NewDecoder(child).Decode(&at); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	for _, url := range []string{at.Proxy, at.Server} {
		c, err := client.New(client.Config{BaseURL: url, HTTP: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		if result, err := c.Workflows.Run(t.Context(), "trivial", client.Invocation{}); err != nil || string(result.Value) != `{"ok":true}` {
			t.Errorf("%s: %s, %v", url, result.Value, err)
		}
	}
	answer, err := http.Get(at.Control + "/exchanges")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("control: %v, %v", answer, err)
	} else {
		answer.Body.Close()
	}
	parent.Close()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}
