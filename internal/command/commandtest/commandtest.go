// Package commandtest holds what commands answer for machines against the schemas of api/cli.
package commandtest

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
)

// Name is how the schema of a command is called: its words without the program's.
func Name(cmd *cobra.Command) string {
	_, words, _ := strings.Cut(cmd.CommandPath(), " ")
	return strings.ReplaceAll(words, " ", "-")
}

// Answering are the commands below one that answer machines, by the names of their schemas.
func Answering(cmd *cobra.Command) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	if cmd.Flags().Lookup("json") != nil {
		all[Name(cmd)] = cmd
	}
	for _, below := range cmd.Commands() {
		for name, one := range Answering(below) {
			all[name] = one
		}
	}
	return all
}

// Schemas are the names of all schemas in the repository's folder api/cli.
func Schemas(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("schemas in %s: %v, %v", folder, files, err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	return names
}

// Fits fails unless each value of an output fits the schema of its command. It must have one at least.
func Fits(t *testing.T, folder, name, output string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatalf("schema %s: %v", name, err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatalf("schema %s: %v", name, err)
	}
	n := 0
	for dec := json.NewDecoder(strings.NewReader(output)); ; n++ {
		var value any
		err := dec.Decode(&value)
		if err == io.EOF && n > 0 {
			return
		}
		if err != nil {
			t.Fatalf("%s answers %q: %v", name, output, err)
		}
		if err := resolved.Validate(value); err != nil {
			var shown bytes.Buffer
			enc := json.NewEncoder(&shown)
			enc.SetIndent("", "  ")
			_ = enc.Encode(value) // it was JSON
			t.Errorf("%s does not fit its schema: %v\n%s", name, err, &shown)
		}
	}
}
