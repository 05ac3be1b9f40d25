package browser

import (
	"os"
	"path/filepath"
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
			service := serve(t)
			s := newScene(service)
			s.given["soak"] = os.Getenv("SVC_SOAK") != ""
			s.withPrograms(t)
			s.withDeath(service)
			s.play(t, file)
		})
	}
}
