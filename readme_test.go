package svc_test

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeShowsWhatCompiles keeps the README's program, in its pieces, the one of the Example and of examples/embed.
func TestReadmeShowsWhatCompiles(t *testing.T) {
	blocks := strings.Split(read(t, "README.md"), "```go\n")[1:]
	if len(blocks) < 2 {
		t.Fatal("the README does not show a workflow and an agent")
	}
	var program strings.Builder
	for _, block := range blocks {
		shown, _, _ := strings.Cut(block, "```")
		program.WriteString(shown)
	}
	want := "\t" + strings.ReplaceAll(strings.TrimSpace(program.String()), "\n", "\n\t")
	for _, file := range []string{"example_test.go", "examples/embed/main.go"} {
		if !strings.Contains(read(t, file), want) {
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
