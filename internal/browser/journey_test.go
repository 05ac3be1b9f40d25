package browser

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/service/account/githubtest"
)

// journeys are the scripts of the web application, in its own folder: a journey is a file there, and needs nothing here.
const journeys = "../../web/test/*.journey.mjs"

// TestJourneys plays each journey against a service of its own.
func TestJourneys(t *testing.T) {
	playJourneys(t, serve, func(string) bool { return true })
}

// TestJourneysOfTwoProcesses plays each against a gateway and a runtime of its own, on PostgreSQL. What measures the page alone has measured it.
func TestJourneysOfTwoProcesses(t *testing.T) {
	if !soak {
		t.Skip("only in the soak")
	}
	playJourneys(t, serveHalves, func(name string) bool { return !strings.HasPrefix(name, "budget-") })
}

func playJourneys(t *testing.T, serve func(*testing.T, ...string) *service, plays func(name string) bool) {
	files, err := filepath.Glob(journeys)
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no journeys: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".journey.mjs")
		if !plays(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			skipLong(t, file)
			// What measures has nothing beside it: the others begin when all of these have ended.
			if strings.Contains(read(t, file), aloneLine) {
				enterAlone(t)
			} else {
				enter(t)
			}
			provider, hub := newProvider(t), hubOf(t, file)
			service := serve(t, append(settingsOf(t, file, provider), append(hubs(hub), loopbackMCPs)...)...)
			s := newScene(service)
			if hub != nil {
				s.withGitHub(t, hub, "")
			}
			// What a page says of itself is looked at on every page of one process; of two, on those of the navigation.
			s.given["soak"], s.given["halves"], s.given["everyPage"] = soak, service.halves(), soak && !service.halves()
			s.withPrograms(t)
			s.withMCPs(t)
			s.withProvider(provider)
			s.withModels(t)
			s.withDeath(service)
			s.withReleases(t, service)
			s.play(t, file)
		})
	}
}

// setting is a line of a journey that sets a variable of its service: // with SVC_LIMIT_STORAGE=1MiB
var setting = regexp.MustCompile(`(?m)^// with (SVC_[A-Z_]+=\S+)$`)

// aloneLine is a line of a journey that judges how long something takes.
const aloneLine = "\n// nothing runs beside it\n"

// hubLine is a line of a journey whose service knows a GitHub of its own.
const hubLine = "\n// with GitHub\n"

// hubOf is the GitHub of a journey; nil: it needs none.
func hubOf(t *testing.T, file string) *githubtest.Server {
	t.Helper()
	if !strings.Contains(read(t, file), hubLine) {
		return nil
	}
	return githubtest.New(t, githubtest.WithPages())
}

func read(t *testing.T, file string) string {
	t.Helper()
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// settingsOf are those that a journey begins with. {provider} in one is the address of the test's provider of models, {project} a folder
// with a shop.
func settingsOf(t *testing.T, file string, p *provider) (all []string) {
	t.Helper()
	for _, found := range setting.FindAllStringSubmatch(read(t, file), -1) {
		value := strings.ReplaceAll(found[1], "{provider}", p.URL)
		if strings.Contains(value, "{project}") {
			value = strings.ReplaceAll(value, "{project}", filepath.Join(bundletest.Project(t, shop), "shop"))
		}
		all = append(all, value)
	}
	return all
}
