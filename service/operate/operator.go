// Package operate is what only whoever holds the machine may do, and how commands ask the service that runs for it.
package operate

import (
	"context"
	"io"

	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/parcel"
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
	// Backup writes everything that the service keeps, as it was at one moment, in the form that backup.Make reads.
	Backup(context.Context, backup.Wish, io.Writer) error
	// Export writes one workspace, in the form that backup.Make reads.
	Export(context.Context, parcel.Wish, io.Writer) error
	// Import makes a workspace of an export, in the form that parcel.Carry delivers.
	Import(context.Context, parcel.Address, io.Reader) (parcel.Unpacked, error)
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
