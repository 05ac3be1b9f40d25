package operation

import (
	"context"
	"net/http"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
)

// itself are operations of the service as such.
var itself = about("service", access.Platform,
	get("/api/openapi.json", access.Public, getDescription).on(EverySurface...).says("Read this description. It may be stored for five minutes."),
	get("/api/probe", access.Public, probe).on(EverySurface...).
		says("See what stands in front of the service. The answer is two events, `probe` at once and `end` a second later: a proxy that holds answers back brings both together. `probe` names the surface that was reached and what became of `X-Forwarded-For`.", fault.RateLimited),
)

// Document is this description, as JSON has it.
type Document struct{}

func getDescription(context.Context, Call, struct{}) (Document, error) { return Document{}, nil }

// Probing is an answer in two parts.
type Probing struct{}

func probe(context.Context, Call, struct{}) (Probing, error) { return Probing{}, nil }

// Health is how the service does, as one process of it knows.
type Health struct {
	Ready     bool           `json:"ready"`
	State     string         `json:"state"` // loading, serving, draining or failed
	Checks    []HealthCheck  `json:"checks"`
	Build     HealthBuild    `json:"build"`
	StartedAt iso.Moment     `json:"startedAt"`
	Database  HealthDatabase `json:"database"`
	Streams   int            `json:"streams"` // open here
	Working   int            `json:"working"` // conversations and runs that are worked on here
	Node      string         `json:"node"`    // that answers
	Nodes     []HealthNode   `json:"nodes"`
	Queue     *HealthQueue   `json:"queue" null:"nobody could be asked"`
	// ClockAheadMs is how far the database's clock is ahead of this node's; negative: behind.
	ClockAheadMs int64 `json:"clockAheadMs"`
}

// HealthNode is a process of the service that is connected to the database.
type HealthNode struct {
	Node    string `json:"node"`
	Part    string `json:"part" enum:"serve gateway runtime"`
	Working int64  `json:"working"`           // conversations and runs that it works on
	Project string `json:"project,omitempty"` // hash of the bundle of the project that runs there
}

// HealthQueue is the work that waits for a node.
type HealthQueue struct {
	Waiting  int64 `json:"waiting"`
	OldestMs int64 `json:"oldestMs"` // how long the first has waited
}

// HealthCheck is something that must hold before requests should come.
type HealthCheck struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"` // what is known of it
	Error  string `json:"error,omitempty"`
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

func getHealth(ctx context.Context, c Call, _ struct{}) (Health, error) {
	if c.Health == nil {
		return Health{}, loading()
	}
	return c.Health(ctx), nil
}

// loading is the refusal of a process that has only just begun.
func loading() error { return fault.NotAvailable("loading").After(time.Second) }

// secretStore is how far a rotation of the keys has come, and nothing of what they seal.
type secretStore struct {
	Active string           `json:"activeKid"`
	Rows   map[string]int64 `json:"rowsByKid"` // how many values each key seals
}

func getSecretStore(ctx context.Context, c Call, _ struct{}) (secretStore, error) {
	active, rows, err := c.Vault.Keys(ctx)
	return secretStore{active, rows}, err
}

// Rotation is how far the secrets have come on their way to a new key.
type Rotation struct {
	Status string           `json:"status" enum:"rotating rotated"`
	Active string           `json:"activeKid"` // the key that seals
	Rows   map[string]int64 `json:"rowsByKid"` // how many values each key seals
	Todo   []string         `json:"todo"`      // what is left to whoever keeps the machines, in this order
}

// rotateSecrets moves every secret to a new key, and does not wait for all of them. That it was asked for is told first.
func rotateSecrets(ctx context.Context, c Call, _ struct{}) (Rotation, error) {
	if c.Rotate == nil {
		return Rotation{}, loading()
	}
	e := audit.Event{Actor: c.Account.Actor(), Action: "secret_store.rotated", Target: audit.Target{Kind: "service", ID: "secrets"}}
	if err := c.Accounts.Staff.NoteStaff(ctx, e); err != nil {
		return Rotation{}, err
	}
	r, err := c.Rotate(ctx)
	if r.Todo == nil {
		r.Todo = []string{}
	}
	return r, err
}

// setups is how the first administrator comes to be.
var setups = about("service", access.Platform,
	verb("/api/setup", access.Public, setUp).cookie(setSession).answers(http.StatusCreated, registered{}).answers(http.StatusNoContent, nil).
		says("Become the first administrator, by the token that is printed at the start of the service. With an address and a password it makes an account, alone it raises whoever is signed in.",
			account.InvalidToken, fault.AmbiguousSession, account.Unauthenticated, account.InvalidCredentials, account.UsernameTaken, account.SetupClosed, fault.RateLimited, fault.Busy),
)

type newSetup struct {
	Body struct {
		Token    string `json:"token"`
		Email    string `json:"email,omitzero"`
		Password string `json:"password,omitzero" text:"any" min:"12" max:"256"`
		Username string `json:"username,omitzero" min:"2" max:"39"`
	}
}

// setUp makes the first administrator: somebody new, or whoever is signed in.
func setUp(ctx context.Context, c Call, in newSetup) (outcome, error) {
	b := in.Body
	if b.Email != "" || b.Password != "" || b.Username != "" {
		return c.welcome(c.Accounts.Staff.Setup(ctx, b.Token, account.Registration{Email: b.Email, Password: b.Password, Username: b.Username}))
	}
	who, ctx, err := c.Browser.Session()
	if err != nil {
		return outcome{}, err
	}
	if who == nil {
		return outcome{}, access.Unauthenticated()
	}
	return outcome{Status: http.StatusNoContent}, c.Accounts.Staff.SetupExisting(ctx, b.Token, *who)
}
