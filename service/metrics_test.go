package service_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/service"
	"svc.dev/svc/service/servicetest"
)

func TestMetricsAreThoseListed(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	servicetest.Ask(t, "GET", s.Agents+"/api/auth/session")
	servicetest.Ask(t, "GET", s.Address+"/x")
	text := servicetest.Ask(t, "GET", s.Operations+"/metrics").Body
	for _, line := range []string{
		`svc_http_requests_total{route="/api/auth/session",status="2xx",surface="agents"} 1`,
		`svc_http_requests_total{route="unmatched",status="4xx",surface="none"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	var served, listed []string
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, "# TYPE svc_"); found {
			served = append(served, "svc_"+strings.TrimSpace(rest))
		}
	}
	for _, m := range service.Metrics {
		listed = append(listed, m.Name+" "+m.Type)
	}
	slices.Sort(listed)
	if !slices.Equal(served, listed) {
		t.Errorf("served %v\nlisted %v", served, listed)
	}
}

func TestMetricsStandInTheArchitecture(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Metrics\n")
	if !found {
		t.Fatal(`ARCHITECTURE.md has no section "## Metrics"`)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var written, listed []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `svc_") {
			written = append(written, strings.TrimSpace(line))
		}
	}
	for _, m := range service.Metrics {
		listed = append(listed, row(m))
	}
	if !slices.Equal(written, listed) {
		t.Errorf("ARCHITECTURE.md has\n%s\nit should have\n%s", strings.Join(written, "\n"), strings.Join(listed, "\n"))
	}
}

// row is a metric as ARCHITECTURE.md writes it.
func row(m service.Metric) string {
	labels := "–"
	if len(m.Labels) > 0 {
		labels = "`" + strings.Join(m.Labels, "` `") + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", m.Name, m.Type, labels, m.About)
}
