package service

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/iso"
	"svc.dev/svc/memory"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/app"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/installation"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mcp"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/operate"
	"svc.dev/svc/service/project"
	"svc.dev/svc/service/receipt"
	"svc.dev/svc/service/redact"
	"svc.dev/svc/service/repository"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/storage"
	"svc.dev/svc/service/workspace"
)

// house is the rooms of the product on one database.
type house struct {
	config    config.Config
	surfaces  config.Surfaces
	log       *slog.Logger     // without secrets
	redactor  *redact.Redactor // of all that leaves the process
	db        *sqldb.DB
	keys      *operate.Keys
	secrets   *secret.Store // of keys
	audit     *audit.Log
	outbox    *mail.Outbox
	accounts  *account.Accounts
	apikeys   *apikey.Keys
	devices   *device.Devices
	apps      *app.Apps
	manifests *app.Manifests
	installs  *installation.Installations
	spaces    *workspace.Workspaces
	receipts  *receipt.Receipts
	models    *models.Models
	mcps      *mcp.Servers
	agents    *agent.Agents
	memory    *memory.Budget             // nil: rooms have their own
	asked     func(provider, key string) // counts turns of models; nil: nobody does
	swept     func(kind string, n int64) // counts what sweeps took away; nil: nobody does
	now       func() time.Time           // of those rooms that forget by it; nil: time.Now
	guest     bool                       // a runtime alone: the key ring is that of its gateway
	// What workspaces store; nil for an operator, who looks after accounts and keys.
	quotas       *storage.Quotas
	projects     *project.Projects
	repositories *repository.Repositories

	still     sync.RWMutex            // held while something is erased for good, and by a backup that none of it is
	keepBlobs func() (release func()) // until a backup has them; nil: nobody sweeps
	wake      func()                  // who waits for work; nil: they look themselves
}

// redacted is the log without secrets, and what learns which they are.
func redacted(log *slog.Logger) (*slog.Logger, *redact.Redactor) {
	r := redact.New()
	return slog.New(r.Handler(log.Handler())), r
}

// furnish opens the rooms of a database whose tables stand.
func (h *house) furnish(ctx context.Context) error {
	for _, open := range []func(context.Context) error{h.openKeys, h.openAudit, h.openOutbox, h.openAccounts, h.openWorkspaces, h.openModels, h.openMCPs} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	h.receipts = receipt.New(h.db, h.secrets, iso.Clock(h.now))
	h.receipts.Life = h.config.RetentionIdempotency
	return nil
}

func (h *house) openKeys(ctx context.Context) (err error) {
	c := h.config
	h.keys, err = operate.OpenKeys(ctx, operate.KeysConfig{
		DB: h.db, File: c.KeysFile, Fixed: c.KeysRing.Reveal() != "", Given: h.guest, Read: c.Ring, Log: h.log, Redactor: h.redactor,
	})
	if err != nil {
		return err
	}
	h.secrets = h.keys.Secrets
	return nil
}

// machine does what operators ask of this house.
func (h *house) machine() *operate.Machine {
	return &operate.Machine{Keys: h.keys, Accounts: h.accounts, Audit: h.audit, Backups: h.backups(), Post: h.post()}
}

func (h *house) openAudit(ctx context.Context) (err error) {
	h.audit, err = audit.Open(ctx, h.db, audit.Config{
		Key: h.secrets.Derive("audit hmac"), Seed: h.secrets.Derive("audit signing"),
		Folder: filepath.Join(h.config.DataDir, "audit"), Now: h.now, Log: h.log,
	})
	return err
}

func (h *house) openOutbox(context.Context) (err error) {
	c := h.config.MailConfig(h.surfaces)
	c.Box, c.Now, c.Log = h.secrets.Box("mail"), h.now, h.log
	h.outbox, err = mail.New(h.db, c)
	return err
}

func (h *house) openAccounts(ctx context.Context) (err error) {
	c := h.config
	client, err := github.New(github.Config{URL: c.GitHubURL, APIURL: c.GitHubAPIURL})
	if err != nil {
		return err
	}
	h.apps = app.New(app.Config{DB: h.db, Secrets: h.secrets, GitHub: client, Platform: h.surfaces[0].URL.String()})
	h.accounts, err = account.New(account.Config{
		DB: h.db, Secrets: h.secrets, Audit: h.audit, Mail: h.outbox, Keys: device.Ends{}, Unbind: installation.Unbind, GitHub: client, Apps: h.apps,
		Platform: h.surfaces[0].URL.String(), Printed: h.develops(), Strict: h.strict(), Scrypt: c.Scrypt,
		Idle: c.SessionIdle, Absolute: c.SessionAbsolute, Fresh: c.SessionReauth, MaxSessions: c.SessionMax,
		AdminIdle: c.SessionAdminIdle, AdminAbsolute: c.SessionAdminAbsolute,
		Hold: c.RetentionHold, Keep: c.RetentionSessions, Memory: h.memory, Now: h.now, Log: h.log,
	})
	if err != nil {
		return err
	}
	h.apikeys = apikey.New(apikey.Config{DB: h.db, Audit: h.audit, Mail: h.outbox, Accounts: h.accounts})
	h.devices = device.New(device.Config{Now: h.now, DB: h.db, Secrets: h.secrets, Audit: h.audit, Accounts: h.accounts, Keys: h.apikeys})
	h.manifests = app.NewManifests(app.ManifestsConfig{Apps: h.apps, Accounts: h.accounts, Audit: h.audit, Log: h.log})
	h.installs = installation.New(installation.Config{
		DB: h.db, Secrets: h.secrets, Audit: h.audit, Accounts: h.accounts, Apps: h.apps, GitHub: client, Platform: h.surfaces[0].URL.String(),
		Keep: c.RetentionSessions, KeepPassed: c.RetentionDeliveries, Memory: h.memory, Now: h.now, Log: h.log,
	})
	return h.apps.Seal(ctx)
}

func (h *house) openWorkspaces(context.Context) (err error) {
	h.spaces, err = workspace.New(workspace.Config{
		DB: h.db, Audit: h.audit, Mail: h.outbox, Platform: h.surfaces[0].URL.String(),
		HasProject: project.Has, Destroy: h.destroy, Hold: h.config.RetentionHold, Now: h.now,
	})
	return err
}

func (h *house) openModels(context.Context) error {
	guard, err := h.config.ModelGuard()
	if err != nil {
		return err
	}
	h.models = models.New(models.Config{
		DB: h.db, Secrets: h.secrets, Audit: h.audit, Guard: guard, Service: h.config.ModelServices(), Default: h.config.ModelDefault,
		Idle: h.config.ModelIdleTimeout, Settings: h.modelSettings, Asked: h.asked, Log: h.log,
	})
	return nil
}

// modelSettings is where the people of a workspace set the keys of models.
func (h *house) modelSettings(address string) string {
	at, err := scope.Parse(address)
	if err != nil {
		return h.surfaces[2].URL.String() + "/settings/models" // of the staff's own workspace
	}
	return h.surfaces[1].URL.String() + "/w/" + at.Username + "/" + at.Business + "/settings/models"
}

func (h *house) develops() bool { return h.surfaces.Mode() == config.Development }

// strict says whether signing up waits for a mail: as configured, else where there is a mail server.
func (h *house) strict() bool {
	if h.config.StrictRegister != "" {
		return h.config.StrictRegister == "true"
	}
	return h.config.Mails()
}

// setupLink is where the first administrator begins. It is empty when there is one. The link of an earlier start dies.
func (h *house) setupLink(ctx context.Context) (string, error) {
	given := h.config.SetupToken.Reveal()
	token, err := h.accounts.Staff.PrepareSetup(ctx, given)
	if err != nil {
		return "", fmt.Errorf("prepare set-up: %w", err)
	}
	link := h.surfaces[0].URL.String() + "/setup"
	switch token {
	case "":
		return "", nil
	case given:
		// Whoever chose the token knows it, and wants it in no log.
		return link, nil
	}
	return link + "#t=" + token, nil
}

// keep does what the rooms do by themselves, until ctx ends.
func (h *house) keep(ctx context.Context) error {
	return together(ctx, h.audit.Run, h.secrets.Run, h.outbox.Run, h.sweepOften, h.recountNightly)
}

// together runs all until ctx ends, or until one fails: then the others end too.
func together(ctx context.Context, all ...func(context.Context) error) error {
	running, ctx := errgroup.WithContext(ctx)
	for _, run := range all {
		running.Go(func() error { return run(ctx) })
	}
	return running.Wait()
}
