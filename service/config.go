package service

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// Config is what an operator chooses. The zero value runs: an empty field takes the default of its row in Settings.
type Config struct {
	// DataDir is the folder of this node: lock, node id, SQLite database. Defaults to ".svc".
	DataDir string
	// Database is an address, sqlite:PATH or postgres://…. Defaults to "sqlite:<data>/svc.db".
	Database string
	// Synchronous is how SQLite makes a commit durable, FULL or NORMAL. Defaults to "FULL".
	Synchronous string
	// Listen is the public address. Defaults to "127.0.0.1:8080".
	Listen string
	// OpsListen is the address of health, readiness and metrics. Defaults to "127.0.0.1:8090".
	OpsListen string
	// Workers is how many streams are worked on at once. Defaults to 1,024.
	Workers int
	// StopTimeout is how long a graceful stop may take. Defaults to 30 seconds.
	StopTimeout time.Duration
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

// value is a field of Config as text.
type value interface {
	String() string // empty: not given
	Set(text string) error
}

// Settings is the configuration table, each row bound to its field of c.
func (c *Config) Settings() []Setting {
	return []Setting{
		{"data_dir", "SVC_DATA_DIR", "data", ".svc", "", "data folder of this node", (*text)(&c.DataDir)},
		{"database", "SVC_DATABASE_URL", "database", "sqlite:<data>/svc.db", "", "sqlite:PATH or postgres://…", (*address)(&c.Database)},
		{"sqlite.synchronous", "SVC_SQLITE_SYNCHRONOUS", "", "FULL", "", "FULL, or NORMAL, which can lose the last commits with the power", choice{&c.Synchronous, []string{"FULL", "NORMAL"}}},
		{"listen", "SVC_LISTEN", "listen", "127.0.0.1:8080", "", "public address", (*text)(&c.Listen)},
		{"ops_listen", "SVC_OPS_LISTEN", "ops-listen", "127.0.0.1:8090", "", "address of /healthz, /readyz and /metrics", (*text)(&c.OpsListen)},
		{"workers", "SVC_WORKERS", "workers", "1024", "", "streams worked on at once", (*count)(&c.Workers)},
		{"stop_timeout", "SVC_STOP_TIMEOUT", "", "30s", "", "longest graceful stop", (*duration)(&c.StopTimeout)},
		{"log.level", "SVC_LOG_LEVEL", "log-level", "info", "", "debug, info, warn or error", choice{&c.LogLevel, []string{"debug", "info", "warn", "error"}}},
		{"log.format", "SVC_LOG_FORMAT", "log-format", "", "text on a terminal, else json", "text or json", choice{&c.LogFormat, []string{"text", "json"}}},
	}
}

// Given reports whether the field has a value.
func (s Setting) Given() bool { return s.value.String() != "" }

// Set gives the field a value. The error names the key, and never repeats an address.
func (s Setting) Set(text string) error {
	if err := s.value.Set(text); err != nil {
		return fmt.Errorf("%s: %w", s.Key, err)
	}
	return nil
}

// withDefaults fills the empty fields.
func (c Config) withDefaults() Config {
	for _, s := range c.Settings() {
		if s.Given() || s.Default == "" {
			continue
		}
		if err := s.Set(strings.ReplaceAll(s.Default, "<data>", c.DataDir)); err != nil {
			panic("service: default of " + err.Error())
		}
	}
	return c
}

// Folder is the data folder, given or not.
func (c Config) Folder() string { return c.withDefaults().DataDir }

func (c Config) level() slog.Level {
	var level slog.Level
	// An unknown name leaves info: Set has refused it before.
	_ = level.UnmarshalText([]byte(c.LogLevel))
	return level
}

type text string

func (t *text) String() string { return string(*t) }

func (t *text) Set(s string) error {
	*t = text(s)
	return nil
}

// address is where a database lies. What it looks like inside is for the database to judge.
type address string

func (a *address) String() string { return string(*a) }

func (a *address) Set(s string) error {
	if !strings.HasPrefix(s, "sqlite:") && !isPostgres(s) {
		return errors.New("the address has no known scheme: write sqlite:PATH for a file, or postgres://USER@HOST/DATABASE")
	}
	*a = address(s)
	return nil
}

// choice is one of a few words.
type choice struct {
	field *string
	words []string
}

func (c choice) String() string { return *c.field }

func (c choice) Set(s string) error {
	for _, word := range c.words {
		if strings.EqualFold(s, word) {
			*c.field = word
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", s, strings.Join(c.words, ", "))
}

type count int

func (n *count) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.Itoa(int(*n))
}

func (n *count) Set(s string) error {
	v, err := strconv.Atoi(s)
	if err != nil || v < 1 {
		return fmt.Errorf("%q is not a whole number above 0", s)
	}
	*n = count(v)
	return nil
}

// duration is a time span as 30s, 15m or 14d.
type duration time.Duration

func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func (d *duration) Set(s string) error {
	v, err := parseDuration(s)
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a duration above 0, like 30s, 15m or 14d", s)
	}
	*d = duration(v)
	return nil
}

// maxDays keeps a span of days within what a time.Duration can hold.
const maxDays = 106751

func parseDuration(s string) (time.Duration, error) {
	days, found := strings.CutSuffix(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	n, err := strconv.Atoi(days)
	if err == nil && (n < 0 || n > maxDays) {
		err = strconv.ErrRange
	}
	return time.Duration(n) * 24 * time.Hour, err
}
