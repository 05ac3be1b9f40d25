package service

import (
	"cmp"
	"context"
	"fmt"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/offer"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/repository"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/workspace"
	"svc.dev/svc/sqlstore"
)

// openProjects opens the rooms of what workspaces store.
func (h *house) openProjects() (err error) {
	if err := h.openFiles(); err != nil {
		return err
	}
	h.repositories, err = repository.New(repository.Config{
		DB: h.db, Audit: h.audit, Quotas: h.quotas, Projects: h.projects, Memory: h.memory, Holder: holder,
		Hosts: map[string]string{"github": h.config.GitHubURL}, Connected: h.installs.Need, Token: h.installs.RepositoryToken,
	})
	return err
}

// openFiles opens projects and their files, which need nobody's account.
func (h *house) openFiles() (err error) {
	c := h.config
	h.quotas, err = storage.New(storage.Config{DB: h.db, Audit: h.audit, Limit: c.LimitStorage, Measure: h.measure, Warn: h.warn, Log: h.log})
	if err != nil {
		return err
	}
	h.projects, err = project.New(project.Config{
		DB: h.db, Audit: h.audit, Quotas: h.quotas, Root: c.FilesDir, MaxFile: c.LimitUpload, Removed: workspace.ForgetProject, Log: h.log,
	})
	if err != nil {
		return fmt.Errorf("files_dir: %w", err)
	}
	return nil
}

// measure is what a scope stores in the runtime. The versions of its agents count as streams, which are worked by them.
func (h *house) measure(ctx context.Context, scope string) (attachments, streams int64, err error) {
	u, err := sqlstore.Measure(ctx, h.db, scope)
	if err != nil {
		return 0, 0, err
	}
	agents, err := agent.Stored(ctx, h.db, scope)
	return u.Attachments, u.Streams + agents, err
}

// warn mails the owners of a workspace that its storage has passed a threshold, where there is mail. The staff's own workspace
// belongs to nobody: it is in the audit log. A process without accounts leaves it to those that have them.
func (h *house) warn(tx *sqldb.Tx, w storage.Warning) (id string, err error) {
	if h.accounts == nil {
		return "", nil
	}
	if w.Scope == scope.Admin {
		return scope.Admin, nil
	}
	space, owners, err := workspace.OwnersOf(tx, w.Scope)
	if err != nil || space.ID == "" || !h.outbox.Enabled() {
		return space.ID, err
	}
	addresses, err := h.accounts.Addresses(tx, owners)
	if err != nil {
		return "", err
	}
	for _, to := range addresses {
		if err := h.outbox.Queue(tx, to, mail.StorageWarning(space.Name, w.Percent)); err != nil {
			return "", err
		}
	}
	return space.ID, nil
}

// destroy erases what the rooms keep of a workspace whose hold is over. What is gone already is no error: it is done again
// until all of it succeeds.
func (h *house) destroy(ctx context.Context, w workspace.Workspace) error {
	if err := h.projects.Erase(ctx, project.Owner{Workspace: w.ID, Scope: w.Scope}); err != nil {
		return err
	}
	_, err := sqldb.Write(ctx, h.db, func(tx *sqldb.Tx) (int64, error) {
		if err := models.Erase(tx, w.Scope); err != nil {
			return 0, err
		}
		return h.secrets.DeleteAll(tx, secret.Owner{Kind: secret.Business, Scope: w.Scope})
	})
	if err != nil {
		return err
	}
	if err := cmp.Or(h.apikeys.Forget(ctx, w.ID), h.installs.Forget(ctx, w.ID)); err != nil {
		return err
	}
	if err := cmp.Or(h.agents.Erase(ctx, w.Scope), h.mcps.Erase(ctx, w.Scope), offer.Erase(ctx, h.db, w.Scope)); err != nil {
		return err
	}
	return sqlstore.Erase(ctx, h.db, w.Scope)
}
