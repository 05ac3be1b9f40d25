package browser

import (
	"os"
	"strings"
	"testing"
)

// long is the line of a journey that takes too long for every day.
const long = "\n// only in the soak\n"

// skipLong leaves a long journey to the soak.
func skipLong(t *testing.T, file string) {
	t.Helper()
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains("\n"+string(script), long) && os.Getenv("SVC_SOAK") == "" {
		t.Skip("only in the soak")
	}
}
