// Package gateway is the front door: it knows who is asking on a surface, and what may be asked there. Whatever a browser claims about itself counts for nothing here.
package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/application"
	"svc.dev/svc/service/operation"
	"svc.dev/svc/service/page"
	"svc.dev/svc/service/receipt"
	"svc.dev/svc/service/redact"
	"svc.dev/svc/service/surface"
)

// Surface is one of the three faces of the service.
type Surface = access.Surface

// The surfaces there are.
const (
	Platform = access.Platform
	Agents   = access.Agents
	Admin    = access.Admin
)

// Config is what the front door needs. DB, Accounts, Keys, Apps, Audit, Pages and Surfaces are required.
type Config struct {
	surface.Config
	// Rooms are what operations act on. The routes of a room that is not there are not for use. Address, ReturnTo, Verifying and
	// Fetching are set by New.
	operation.Rooms

	DB       *sqldb.DB
	Receipts *receipt.Receipts
	Pages    *page.Pages
	// Application is the web application. Defaults to none: its addresses lead nowhere.
	Application *application.Application
	// MailOff says that no mail can be sent, so that pages say so. Defaults to false.
	MailOff bool
	// Runtime answers below {base_url}, in process or in another. Defaults to none: there is no {base_url}.
	Runtime http.Handler
	// Rate and Burst bound the requests of a key or account, per minute. Default to 600 and 100.
	Rate, Burst int
	// Streams is how many streams an account may have open, and how many files it may send and get at one time. Defaults to 100.
	Streams int
	// ChannelRate bounds the webhooks of a workspace, per minute, and ChannelBody their size. Default to 600 and 1 MiB.
	ChannelRate int
	ChannelBody int64
	// EntrypointBody bounds what is sent to a project. Defaults to 64 MiB.
	EntrypointBody int64
	// NoEntrypoint says that no project answers what the API does not know: such a path is nowhere, whoever asks. A gateway alone cannot tell.
	NoEntrypoint bool
	// WrongKeys bounds the wrong API keys from an address, per minute. Defaults to 100.
	WrongKeys int
	// Verifications bounds how often an account may verify its workspace, per minute. Defaults to 10.
	Verifications int
	// Stale is how old a judgement may be for what is read, or passed on to the runtime. Defaults to a second.
	Stale time.Duration
	// Recheck is how often the credential of an open stream is looked at again. Defaults to 10 seconds.
	Recheck time.Duration
	// Stopping is closed when this process stops and its runtime does not: what is new is refused then, and open streams end
	// within Farewell, each at a time of its own. Default to never and 10 seconds.
	Stopping <-chan struct{}
	Farewell time.Duration
	// Node is what a probe is told of which process answers. Defaults to nothing.
	Node string
	// ProbePause is what lies between the two parts of a probe. Defaults to DefaultProbePause.
	ProbePause time.Duration
	// Observe is told of every answer. Defaults to nobody.
	Observe func(surface, route string, status int, took time.Duration)
	// Log hears of failures that nobody foresaw. Defaults to slog.Default().
	Log *slog.Logger
	// Redactor keeps secrets out of what refusals say. Defaults to one that knows no value.
	Redactor *redact.Redactor
}

// Gateway answers the public.
type Gateway struct {
	Config
	access *access.Access
	routes map[Surface][]line

	hooks, verifications, probes *access.Rates
	streams, probing, transfers  *access.Streams
	fetches, fetching            *access.Streams // of one workspace, and of all

	longDeliveries, commonDeliveries *memory.Turns // of those that are being read and stored
}

// New is the front door of the configuration.
func New(c Config) *Gateway {
	c.setDefaults()
	g := &Gateway{
		Config: c, routes: table(),
		access:        access.New(access.Config{DB: c.DB, Accounts: c.Accounts, Keys: c.Keys, Rate: c.Rate, Burst: c.Burst, WrongKeys: c.WrongKeys, Stale: c.Stale}),
		hooks:         access.NewRates("channel", c.ChannelRate, c.ChannelRate),
		verifications: access.NewRates("verification", c.Verifications, c.Verifications), streams: access.NewStreams(c.Streams),
		probes: access.NewRates("probe", probesPerMinute, probesPerMinute), probing: access.NewStreams(probesAtOnce),
		transfers: access.NewStreams(c.Streams),
		fetches:   access.NewStreams(fetchesOfOne), fetching: access.NewStreams(fetchesAtOnce),
	}
	g.longDeliveries, g.commonDeliveries = memory.NewTurns(2, 8), memory.NewTurns(16, 128)
	g.Address, g.ReturnTo, g.Verifying, g.Fetching = c.Surfaces.Origin, c.Surfaces.ReturnTo, g.verifications.Take, g.fetch
	if c.Health != nil {
		g.Health = func(ctx context.Context) operation.Health {
			h := c.Health(ctx)
			h.Streams = g.streams.Count()
			return h
		}
	}
	return g
}

func (c *Config) setDefaults() {
	c.Config.SetDefaults()
	c.Log = cmp.Or(c.Log, slog.Default())
	c.Redactor = cmp.Or(c.Redactor, redact.New())
	if c.Observe == nil {
		c.Observe = func(string, string, int, time.Duration) {}
	}
	c.Recheck = cmp.Or(c.Recheck, 10*time.Second)
	c.Farewell = cmp.Or(c.Farewell, 10*time.Second)
	c.ProbePause = cmp.Or(c.ProbePause, DefaultProbePause)
	c.ChannelBody = cmp.Or(c.ChannelBody, 1<<20)
	c.EntrypointBody = cmp.Or(c.EntrypointBody, 64<<20)
	c.Rate, c.Burst = cmp.Or(c.Rate, 600), cmp.Or(c.Burst, 100)
	c.Streams = cmp.Or(c.Streams, 100)
	c.ChannelRate = cmp.Or(c.ChannelRate, 600)
	c.Verifications = cmp.Or(c.Verifications, 10)
	c.WrongKeys = cmp.Or(c.WrongKeys, 100)
}

// ServeHTTP gives every request its id and its surface; one that has none of ours is misdirected.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	x := g.exchange(w, r)
	defer func() { g.tell(x, time.Since(began)) }()
	x.serve()
}

// tell counts and logs an answer, whole or broken off.
func (g *Gateway) tell(x *exchange, took time.Duration) {
	g.Observe(string(x.Surface), x.route, x.Out.Status(), took)
	if ctx := x.Request.Context(); g.Log.Enabled(ctx, slog.LevelDebug) {
		g.Log.LogAttrs(ctx, slog.LevelDebug, "request", append(x.known(), slog.String("surface", string(x.Surface)), slog.String("method", x.Request.Method),
			slog.String("route", x.route), slog.Int("status", x.Out.Status()), slog.Float64("duration_ms", float64(took.Microseconds())/1000))...)
	}
}
