// Package config is what an operator chooses: the table of settings, how each is written, and what is refused of them.
package config

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/database"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/service/secret"
)

// Config is what an operator chooses. The zero value runs: an empty field takes the default of its row in Settings.
type Config struct {
	// DataDir is the folder of this node: lock, node id, SQLite database. Defaults to ".svc".
	DataDir string
	// FilesDir holds the files of all projects. Nodes that share a database share it too. Defaults to "<data>/root-sandbox".
	FilesDir string
	// AgentsDir holds an agent in each file <name>.md, for every workspace. Defaults to none.
	AgentsDir string
	// Project is a project in TypeScript whose modules stand in every workspace: a folder, or a file of svc bundle. Defaults to none.
	Project string
	// ProjectEnv names the variables that the project's process.env shows, with commas between them. Defaults to none.
	ProjectEnv string
	// Database is an address, sqlite:PATH or postgres://…. Defaults to "sqlite:<data>/svc.db".
	Database string
	// Synchronous is how SQLite makes a commit durable, FULL or NORMAL. Defaults to "FULL".
	Synchronous string
	// Listen is the public address. Defaults to "127.0.0.1:8080".
	Listen string
	// ListenTLS is the public address where there is no proxy that ends TLS; Listen then only leads there. Defaults to none.
	ListenTLS string
	// TLSCert and TLSKey are the files of a certificate and its key, and TLSACME the directory of an authority that gives them.
	// ListenTLS needs the one or the other.
	TLSCert, TLSKey, TLSACME string
	// OpsListen is the address of health, readiness and metrics. Defaults to "127.0.0.1:8090".
	OpsListen string
	// RuntimeListen is where a private runtime listens, HOST:PORT or unix:PATH. Defaults to "127.0.0.1:8081".
	RuntimeListen string
	// RuntimeURL is where a gateway finds it, http://HOST:PORT or unix:PATH. Defaults to "http://127.0.0.1:8081".
	RuntimeURL string
	// RuntimeToken and RuntimeAdminToken are what a gateway says to be believed, for customers and for staff, and the
	// previous ones are accepted too. Required of two processes; one alone needs none.
	RuntimeToken, RuntimeTokenPrevious, RuntimeAdminToken, RuntimeAdminTokenPrevious secret.Secret
	// AssertionKey is what a gateway signs with, and AssertionPublic by what a runtime knows it: one key, or two with a comma
	// between them. Required of two processes.
	AssertionKey    secret.Secret
	AssertionPublic string
	// AdminSocket is where commands reach the service that runs. Defaults to "<data>/admin.sock".
	AdminSocket string
	// PlatformURL, AgentsURL and AdminURL are what the surfaces are called from outside, as scheme://host. They default to
	// http://svc.localhost, http://agents.svc.localhost and http://admin.svc.localhost, at the port of Listen.
	PlatformURL, AgentsURL, AdminURL string
	// CookieDomain is the domain that the hosts of all surfaces lie below, to which a session belongs. Defaults to
	// "svc.localhost".
	CookieDomain string
	// TrustedProxies are the networks of proxies whose word about a client's address counts. Defaults to none.
	TrustedProxies []netip.Prefix
	// BackupPath is where backups are kept, a folder or the newest of them, and BackupMaxAge how old the newest may be: doctor looks.
	// Default to none and 25 hours.
	BackupPath   string
	BackupMaxAge time.Duration
	// KeysFile holds the key ring. Defaults to "<data>/keys.json", made on the first start over an empty database.
	KeysFile string
	// KeysRing is the key ring itself, as JSON, instead of a file. Defaults to none.
	KeysRing secret.Secret
	// SetupToken is the token of the first administrator's link, 32 bytes or more. Defaults to a random one.
	SetupToken secret.Secret
	// SMTPURL is the mail server, smtp://USER:PASSWORD@HOST:587 or smtps://…. Defaults to none: mail is off.
	SMTPURL secret.Secret
	// SMTPFrom is who mails come from. Required with SMTPURL.
	SMTPFrom string
	// StrictRegister, true or false, says whether signing up waits for a mail. Defaults to whether there is a mail server.
	StrictRegister string
	// Scrypt is what deriving a password costs. Defaults to ln=15,r=8,p=3.
	Scrypt account.Scrypt
	// SessionIdle is how long a session lives that nobody uses. Defaults to 7 days.
	SessionIdle time.Duration
	// SessionAbsolute is how long a session lives at most. Defaults to 30 days.
	SessionAbsolute time.Duration
	// SessionReauth is how long ago somebody may have proven who they are, for what needs it. Defaults to 10 minutes.
	SessionReauth time.Duration
	// SessionAdminIdle and SessionAdminAbsolute are how long the authority of staff lives that nobody uses, and at most.
	// Default to 30 minutes and 12 hours.
	SessionAdminIdle, SessionAdminAbsolute time.Duration
	// SessionMax is how many sessions an account has at once. Defaults to 50.
	SessionMax int
	// GitHubURL is where people sign in with GitHub. Defaults to "https://github.com".
	GitHubURL string
	// GitHubAPIURL is where GitHub's API is. Defaults to what belongs to GitHubURL, "https://api.github.com".
	GitHubAPIURL string
	// Workers is how many streams are worked on at once. Defaults to 1,024.
	Workers int
	// StopTimeout is how long a graceful stop may take. Defaults to 30 seconds.
	StopTimeout time.Duration
	// RetentionRuns and RetentionConversations are how long runs are kept after their end, and conversations after their last message;
	// RetentionAudit is for the events of the audit log. Default to Kept.
	RetentionRuns, RetentionConversations, RetentionAudit time.Duration
	// RetentionIdempotency is how long an Idempotency-Key is known. Defaults to 7 days.
	RetentionIdempotency time.Duration
	// RetentionSessions is how long ended sessions, used tokens and the ids of webhooks are kept. Defaults to 30 days.
	RetentionSessions time.Duration
	// RetentionOutbox is how long it is remembered that a mail was sent. Defaults to 7 days.
	RetentionOutbox time.Duration
	// RetentionDeliveries is how long it is remembered which webhooks were passed on to workspaces. Defaults to 30 days.
	RetentionDeliveries time.Duration
	// RetentionHold is how long a deleted account or workspace can come back. Defaults to 14 days.
	RetentionHold time.Duration
	// ModelDefault is the model of agents that name none, in a workspace that chose none. Defaults to "scripted/words".
	ModelDefault string
	// ModelAnthropic, ModelGoogle and ModelOpenAI are the address and the key of a provider for all workspaces that have none of
	// their own: who runs the service pays for them. Default to the provider's own address, and no key.
	ModelAnthropic, ModelGoogle, ModelOpenAI models.Service
	// ModelIdleTimeout is how long a provider of models may be silent. Defaults to 120 seconds.
	ModelIdleTimeout time.Duration
	// ModelAllowPrivate are servers of models that lie on private networks and may be asked all the same, as host:port or as
	// networks. Defaults to none.
	ModelAllowPrivate []string
	// MCPAllowPrivate are MCP servers that lie on private networks and may be reached all the same, as ModelAllowPrivate.
	MCPAllowPrivate []string
	// LimitRate and LimitBurst bound the requests of a key or account, per minute. Default to 600 and 100.
	LimitRate, LimitBurst int
	// LimitStreams is how many streams an account may have open, and how many uploads and downloads. Defaults to 100.
	LimitStreams int
	// LimitChannelRate bounds the webhooks of a workspace, per minute. Defaults to 600.
	LimitChannelRate int
	// LimitWrongKeys bounds the wrong API keys from an address, per minute. Defaults to 100.
	LimitWrongKeys int
	// LimitStorage is how many bytes a workspace may store that has no limit of its own. Defaults to 10 GiB.
	LimitStorage int64
	// LimitUpload is how many bytes one file may have. Defaults to 1 GiB.
	LimitUpload int64
	// LimitVerification bounds how often an account verifies its workspace, per minute. Defaults to 10.
	LimitVerification int
	// LimitBody is the longest body that the runtime reads, and LimitBuffered bounds those that a process holds at one time.
	// Default to 64 MiB and 256 MiB.
	LimitBody, LimitBuffered int64
	// LimitChannelBody is the longest body of a webhook. Defaults to 1 MiB.
	LimitChannelBody int64
	// LimitMemory is how many bytes a process aims to hold. Three quarters of them are for those it serves, a quarter of these
	// for one account at most. Without it they have a quarter of the memory that the process may have.
	LimitMemory int64
	// LimitInput is the longest input of a workflow. Defaults to 8 MiB.
	LimitInput int64
	// LimitConnections and LimitConnectionsPerAddress bound the connections to the public address, at one time. Default to
	// 10,000 and 512.
	LimitConnections, LimitConnectionsPerAddress int
	// LogLevel is the least level that is logged: debug, info, warn or error. Defaults to "info".
	LogLevel string
	// LogFormat is text or json. Defaults to text on a terminal, else json.
	LogFormat string
}

// Setting is one row of the configuration table.
type Setting struct {
	Key     string // in svc.toml
	Env     string
	Flag    string // empty: there is none
	Default string // taken when nothing is given; "<data>" stands for the data folder
	Else    string // what is said for a default that Default cannot spell
	About   string
	value   value
}

// Settings is the configuration table, each row bound to its field of c.
func (c *Config) Settings() []Setting {
	return []Setting{
		{"data_dir", "SVC_DATA_DIR", "data", ".svc", "", "data folder of this node", text(&c.DataDir)},
		{"files_dir", "SVC_FILES_DIR", "files", "<data>/root-sandbox", "", "files of all projects; nodes that share a database share it", text(&c.FilesDir)},
		{"agents_dir", "SVC_AGENTS_DIR", "agents", "", "none", "agents of every workspace, a file <name>.md each; read again when it changes", text(&c.AgentsDir)},
		{"project.path", "SVC_PROJECT", "project", "", "none", "a project in TypeScript for every workspace: its folder, or a file of svc bundle", text(&c.Project)},
		{"project.env", "SVC_PROJECT_ENV", "", "", "none", "variables that the project may see, as STRIPE_KEY,SHOP_URL", written(&c.ProjectEnv, parseNames)},
		{"database", "SVC_DATABASE_URL", "database", "sqlite:<data>/svc.db", "", "sqlite:PATH or postgres://…", written(&c.Database, parseAddress)},
		{"sqlite.synchronous", "SVC_SQLITE_SYNCHRONOUS", "", "FULL", "", "FULL, or NORMAL, which can lose the last commits with the power", choice{&c.Synchronous, []string{"FULL", "NORMAL"}}},
		{"listen", "SVC_LISTEN", "listen", "127.0.0.1:8080", "", "public address", text(&c.Listen)},
		{"listen_tls", "SVC_LISTEN_TLS", "listen-tls", "", "none: a proxy ends TLS", "public address with TLS; listen then leads there", text(&c.ListenTLS)},
		{"tls.cert", "SVC_TLS_CERT", "", "", "none", "file of the certificate for the hosts of all surfaces, with those that vouch for it", text(&c.TLSCert)},
		{"tls.key", "SVC_TLS_KEY", "", "", "none", "file of its key", text(&c.TLSKey)},
		{"tls.acme", "SVC_TLS_ACME", "", "", "none", "directory address of an authority that gives certificates, whose terms you agree to", written(&c.TLSACME, parseEndpoint)},
		{"ops_listen", "SVC_OPS_LISTEN", "ops-listen", "127.0.0.1:8090", "", "address of /healthz, /readyz and /metrics", text(&c.OpsListen)},
		{"backup.path", "SVC_BACKUP_PATH", "", "", "none", "where backups are kept: a folder, or the newest of them; svc backup writes there, svc doctor looks at their age", text(&c.BackupPath)},
		{"backup.max_age", "SVC_BACKUP_MAX_AGE", "", "25h", "", "how old the newest backup may be", duration(&c.BackupMaxAge)},
		{"runtime.listen", "SVC_RUNTIME_LISTEN", "runtime-listen", "127.0.0.1:8081", "", "address of svc runtime, HOST:PORT or unix:PATH", text(&c.RuntimeListen)},
		{"runtime.url", "SVC_RUNTIME_URL", "runtime-url", "http://127.0.0.1:8081", "", "where svc gateway finds the runtime, http://HOST:PORT or unix:PATH", written(&c.RuntimeURL, parseRuntimeURL)},
		{"runtime.token", "SVC_RUNTIME_TOKEN", "", "", "none: svc serve needs none, svc gateway and svc runtime do", "what the gateway says to the runtime, 32 bytes or more", hidden{&c.RuntimeToken, atLeast(scope.MinToken)}},
		{"runtime.token_previous", "SVC_RUNTIME_TOKEN_PREVIOUS", "", "", "none", "the token that is being replaced", hidden{&c.RuntimeTokenPrevious, atLeast(scope.MinToken)}},
		{"runtime.admin_token", "SVC_RUNTIME_ADMIN_TOKEN", "", "", "none, as runtime.token", "what the gateway says for staff, 32 bytes or more", hidden{&c.RuntimeAdminToken, atLeast(scope.MinToken)}},
		{"runtime.admin_token_previous", "SVC_RUNTIME_ADMIN_TOKEN_PREVIOUS", "", "", "none", "the token for staff that is being replaced", hidden{&c.RuntimeAdminTokenPrevious, atLeast(scope.MinToken)}},
		{"runtime.assertion_key", "SVC_ASSERTION_KEY", "", "", "none: svc keys assertion makes one", "what the gateway signs with", hidden{&c.AssertionKey, checkSigningKey}},
		{"runtime.assertion_public", "SVC_ASSERTION_PUBLIC", "", "", "none: svc keys assertion makes one", "by what the runtime knows the gateway, two at most", written(&c.AssertionPublic, checkPublicKeys)},
		{"admin_socket", "SVC_ADMIN_SOCKET", "admin-socket", "<data>/admin.sock", "", "socket by which commands reach the service", text(&c.AdminSocket)},
		{"url.platform", "SVC_PLATFORM_URL", "", "", "http://svc.localhost:<port of listen>", "address of the platform surface", written(&c.PlatformURL, parseOrigin)},
		{"url.agents", "SVC_AGENTS_URL", "", "", "http://agents.svc.localhost:<port of listen>", "address of the agents surface", written(&c.AgentsURL, parseOrigin)},
		{"url.admin", "SVC_ADMIN_URL", "", "", "http://admin.svc.localhost:<port of listen>", "address of the admin surface", written(&c.AdminURL, parseOrigin)},
		{"cookie_domain", "SVC_COOKIE_DOMAIN", "", "svc.localhost", "", "domain that the hosts of all surfaces lie below", written(&c.CookieDomain, parseDomain)},
		{"trusted_proxies", "SVC_TRUSTED_PROXIES", "", "", "none: X-Forwarded-* is ignored", "networks of proxies, as 10.0.0.0/8,192.0.2.1/32", (*networks)(&c.TrustedProxies)},
		{"keys.file", "SVC_KEYS_FILE", "", "<data>/keys.json", "", "file of the key ring, made on the first start over an empty database", text(&c.KeysFile)},
		{"keys.ring", "SVC_KEYS", "", "", "none: keys.file", "the key ring itself, as JSON", hidden{&c.KeysRing, checkRing}},
		{"setup_token", "SVC_SETUP_TOKEN", "", "", "random, printed", "token of the first administrator's link, 32 bytes or more", hidden{&c.SetupToken, atLeast(32)}},
		{"smtp.url", "SVC_SMTP_URL", "", "", "none: mail is off", "mail server, smtp://USER:PASSWORD@HOST:587 or smtps://…", hidden{&c.SMTPURL, atLeast(1)}},
		{"smtp.from", "SVC_SMTP_FROM", "", "", "none", "who mails come from", text(&c.SMTPFrom)},
		{"auth.strict_register", "SVC_STRICT_REGISTER", "", "", "true with a mail server, else false", "whether signing up waits for a mail", choice{&c.StrictRegister, []string{"true", "false"}}},
		{"auth.scrypt", "SVC_SCRYPT", "", account.DefaultScrypt.String(), "", "what deriving a password costs, as scrypt counts it: 128 × 2^ln × r bytes of memory, p times", parsed[account.Scrypt]{&c.Scrypt, account.ParseScrypt, account.Scrypt.String}},
		{"session.idle", "SVC_SESSION_IDLE", "", "7d", "", "life of a session that nobody uses", duration(&c.SessionIdle)},
		{"session.absolute", "SVC_SESSION_ABSOLUTE", "", "30d", "", "longest life of a session", duration(&c.SessionAbsolute)},
		{"session.reauth", "SVC_SESSION_REAUTH", "", "10m", "", "how fresh a proof of who it is must be", duration(&c.SessionReauth)},
		{"session.admin_idle", "SVC_SESSION_ADMIN_IDLE", "", "30m", "", "life of the authority of staff that nobody uses", duration(&c.SessionAdminIdle)},
		{"session.admin_absolute", "SVC_SESSION_ADMIN_ABSOLUTE", "", "12h", "", "longest life of the authority of staff", duration(&c.SessionAdminAbsolute)},
		{"session.max", "SVC_SESSION_MAX", "", "50", "", "sessions of one account", count(&c.SessionMax)},
		{"provider.github.url", "SVC_GITHUB_URL", "", "https://github.com", "", "where people sign in with GitHub", written(&c.GitHubURL, parseOrigin)},
		{"provider.github.api_url", "SVC_GITHUB_API_URL", "", "", "https://api.github.com, or what belongs to provider.github.url", "GitHub's API", written(&c.GitHubAPIURL, parseEndpoint)},
		{"model.default", "SVC_MODEL_DEFAULT", "", "scripted/words", "", "model of agents that name none, as provider/model", text(&c.ModelDefault)},
		modelURL("anthropic", &c.ModelAnthropic),
		modelKey("anthropic", &c.ModelAnthropic),
		modelURL("google", &c.ModelGoogle),
		modelKey("google", &c.ModelGoogle),
		modelURL("openai", &c.ModelOpenAI),
		modelKey("openai", &c.ModelOpenAI),
		{"model.idle_timeout", "SVC_MODEL_IDLE_TIMEOUT", "", "120s", "", "how long a provider of models may be silent", duration(&c.ModelIdleTimeout)},
		{"model.allow_private", "SVC_MODEL_ALLOW_PRIVATE", "", "", "none", "model servers on private networks that may be asked, as 127.0.0.1:11434,10.0.0.0/8", (*places)(&c.ModelAllowPrivate)},
		{"mcp.allow_private", "SVC_MCP_ALLOW_PRIVATE", "", "", "none", "MCP servers on private networks that may be reached, as 127.0.0.1:9000,10.0.0.0/8", (*places)(&c.MCPAllowPrivate)},
		{"workers", "SVC_WORKERS", "workers", "1024", "", "streams worked on at once", count(&c.Workers)},
		{"stop_timeout", "SVC_STOP_TIMEOUT", "", "30s", "", "longest graceful stop", duration(&c.StopTimeout)},
		{"retention.runs", "SVC_RETENTION_RUNS", "", "keep", "", "how long runs are kept after their end, as 90d, or keep", retention(&c.RetentionRuns)},
		{"retention.conversations", "SVC_RETENTION_CONVERSATIONS", "", "keep", "", "how long conversations are kept after their last message, as 90d, or keep", retention(&c.RetentionConversations)},
		{"retention.audit", "SVC_RETENTION_AUDIT", "", "keep", "", "how long the audit log is kept, as 400d, or keep", retention(&c.RetentionAudit)},
		{"retention.idempotency", "SVC_RETENTION_IDEMPOTENCY", "", "7d", "", "how long an Idempotency-Key is known, and never less than its work takes", duration(&c.RetentionIdempotency)},
		{"retention.sessions", "SVC_RETENTION_SESSIONS", "", "30d", "", "how long ended sessions, used tokens and the ids of webhooks are kept", duration(&c.RetentionSessions)},
		{"retention.outbox", "SVC_RETENTION_OUTBOX", "", "7d", "", "how long sent mails are remembered", duration(&c.RetentionOutbox)},
		{"retention.deliveries", "SVC_RETENTION_DELIVERIES", "", "30d", "", "how long it is remembered which webhooks were passed on to workspaces", duration(&c.RetentionDeliveries)},
		{"retention.hold", "SVC_RETENTION_HOLD", "", "14d", "", "how long a deleted account or workspace can come back", duration(&c.RetentionHold)},
		{"limits.rate", "SVC_LIMIT_RATE", "", "600", "", "requests of a key or account, per minute", count(&c.LimitRate)},
		{"limits.burst", "SVC_LIMIT_BURST", "", "100", "", "requests of a key or account at once", count(&c.LimitBurst)},
		{"limits.streams", "SVC_LIMIT_STREAMS", "", "100", "", "open streams of an account, and as many uploads and downloads", count(&c.LimitStreams)},
		{"limits.channel_rate", "SVC_LIMIT_CHANNEL_RATE", "", "600", "", "webhooks of a workspace, per minute", count(&c.LimitChannelRate)},
		{"limits.wrong_keys", "SVC_LIMIT_WRONG_KEYS", "", "100", "", "wrong API keys from an address, per minute", count(&c.LimitWrongKeys)},
		{"limits.verification", "SVC_LIMIT_VERIFICATION", "", "10", "", "verifications of an account, per minute", count(&c.LimitVerification)},
		{"limits.body", "SVC_LIMIT_BODY", "", "64MiB", "", "longest body of a request to the runtime", size(&c.LimitBody)},
		{"limits.buffered", "SVC_LIMIT_BUFFERED", "", "256MiB", "", "bodies that a process holds at one time", size(&c.LimitBuffered)},
		{"limits.channel_body", "SVC_LIMIT_CHANNEL_BODY", "", "1MiB", "", "longest body of a webhook", size(&c.LimitChannelBody)},
		{"limits.upload", "SVC_LIMIT_UPLOAD", "", "1GiB", "", "size of one file", size(&c.LimitUpload)},
		{"limits.storage", "SVC_LIMIT_STORAGE", "", "10GiB", "", "what a workspace may store that has no limit of its own", size(&c.LimitStorage)},
		{"limits.memory", "SVC_LIMIT_MEMORY", "", "", "a quarter of the machine's, or of its control group's", "memory that the process aims to hold: three quarters of it for bodies, running work, images and what is kept for later, of which one account has a quarter", size(&c.LimitMemory)},
		{"limits.input", "SVC_LIMIT_INPUT", "", "8MiB", "", "longest input of a workflow", size(&c.LimitInput)},
		{"limits.connections", "SVC_LIMIT_CONNECTIONS", "", "10000", "", "connections to the public address at one time, as far as memory allows", count(&c.LimitConnections)},
		{"limits.connections_per_address", "SVC_LIMIT_CONNECTIONS_PER_ADDRESS", "", "512", "", "of them from one address; trusted proxies are not counted", count(&c.LimitConnectionsPerAddress)},
		{"log.level", "SVC_LOG_LEVEL", "log-level", "info", "", "debug, info, warn or error", choice{&c.LogLevel, []string{"debug", "info", "warn", "error"}}},
		{"log.format", "SVC_LOG_FORMAT", "log-format", "", "text on a terminal, else json", "text or json", choice{&c.LogFormat, []string{"text", "json"}}},
	}
}

// Given reports whether the field has a value.
func (s Setting) Given() bool { return s.value.String() != "" }

// Set gives the field a value. The error names the key, and never repeats a secret.
func (s Setting) Set(text string) error {
	if err := s.value.Set(text); err != nil {
		return fmt.Errorf("%s: %w", s.Key, err)
	}
	return nil
}

// Secret reports whether the value holds a secret, or may, as the address of a database does.
func (s Setting) Secret() bool {
	_, hides := s.value.(hidden)
	return hides || s.Key == "database"
}

// FileEnv is the variable that names a file which holds the value. It is empty for what is no secret, and for the key ring,
// whose file is a setting of its own.
func (s Setting) FileEnv() string {
	if s.Key == "keys.ring" || !s.Secret() {
		return ""
	}
	return s.Env + "_FILE"
}

// WithDefaults fills the empty fields.
func (c Config) WithDefaults() Config {
	for _, s := range c.Settings() {
		if s.Given() || s.Default == "" {
			continue
		}
		if err := s.Set(strings.ReplaceAll(s.Default, "<data>", c.DataDir)); err != nil {
			panic("config: default of " + err.Error())
		}
	}
	return c
}

// DatabaseConfig is where the database lies, and how it is opened.
func (c Config) DatabaseConfig() database.Config {
	return database.Config{Address: c.Database, Synchronous: c.Synchronous, DataDir: c.DataDir}
}

// Folder is the data folder, given or not.
func (c Config) Folder() string { return c.WithDefaults().DataDir }
