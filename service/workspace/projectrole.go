package workspace

import (
	"context"

	"svc.dev/svc/internal/sqldb"
)

// ProjectRole is the function of that name in a transaction of its own.
func (w *Workspaces) ProjectRole(ctx context.Context, account, workspace, project string) (role string, err error) {
	err = w.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		role, err = ProjectRole(tx, account, workspace, project)
		return err
	})
	return role, err
}
