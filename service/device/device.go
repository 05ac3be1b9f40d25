// Package device is programs that ask for an API key and have no page on which to be given one: the device flow of RFC 8628. A program
// shows a short code, somebody signed in types it on our page and approves or denies, and the program fetches its key, once.
//
// Until then there is a pairing, for ten minutes. Neither of its codes can be read from the database. The key is made when it is fetched,
// if whoever approved it still may: what was approved and not fetched is nothing that anybody holds.
package device

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of this room.
var Migrations = sqldb.NewRoom("device", migrations)

// How long a pairing lives, and how long a program waits between two looks at it.
const (
	Life  = 10 * time.Minute
	Pause = 5 * time.Second
)

// How often an address may ask for a key, and look whether there is one.
var (
	asksPerSource    = throttle.Rate{Limit: 30, Per: 10 * time.Minute}
	fetchesPerSource = throttle.Rate{Limit: 300, Per: 5 * time.Minute}
)

// How many wrong codes an account may type, and all that come from one address.
var (
	wrongPerAccount = throttle.Rate{Limit: 5, Per: time.Hour}
	wrongPerSource  = throttle.Rate{Limit: 20, Per: time.Hour}
)

// Config is what pairings need. All but Now is required.
type Config struct {
	DB       *sqldb.DB
	Secrets  *secret.Store
	Audit    *audit.Log
	Accounts *account.Accounts
	Keys     *apikey.Keys
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Devices are the programs that ask for keys of a service.
type Devices struct {
	Config
	codes []byte // key of the hashes of what people type
}

// New knows the pairings of a database whose tables stand.
func New(c Config) *Devices {
	c.Now = iso.Clock(c.Now)
	return &Devices{c, c.Secrets.Derive("device user code")}
}

// AdmitAsk counts a program that asks for a key, before its body is looked at.
func (d *Devices) AdmitAsk(ctx context.Context) error {
	return d.Accounts.Admit(ctx, "device", asksPerSource)
}

// AdmitFetch counts one that looks whether there is a key.
func (d *Devices) AdmitFetch(ctx context.Context) error {
	return d.Accounts.Admit(ctx, "device_token", fetchesPerSource)
}

// Asked is what a program is told that asks: the code that it keeps to itself, and the one that it shows.
type Asked struct {
	Code, UserCode string
}

// unnamed is what a program is called that does not say its name.
const unnamed = "Unnamed program"

// Ask begins a pairing with a program that calls itself so; an empty name is none.
func (d *Devices) Ask(ctx context.Context, client string) (asked Asked, err error) {
	if problem := strictjson.CheckLine(client, 0, apikey.MaxName); problem != "" {
		return asked, strictjson.Wrong("client", problem)
	}
	return sqldb.Write(ctx, d.DB, func(tx *sqldb.Tx) (asked Asked, err error) {
		// Two that show the same code at one time are one in thousands of millions; the second tries another.
		for made := false; !made && err == nil; {
			asked = Asked{Code: Prefix + secret.Random(), UserCode: newUserCode()}
			made, err = d.insert(tx, asked, strings.TrimSpace(client), audit.From(ctx).IP)
		}
		return asked, err
	})
}

// hash is what is stored of a code that people type.
func (d *Devices) hash(userCode string) string {
	mac := hmac.New(sha256.New, d.codes)
	mac.Write([]byte(userCode))
	return hex.EncodeToString(mac.Sum(nil))
}

// wrongCode is the refusal of a code that no program shows at this moment.
func wrongCode() error { return strictjson.Wrong("user_code", strictjson.Invalid) }

func limited(after time.Duration) error {
	return fault.New(fault.RateLimited, "Too many wrong codes.", "Wait a while and try again.").With("limit", "device_code").After(after)
}
