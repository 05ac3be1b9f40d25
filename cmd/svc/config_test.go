package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"svc.dev/svc/service/config"
)

// read reads a configuration as svc serve would.
func read(t *testing.T, args []string, env map[string]string) (config.Config, error) {
	t.Helper()
	cmd := &cobra.Command{}
	addSettings(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return readConfig(cmd, func(name string) string { return env[name] })
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagGoesBeforeEnvironmentBeforeFile(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "svc.toml"), "listen = \"file\"\nops_listen = \"file\"\nworkers = 3\n[sqlite]\nsynchronous = \"NORMAL\"\n")
	c, err := read(t,
		[]string{"--listen", "flag", "--config", file},
		map[string]string{"SVC_LISTEN": "environment", "SVC_OPS_LISTEN": "environment", "SVC_STOP_TIMEOUT": ""})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{Listen: "flag", OpsListen: "environment", Workers: 3, Synchronous: "NORMAL"}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v", c)
	}
}

// ring is a key ring.
var ring = `{"active":"k1","keys":{"k1":"` + strings.Repeat("A", 43) + `="}}`

func TestEverySettingIsReadFromEverySource(t *testing.T) {
	text := map[string]string{
		"data_dir": "d", "database": "sqlite:x", "sqlite.synchronous": "NORMAL", "listen": "a:1", "ops_listen": "a:2",
		"listen_tls": "a:3", "tls.cert": "c", "tls.key": "k", "tls.acme": "https://acme.example.com/directory",
		"workers": "5", "stop_timeout": "2m", "log.level": "warn", "log.format": "text", "admin_socket": "s",
		"url.platform": "https://example.com", "url.agents": "https://a.example.com", "url.admin": "https://b.example.com",
		"cookie_domain": "example.com", "trusted_proxies": "10.0.0.0/8,192.0.2.1/32", "keys.file": "k", "keys.ring": ring,
		"setup_token": strings.Repeat("x", 32), "smtp.url": "smtp://mail", "smtp.from": "a@example.com", "auth.strict_register": "true",
		"auth.scrypt": "ln=16,r=8,p=2", "session.idle": "1d", "session.absolute": "2d", "session.reauth": "5m", "session.max": "3",
		"provider.github.url": "https://github.example.com", "provider.github.api_url": "https://github.example.com/api/v3",
		"retention.sessions": "1d", "retention.outbox": "1d", "retention.hold": "1d", "retention.deliveries": "1d", "retention.idempotency": "1d",
		"retention.runs": "2d", "retention.conversations": "keep", "retention.audit": "400d",
		"backup.path": "b", "backup.max_age": "2d",
		"model.anthropic.url": "https://a.example.com", "model.anthropic.key": "key-a", "model.google.url": "https://g.example.com", "model.google.key": "key-g",
		"model.openai.url": "https://o.example.com/v1", "model.openai.key": "key-o", "model.idle_timeout": "30s", "model.allow_private": "127.0.0.1:11434,10.0.0.0/8",
		"mcp.allow_private": "127.0.0.1:9000,10.0.0.0/8",
		"model.default":     "scripted/words", "limits.rate": "5", "limits.burst": "5", "limits.streams": "5", "limits.channel_rate": "5", "limits.wrong_keys": "5",
		"limits.verification": "5", "limits.body": "5MiB", "limits.buffered": "6MiB", "limits.channel_body": "7KiB",
		"project.path": "/shop", "project.env": "STRIPE_KEY,SHOP_URL",
		"agents_dir": "/agents", "files_dir": "f", "limits.upload": "8MiB", "limits.storage": "9GiB", "limits.memory": "10MiB", "limits.input": "11KiB",
		"limits.connections": "12", "limits.connections_per_address": "6",
		"session.admin_idle": "20m", "session.admin_absolute": "6h",
		"runtime.listen": "unix:r", "runtime.url": "unix:r", "runtime.token": strings.Repeat("t", 32), "runtime.token_previous": strings.Repeat("t", 32),
		"runtime.admin_token": strings.Repeat("a", 32), "runtime.admin_token_previous": strings.Repeat("a", 32),
		"runtime.assertion_key": strings.Repeat("A", 43), "runtime.assertion_public": strings.Repeat("A", 43) + "," + strings.Repeat("A", 43),
	}
	for i, s := range new(config.Config).Settings() {
		value, ok := text[s.Key]
		if !ok {
			t.Fatalf("the test has no value for %s", s.Key)
		}
		file := writeFile(t, filepath.Join(t.TempDir(), "svc.toml"), s.Key+" = '"+value+"'\n")
		sources := map[string]func() (config.Config, error){
			"environment": func() (config.Config, error) { return read(t, nil, map[string]string{s.Env: value}) },
			"file":        func() (config.Config, error) { return read(t, []string{"--config", file}, nil) },
			"SVC_CONFIG":  func() (config.Config, error) { return read(t, nil, map[string]string{"SVC_CONFIG": file}) },
		}
		if s.FileEnv() != "" {
			held := writeFile(t, filepath.Join(t.TempDir(), "value"), value+"\n")
			sources["file of the environment"] = func() (config.Config, error) { return read(t, nil, map[string]string{s.FileEnv(): held}) }
		}
		if s.Flag != "" {
			sources["flag"] = func() (config.Config, error) { return read(t, []string{"--" + s.Flag, value}, nil) }
		}
		for source, read := range sources {
			c, err := read()
			if err != nil || !c.Settings()[i].Given() {
				t.Errorf("%s from %s: %v", s.Key, source, err)
			}
		}
	}
}

func TestListIsReadFromTheFile(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "svc.toml"), "trusted_proxies = [\"10.0.0.0/8\", \"192.0.2.1/32\"]\n[auth]\nstrict_register = true\n")
	c, err := read(t, []string{"--config", file}, nil)
	if err != nil || len(c.TrustedProxies) != 2 || c.StrictRegister != "true" {
		t.Errorf("%+v %v", c, err)
	}
}

func TestFileLiesInTheDataFolder(t *testing.T) {
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "svc.toml"), "workers = 3\n")
	c, err := read(t, nil, map[string]string{"SVC_DATA_DIR": folder})
	if err != nil || c.Workers != 3 {
		t.Errorf("%+v %v", c, err)
	}
}

func TestWrongConfigurationIsNamed(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "svc.toml")
	for _, test := range []struct {
		text string
		args []string
		env  map[string]string
		want string
	}{
		{text: "lissen = \"x\"\n", want: file + `: key "lissen" is not known`},
		{text: "[log]\nlevle = \"x\"\n", want: file + `: key "log.levle" is not known`},
		{text: "[nothing]\n", want: file + `: key "nothing" is not known`},
		{text: "listen = \"a\"\nlissen = \"x\"\n", args: []string{"--listen", "b"}, want: `key "lissen" is not known`},
		{text: "workers = \n", want: file + ": "},
		{text: "workers = \"many\"\n", want: file + `: workers: "many" is not a whole number`},
		{text: "database = \"svc.db\"\n", want: file + ": database: the address has no known scheme: write sqlite:PATH"},
		{env: map[string]string{"SVC_WORKERS": "-1"}, want: `environment SVC_WORKERS: workers: "-1"`},
		{args: []string{"--log-level", "loud"}, want: `flag --log-level: log.level: "loud"`},
		{args: []string{"--config", filepath.Join(folder, "missing.toml")}, want: "missing.toml"},
		{text: "trusted_proxies = [\"10.0.0.0/8\", \"x\"]\n", want: file + `: trusted_proxies: "x" is not a network`},
		{text: "setup_token = true_secret_in_no_quotes\n", want: file + ": line 1 is not TOML"},
		{text: "workers = 1\n[smtp]\nurl = false_secret\n", want: file + ": line 3 is not TOML"},
		{text: "setup_token = \"secret\"\n", want: file + ": setup_token: it has 6 bytes"},
		{env: map[string]string{"SVC_SMTP_URL": "smtp://secret", "SVC_SMTP_URL_FILE": file}, want: "environment: both SVC_SMTP_URL and SVC_SMTP_URL_FILE are set"},
		{env: map[string]string{"SVC_SMTP_URL_FILE": filepath.Join(folder, "missing")}, want: "environment SVC_SMTP_URL_FILE: "},
		{text: "\n", env: map[string]string{"SVC_SMTP_URL_FILE": file}, want: "environment SVC_SMTP_URL_FILE: " + file + " is empty"},
		{text: "secret\n", args: []string{"--config", "/dev/null"}, env: map[string]string{"SVC_SETUP_TOKEN_FILE": file}, want: "environment SVC_SETUP_TOKEN_FILE: setup_token: it has 6 bytes"},
		{env: map[string]string{"SVC_KEYS": `{"secret":"secret"}`}, want: "environment SVC_KEYS: keys.ring: key ring is not of the form"},
	} {
		writeFile(t, file, test.text)
		args := append([]string{"--data", folder}, test.args...)
		if _, err := read(t, args, test.env); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q %v %v: %v", test.text, test.args, test.env, err)
		}
	}
}
