package service

import (
	"context"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/backup"
	"svc.dev/svc/service/parcel"
)

// backups is what a backup of this house is made of.
func (h *house) backups() *backup.Source {
	c := backup.Config{
		DB: h.db, Folder: h.config.DataDir, Keys: h.config.KeysFile, Changing: h.keys.Changing(), Projects: h.projects, KeepBlobs: h.keepBlobs,
		Still: &h.still, Begin: h.noteBackup, Log: h.log,
	}
	if h.config.KeysRing.Reveal() != "" {
		c.Keys = ""
	}
	return backup.New(c)
}

// post is what takes workspaces to other services, and takes them in.
func (h *house) post() *parcel.Post {
	return parcel.New(parcel.Config{
		DB: h.db, Audit: h.audit, Spaces: h.spaces, Projects: h.projects, Folder: h.config.DataDir, Still: h.still.RLocker(), Wake: h.wake,
		Account: func(ctx context.Context, username string) (string, error) {
			p, err := h.accounts.Staff.Named(ctx, username, "")
			return p.ID, err
		},
	})
}

// noteBackup has it in the audit log that a backup leaves, before it does.
func (h *house) noteBackup(ctx context.Context, q backup.Wish) error {
	event := audit.Event{Action: "backup.made", Target: audit.Target{Kind: "service", ID: "backup"}}
	if q.NoKeys {
		event.Changes = []string{"no_keys"}
	}
	return h.db.Write(ctx, func(tx *sqldb.Tx) error { return h.audit.Append(ctx, tx, event) })
}

// unlessStill erases something of a kind for good, unless a backup is being made that may need it: then the next sweep does.
func (h *house) unlessStill(kind string, erase func(context.Context) (int64, error)) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		if !h.still.TryRLock() {
			h.log.Info("not swept while a backup is made", "kind", kind)
			return 0, nil
		}
		defer h.still.RUnlock()
		return erase(ctx)
	}
}
