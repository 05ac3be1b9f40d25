package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/audit"
)

// Operator does what only whoever holds the machine may do.
type Operator interface {
	// CreateAdmin makes an account that administers the service.
	CreateAdmin(context.Context, NewAdmin) (Person, error)
	// Grant gives an account a role over the whole service: admin, support or none.
	Grant(context.Context, Grant) (Person, error)
	// VerifyAudit looks through the audit log. What it finds is in the report; the error says that it could not look.
	VerifyAudit(context.Context) (audit.Report, error)
	// RotateKeys moves every secret to a new key, and tells how far it is.
	RotateKeys(context.Context, Rotate, func(Rotation)) (Rotation, error)
	// Close ends what was opened for the operator.
	Close() error
}

// NewAdmin is an administrator to be.
type NewAdmin struct {
	Email    string `json:"email"`
	Username string `json:"username"` // empty: made from the address
	Password string `json:"password"`
}

// Grant is a role for an account, named by one of three.
type Grant struct {
	AccountID string `json:"accountId,omitempty"`
	Username  string `json:"username,omitempty"`
	Email     string `json:"email,omitempty"` // that was proven
	Role      string `json:"role"`
}

// Person is an account as operators see it.
type Person struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Email    string `json:"email"`
	Role     string `json:"serviceRole"`
}

func personOf(p account.Account) Person {
	return Person{ID: p.ID, Username: p.Username, Email: p.Email, Role: p.Role}
}

// Operate reaches the service that runs on the data folder, by its admin socket. Where none runs it takes the folder and
// opens the database itself, as far as the tables stand: it makes no database and migrates nothing.
func Operate(ctx context.Context, c Config, log *slog.Logger) (Operator, error) {
	c = c.withDefaults()
	conn, err := dialSocket(ctx, c.AdminSocket)
	switch {
	case err == nil:
		conn.Close()
		return newErrand(c.AdminSocket), nil
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("admin_socket: %s belongs to another user: run this as the user that runs svc", c.AdminSocket)
	case !isAbsent(err):
		return nil, fmt.Errorf("admin_socket: %w", err)
	}
	return openAlone(ctx, c, log)
}

// alone is an operator on a database that no service of this folder has open.
type alone struct {
	*house
	folder *sqldb.Folder // nil: PostgreSQL without a data folder
}

func openAlone(ctx context.Context, c Config, log *slog.Logger) (_ *alone, err error) {
	if err := c.mustExist(); err != nil {
		return nil, err
	}
	log, scrubber := scrubbed(log)
	a := &alone{house: &house{config: c, surfaces: c.surfaces(portOf(c.Listen)), log: log, scrubber: scrubber}}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	if _, missing := os.Stat(c.DataDir); missing == nil {
		if a.folder, err = holdAlone(c); err != nil {
			return nil, err
		}
	}
	if a.db, err = openDatabase(ctx, c, a.folder, log); err != nil {
		return nil, err
	}
	if err := mustBeMigrated(ctx, a.db); err != nil {
		return nil, err
	}
	return a, a.furnish(ctx)
}

// mustExist refuses to begin a database where an operator looks for one.
func (c Config) mustExist() error {
	if isPostgres(c.Database) {
		return nil
	}
	if _, err := os.Stat(sqlitePath(c.Database)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database at %s: name its folder with --data, or make one with svc serve or svc migrate", sqlitePath(c.Database))
	}
	return nil
}

// holdAlone takes the folder from nobody: its holder is a service that did not answer on its socket.
func holdAlone(c Config) (*sqldb.Folder, error) {
	folder, err := sqldb.OpenFolder(c.DataDir)
	if held, ok := errors.AsType[*sqldb.HeldError](err); ok {
		return nil, fmt.Errorf("process %d runs on %s, but does not answer on %s: name its socket with --admin-socket, or stop it", held.PID, c.DataDir, c.AdminSocket)
	}
	return folder, err
}

// mustBeMigrated refuses tables that are not as this binary knows them.
func mustBeMigrated(ctx context.Context, db *sqldb.DB) error {
	all, err := versions(ctx, db)
	if err != nil {
		return err
	}
	for _, v := range all {
		if err := v.check(); err != nil {
			return fmt.Errorf("%w: run svc migrate first", err)
		}
	}
	return nil
}

// CreateAdmin makes an account that administers the service.
func (h *house) CreateAdmin(ctx context.Context, n NewAdmin) (Person, error) {
	p, err := h.accounts.CreateAdmin(asOperator(ctx), account.Registration{Email: n.Email, Username: n.Username, Password: n.Password})
	return personOf(p), plain(err)
}

// Grant gives an account a role over the whole service.
func (h *house) Grant(ctx context.Context, g Grant) (Person, error) {
	if g.AccountID == "" {
		p, err := h.accounts.Named(ctx, g.Username, g.Email)
		if err != nil {
			return Person{}, plain(err)
		}
		g.AccountID = p.ID
	}
	p, err := h.accounts.Grant(asOperator(ctx), g.AccountID, g.Role)
	return personOf(p), plain(err)
}

// VerifyAudit looks through the audit log.
func (h *house) VerifyAudit(ctx context.Context) (audit.Report, error) { return h.audit.Verify(ctx) }

// asOperator says in the audit log who acts.
func asOperator(ctx context.Context) context.Context {
	return audit.With(ctx, audit.Source{Actor: audit.Actor{Kind: audit.Operator}, Surface: "machine", Authority: "operator"})
}

// Close closes the database and lets the folder go.
func (a *alone) Close() (err error) {
	if a.db != nil {
		err = a.db.Close()
	}
	if a.folder != nil {
		err = errors.Join(err, a.folder.Close())
	}
	return err
}
