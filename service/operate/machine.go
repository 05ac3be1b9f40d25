package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/parcel"
)

// Machine does what operators ask, in the process that has the database open.
type Machine struct {
	Keys     *Keys
	Accounts *account.Accounts
	Audit    *audit.Log
	Backups  *backup.Source
	Post     *parcel.Post
}

// Backup writes everything that the service keeps.
func (m *Machine) Backup(ctx context.Context, q backup.Wish, w io.Writer) error {
	return m.Backups.Stream(asOperator(ctx), q, w)
}

// Export writes one workspace.
func (m *Machine) Export(ctx context.Context, q parcel.Wish, w io.Writer) error {
	return m.Post.Pack(asOperator(ctx), q, w)
}

// Import makes a workspace of an export.
func (m *Machine) Import(ctx context.Context, to parcel.Address, r io.Reader) (parcel.Unpacked, error) {
	u, err := m.Post.Unpack(asOperator(ctx), to, r)
	return u, plain(err)
}

// CreateAdmin makes an account that administers the service.
func (m *Machine) CreateAdmin(ctx context.Context, n NewAdmin) (Person, error) {
	p, err := m.Accounts.Staff.CreateAdmin(asOperator(ctx), account.Registration{Email: n.Email, Username: n.Username, Password: n.Password})
	return personOf(p), plain(err)
}

// Grant gives an account a role over the whole service.
func (m *Machine) Grant(ctx context.Context, g Grant) (Person, error) {
	if g.AccountID == "" {
		p, err := m.Accounts.Staff.Named(ctx, g.Username, g.Email)
		if err != nil {
			return Person{}, plain(err)
		}
		g.AccountID = p.ID
	}
	p, err := m.Accounts.Staff.Grant(asOperator(ctx), g.AccountID, g.Role)
	return personOf(p), plain(err)
}

// VerifyAudit looks through the audit log.
func (m *Machine) VerifyAudit(ctx context.Context) (audit.Report, error) { return m.Audit.Verify(ctx) }

// asOperator says in the audit log who acts.
func asOperator(ctx context.Context) context.Context {
	return audit.With(ctx, audit.Source{Actor: audit.Actor{Kind: audit.Operator}, Surface: "machine", Authority: "operator"})
}

func personOf(p account.Account) Person {
	return Person{ID: p.ID, Username: p.Username, Email: p.Email, Role: p.Role}
}

// plain is an error as an operator reads it: a fault without its type, and with the fields that were refused.
func plain(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Type == fault.Internal {
		return err
	}
	text := strings.TrimSpace(f.Message + " " + f.Details)
	var refused struct {
		Fields []struct{ Field, Type string }
	}
	if meta, err := json.Marshal(f.Meta); err == nil {
		_ = json.Unmarshal(meta, &refused) // other facts are for programs
	}
	for _, r := range refused.Fields {
		text += fmt.Sprintf(" %s: %s.", r.Field, strings.ReplaceAll(r.Type, "_", " "))
	}
	return errors.New(text)
}
