package gateway

import (
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
)

// Health is how the service does, as one process of it knows.
type Health struct {
	Ready     bool           `json:"ready"`
	State     string         `json:"state"` // loading, serving, draining or failed
	Checks    []HealthCheck  `json:"checks"`
	Build     HealthBuild    `json:"build"`
	StartedAt iso.Time       `json:"startedAt"`
	Database  HealthDatabase `json:"database"`
	Streams   int            `json:"streams"` // open here
	Working   int            `json:"working"` // conversations and runs that are worked on here
}

// HealthCheck is something that must hold before requests should come.
type HealthCheck struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// HealthBuild is what binary this is.
type HealthBuild struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// HealthDatabase is the database and its tables.
type HealthDatabase struct {
	Kind   string       `json:"kind"`
	Bytes  int64        `json:"bytes"`
	Tables []HealthRoom `json:"tables"`
}

// HealthRoom is how far the tables of a room were migrated, and how far this binary knows them.
type HealthRoom struct {
	Room     string `json:"room"`
	Database int64  `json:"database"`
	Binary   int64  `json:"binary"`
}

// health answers with 200 also when something is wrong: the answer says what.
func (x *exchange) health() error {
	if x.g.Health == nil {
		return fault.NotAvailable("loading").After(time.Second)
	}
	h := x.g.Health(x.ctx())
	h.Streams = x.g.streams.Count()
	return x.json(http.StatusOK, h)
}
