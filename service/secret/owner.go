package secret

import (
	"errors"
	"regexp"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
)

// Owner is whose secrets are meant; the same name of two owners is two secrets.
type Owner struct {
	Kind  string // Service, Account or Business
	Scope string // "" of Service, an acc_ id of Account, users/u/b of Business, and admin, the workspace of the staff
}

// The kinds of owners.
const (
	Service  = "service"
	Account  = "account"
	Business = "business"
)

// ownRoot is the kind of the root secret's owner; no caller can name it.
const ownRoot = "root"

// Entry is what may be known of a secret: everything but its value.
type Entry struct {
	Name       string     `json:"name"`
	Version    int64      `json:"version"` // begins with 1, one more with every value
	Bytes      int        `json:"bytes"`   // the length of the value
	CreatedAt  iso.Moment `json:"-"`
	UpdatedAt  iso.Moment `json:"updatedAt"`
	UpdatedBy  string     `json:"updatedBy"`
	LastUsedAt iso.Moment `json:"lastUsedAt" null:"never"` // to the minute, and told up to a minute late
}

// MaxBytes is the length of the longest value.
const MaxBytes = 48 << 10

var (
	publicName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)
	anyName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$`)
)

// Name refuses a name that people may not give: theirs are capitals, digits and underscores. Rooms that keep secrets of
// their own in a workspace take other names (letters, digits and _.:/-, at most 128), which cannot meet one of a person.
func Name(name string) error {
	if !publicName.MatchString(name) {
		return refuse("name", "invalid", "A secret's name is a capital letter and up to 63 capitals, digits or underscores.")
	}
	return nil
}

func (o Owner) check() error {
	ok := len(o.Scope) <= 512 && sqldb.Storable(o.Scope)
	switch o.Kind {
	case Service:
		ok = ok && o.Scope == ""
	case Account:
		ok = ok && strings.HasPrefix(o.Scope, "acc_")
	case Business:
		ok = ok && (strings.HasPrefix(o.Scope, "users/") || o.Scope == "admin")
	default:
		ok = false
	}
	if !ok {
		return errors.New("owner of a secret is malformed")
	}
	return nil
}

// exists reports whether there can be such a secret; one that there cannot be is not found.
func (o Owner) exists(name string) bool { return o.check() == nil && anyName.MatchString(name) }

func checkSeal(o Owner, name string, value []byte, by string) error {
	if err := o.check(); err != nil {
		return err
	}
	if !anyName.MatchString(name) {
		return errors.New("name of a secret is malformed")
	}
	if by == "" || len(by) > 256 || !sqldb.Storable(by) {
		return errors.New("who seals a secret must be said")
	}
	if len(value) == 0 {
		return refuse("value", "too_short", "A secret has at least one byte.")
	}
	if len(value) > MaxBytes {
		return fault.New(TooLarge, "The secret is too large.", "A secret has at most 48 KiB.").With("limit", MaxBytes)
	}
	return nil
}

func refuse(field, typ, details string) *fault.Error {
	return fault.Invalid("%s", details).With("fields", []map[string]string{{"field": field, "type": typ}})
}
