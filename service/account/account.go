package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

// The authority of an account over the whole service.
const (
	RoleNone    = "none"
	RoleSupport = "support"
	RoleAdmin   = "admin"
)

// Where an address came from.
const (
	sourcePassword      = "password"
	sourceProvider      = "provider"
	sourcePublicProfile = "provider_public_profile"
	sourceSetup         = "setup"
)

// maxDisplayName is in code points.
const maxDisplayName = 80

// Account is a person.
type Account struct {
	ID            string
	Username      string
	DisplayName   string
	Email         string // empty: none
	EmailVerified bool
	EmailSource   string
	Role          string   // RoleNone, RoleSupport or RoleAdmin
	Methods       []string // ways in: password, github
	Suspended     bool
	Version       int64
	CreatedAt     time.Time

	emailInUse      bool // another account holds the address that a provider named, unproven
	noEmail         bool // the provider's app may not read addresses
	password        string
	passwordVersion int64
	deletedAt       int64
}

// Profile is an account as its person sees it.
type Profile struct {
	ID            string   `json:"id" id:"acc"`
	Username      string   `json:"username"`
	DisplayName   string   `json:"displayName"`
	Email         *string  `json:"email"`
	EmailVerified bool     `json:"emailVerified"`
	Methods       []string `json:"methods" enum:"password github"`
}

// Profile shows the account.
func (p Account) Profile() Profile {
	shown := Profile{ID: p.ID, Username: p.Username, DisplayName: p.DisplayName, EmailVerified: p.EmailVerified, Methods: append([]string{}, p.Methods...)}
	if p.Email != "" {
		shown.Email = &p.Email
	}
	return shown
}

// Actor is the account as the audit log names it.
func (p Account) Actor() audit.Actor {
	return audit.Actor{Kind: "account", ID: p.ID, Username: p.Username}
}

// event is that somebody did something to the account.
func (p Account) event(by audit.Actor, action string, changes ...string) audit.Event {
	return audit.Event{Actor: by, Action: action, Target: audit.Target{Kind: "account", ID: p.ID}, Scope: p.scope(), Changes: changes}
}

// scope is where acts on the account are told.
func (p Account) scope() string { return scope.Of(p.Username, scope.Personal).String() }

// Alive reports whether anybody may act as the account.
func (p Account) Alive() bool { return p.ID != "" && !p.Suspended && p.deletedAt == 0 }

// Columns are those of accounts a, by which Scan reads one.
const Columns = `a.id, a.username, a.display_name, COALESCE(a.email, ''), a.email_verified, a.email_source, a.service_role,
	a.suspended_at IS NOT NULL, a.version, a.created_at, a.email_in_use, a.password, a.password_version, COALESCE(a.deleted_at, 0),
	EXISTS (SELECT 1 FROM identities i WHERE i.account = a.id AND i.status = 'connected'),
	EXISTS (SELECT 1 FROM identities i WHERE i.account = a.id AND i.status = 'connected' AND i.no_email = 1)`

func scanAccount(row sqldb.Row) (Account, error) { return Scan(row) }

// Scan reads an account, and what stands behind it in the row.
func Scan(row sqldb.Row, more ...any) (Account, error) {
	var p Account
	var provider bool
	to := []any{&p.ID, &p.Username, &p.DisplayName, &p.Email, &p.EmailVerified, &p.EmailSource, &p.Role, &p.Suspended, &p.Version, sqldb.Time(&p.CreatedAt),
		&p.emailInUse, &p.password, &p.passwordVersion, &p.deletedAt, &provider, &p.noEmail}
	err := row.Scan(append(to, more...)...)
	if p.password != "" {
		p.Methods = append(p.Methods, "password")
	}
	if provider {
		p.Methods = append(p.Methods, "github")
	}
	return p, err
}

// Find is the account of that id; found is false when there is none.
func Find(tx *sqldb.Tx, id string) (Account, bool, error) { return oneAccount(tx, "a.id = $1", id) }

// byEmail is the account that holds an address; found is false when there is none.
func byEmail(tx *sqldb.Tx, email string) (Account, bool, error) {
	return oneAccount(tx, "a.email = $1", email)
}

// locked is the account, which nobody else changes until the transaction ends.
func locked(tx *sqldb.Tx, id string) (Account, bool, error) {
	return oneAccount(tx, "a.id = $1"+tx.ForUpdateOf("a"), id)
}

func oneAccount(tx *sqldb.Tx, where string, args ...any) (Account, bool, error) {
	return sqldb.First(tx, "find account", scanAccount, "SELECT "+Columns+" FROM accounts a WHERE "+where, args...)
}

// birth is what a new account begins with.
type birth struct {
	username    string // empty: made from the address or the hint
	hint        string
	displayName string
	email       string
	verified    bool
	source      string
	password    string // derived
	role        string
	inUse       bool
}

// create makes an account with its workspace. It is errTaken when the address was given away in the meantime.
func create(tx *sqldb.Tx, now time.Time, b birth) (Account, workspace.Workspace, error) {
	p := Account{ID: "acc_" + ulid.Make().String()}
	username, err := claimUsername(tx, p.ID, b)
	if err != nil {
		return p, workspace.Workspace{}, err
	}
	if err := change(tx, "make account", errTaken, `INSERT INTO accounts (id, username, display_name, email, email_verified, email_source, email_in_use,
		password, service_role, created_at, updated_at) VALUES ($1, $2, $3, NULLIF($4, ''), $5, $6, $7, $8, $9, $10, $10) ON CONFLICT DO NOTHING`,
		p.ID, username, b.displayName, b.email, sqldb.Bit(b.verified), b.source, sqldb.Bit(b.inUse), b.password,
		cmp.Or(b.role, RoleNone), now.UnixMilli()); err != nil {
		return p, workspace.Workspace{}, err
	}
	w, err := workspace.MakePersonal(tx, now, p.ID, username)
	if err != nil {
		return p, w, err
	}
	p, _, err = locked(tx, p.ID)
	return p, w, err
}

// errTaken says that another account got the address first.
var errTaken = errors.New("e-mail address was taken in the meantime")

// claimUsername takes the wanted name for ever, or makes one that is free.
func claimUsername(tx *sqldb.Tx, account string, b birth) (string, error) {
	if b.username != "" {
		if scope.CheckUsername(b.username) != nil {
			return "", usernameTaken()
		}
		free, err := takeUsername(tx, account, b.username)
		if err == nil && !free {
			err = usernameTaken()
		}
		return b.username, err
	}
	for try := range 50 {
		name := proposal(b, try)
		if scope.CheckUsername(name) != nil {
			continue
		}
		if free, err := takeUsername(tx, account, name); err != nil || free {
			return name, err
		}
	}
	return "", errors.New("no username is free")
}

// proposal is a name for somebody who chose none: what the address or the hint offers, then with a number, then by chance.
func proposal(b birth, try int) string {
	local, _, _ := strings.Cut(b.email, "@")
	base := cmp.Or(scope.Slug(cmp.Or(b.hint, local), 30), "user")
	switch {
	case try == 0:
		return base
	case try < 5:
		return fmt.Sprintf("%s-%d", base, try+1)
	}
	return base + "-" + strings.ToLower(ulid.Make().String()[20:])
}

func takeUsername(tx *sqldb.Tx, account, name string) (bool, error) {
	n, err := tx.Exec("INSERT INTO usernames (name, account) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, account)
	if err != nil {
		return false, fmt.Errorf("take username: %w", err)
	}
	return n == 1, nil
}

// Rename changes what a person is called. With a version it refuses when that is not the present one.
func (a *Accounts) Rename(ctx context.Context, who Who, displayName string, version int64) (Account, error) {
	if problem := checkDisplayName(displayName); problem != "" {
		return Account{}, strictjson.Wrong("displayName", problem)
	}
	return sqldb.Write(ctx, a.DB, func(tx *sqldb.Tx) (Account, error) {
		p, err := Acting(tx, who)
		if err != nil {
			return p, err
		}
		if version != 0 && version != p.Version {
			return p, fault.New(fault.VersionConflict, "Somebody changed this in the meantime.", "Read it again.").With("version", p.Version)
		}
		_, err = tx.Exec("UPDATE accounts SET display_name = $2, version = version + 1, updated_at = $3 WHERE id = $1", p.ID, displayName, a.Now().UnixMilli())
		p.DisplayName, p.Version = displayName, p.Version+1
		return p, cmp.Or(err, a.tell(ctx, tx, p, "account.renamed", "displayName"))
	})
}

func checkDisplayName(name string) string {
	if utf8.RuneCountInString(name) > maxDisplayName {
		return strictjson.TooLong
	}
	return strictjson.CheckLine(name, 0, maxDisplayName)
}

// tell appends to the audit log, in the transaction of the act, that a person did something to their own account.
func (a *base) tell(ctx context.Context, tx *sqldb.Tx, p Account, action string, changes ...string) error {
	return a.Audit.Append(ctx, tx, p.event(p.Actor(), action, changes...))
}

// tellAll tells the service too of what somebody did to an account.
func (a *base) tellAll(ctx context.Context, tx *sqldb.Tx, p Account, by audit.Actor, action string, changes ...string) error {
	e := p.event(by, action, changes...)
	e.Service = true
	return a.Audit.Append(ctx, tx, e)
}

// The warnings that an account can carry.
const (
	WarnNoEmail    = "provider_email_permission_missing"
	WarnEmailInUse = "email_in_use_unverified"
)

// Warning is something that its person should know of an account.
type Warning struct {
	Type     string `json:"type"`
	Provider string `json:"provider,omitempty"` // empty: it has to do with none
	Message  string `json:"message"`
}

// Warnings are what the person should know, never nil.
func (p Account) Warnings() []Warning {
	all := []Warning{}
	if p.noEmail {
		all = append(all, Warning{WarnNoEmail, ByGitHub,
			"The GitHub app lacks the Email addresses (read) account permission; the public profile address is used and is not verified."})
	}
	if p.emailInUse {
		all = append(all, Warning{WarnEmailInUse, ByGitHub,
			"Another account uses the e-mail address of your GitHub account; this account has none."})
	}
	return all
}
