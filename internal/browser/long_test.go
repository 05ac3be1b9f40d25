package browser

import (
	"os"
	"strings"
	"testing"
)

// soak asks for the full counts.
var soak = os.Getenv("SVC_SOAK") != ""

// long is the line of a journey that takes too long for every day.
const long = "\n// only in the soak\n"

// skipLong leaves a long journey to the soak.
func skipLong(t *testing.T, file string) {
	t.Helper()
	if strings.Contains("\n"+read(t, file), long) && !soak {
		t.Skip("only in the soak")
	}
}
