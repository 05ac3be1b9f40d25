package svc_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsWhatCompiles keeps the README's program the one of the Example and of examples/embed.
func TestReadmeShowsWhatCompiles(t *testing.T) {
	_, after, _ := strings.Cut(read(t, "README.md"), "```go\n")
	shown, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("the README shows no program")
	}
	program := "\t" + strings.ReplaceAll(strings.TrimSpace(shown), "\n", "\n\t")
	for _, file := range []string{"example_test.go", "examples/embed/main.go"} {
		if !strings.Contains(read(t, file), program) {
			t.Errorf("%s is not what the README shows", file)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
