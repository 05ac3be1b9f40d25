package web

import (
	"os"
	"os/exec"
	"testing"
)

// TestTheApplicationHolds has its types checked, and runs the tests of what lives in functions. Its journeys are in internal/browser.
func TestTheApplicationHolds(t *testing.T) {
	if _, err := os.Stat("node_modules/.package-lock.json"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the packages of the web application are not installed")
		}
		t.Skip("the packages of the web application are not installed: see scripts/setup")
	}
	// It stands on the packages beside it, as they are now.
	for _, command := range [][]string{{"../scripts/web"}, {"npm", "run", "--silent", "check"}, {"npm", "run", "--silent", "test"}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", command, err, out)
		}
	}
}
