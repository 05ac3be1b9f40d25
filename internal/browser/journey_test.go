package browser

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// journeys are the scripts of the web application, in its own folder: a journey is a file there, and needs nothing here.
const journeys = "../../web/test/*.journey.mjs"

// TestJourneys plays each journey against a service of its own.
func TestJourneys(t *testing.T) {
	files, err := filepath.Glob(journeys)
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no journeys: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".journey.mjs"), func(t *testing.T) {
			skipLong(t, file)
			enter(t)
			service := serve(t, append(settingsOf(t, file), loopbackMCPs)...)
			s := newScene(service)
			s.given["soak"] = os.Getenv("SVC_SOAK") != ""
			s.withPrograms(t)
			s.withMCPs(t)
			s.withDeath(service)
			s.play(t, file)
		})
	}
}

// setting is a line of a journey that sets a variable of its service: // with SVC_LIMIT_STORAGE=1MiB
var setting = regexp.MustCompile(`(?m)^// with (SVC_[A-Z_]+=\S+)$`)

// settingsOf are those that a journey begins with.
func settingsOf(t *testing.T, file string) (all []string) {
	t.Helper()
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range setting.FindAllStringSubmatch(string(script), -1) {
		all = append(all, found[1])
	}
	return all
}
