package config

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/account"
)

func TestZeroConfigTakesEveryDefault(t *testing.T) {
	got := Config{}.WithDefaults()
	const day = 24 * time.Hour
	want := Config{
		DataDir: ".svc", Database: "sqlite:.svc/svc.db", Synchronous: "FULL", Listen: "127.0.0.1:8080",
		OpsListen: "127.0.0.1:8090", AdminSocket: ".svc/admin.sock", CookieDomain: "svc.localhost", KeysFile: ".svc/keys.json", BackupMaxAge: 25 * time.Hour,
		Scrypt: account.Scrypt{LogN: 15, R: 8, P: 3}, SessionIdle: 7 * day, SessionAbsolute: 30 * day, SessionReauth: 10 * time.Minute,
		SessionAdminIdle: 30 * time.Minute, SessionAdminAbsolute: 12 * time.Hour,
		SessionMax: 50, GitHubURL: "https://github.com", Workers: 1024, StopTimeout: 30 * time.Second,
		RetentionRuns: Kept, RetentionConversations: Kept, RetentionAudit: Kept, RetentionIdempotency: 7 * day, RetentionDeliveries: 30 * day,
		RetentionSessions: 30 * day, RetentionOutbox: 7 * day, RetentionHold: 14 * day, LogLevel: "info",
		RuntimeListen: "127.0.0.1:8081", RuntimeURL: "http://127.0.0.1:8081",
		ModelDefault: "scripted/words", ModelIdleTimeout: 2 * time.Minute, LimitRate: 600, LimitBurst: 100, LimitStreams: 100, LimitChannelRate: 600, LimitWrongKeys: 100, LimitVerification: 10,
		FilesDir: ".svc/root-sandbox", LimitStorage: 10 << 30, LimitUpload: 1 << 30,
		LimitBody: 64 << 20, LimitBuffered: 256 << 20, LimitChannelBody: 1 << 20, LimitInput: 8 << 20,
		LimitConnections: 10_000, LimitConnectionsPerAddress: 512,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if err := got.check(); err != nil {
		t.Errorf("check: %v", err)
	}
}

func TestDatabaseFollowsTheDataFolder(t *testing.T) {
	if got := (Config{DataDir: "/d"}).WithDefaults().Database; got != "sqlite:/d/svc.db" {
		t.Error(got)
	}
}

func TestSettingTakesOnlyWhatItCanMean(t *testing.T) {
	for _, test := range []struct{ key, text, refusal string }{
		{"workers", "7", ""},
		{"workers", "0", `workers: "0" is not a whole number above 0`},
		{"workers", "many", `workers: "many" is not a whole number above 0`},
		{"stop_timeout", "15m", ""},
		{"stop_timeout", "14d", ""},
		{"stop_timeout", "14", "stop_timeout: "},
		{"stop_timeout", "-1s", "stop_timeout: "},
		{"stop_timeout", "999999d", "stop_timeout: "},
		{"sqlite.synchronous", "normal", ""},
		{"sqlite.synchronous", "OFF", `sqlite.synchronous: "OFF" is not one of FULL, NORMAL`},
		{"log.level", "loud", "log.level: "},
		{"log.format", "json", ""},
		{"database", "sqlite:x.db", ""},
		{"database", "postgres://a:secret@b/c", ""},
		{"database", "secret.db", "database: the address has no known scheme: write sqlite:PATH"},
		{"database", "mysql://a:secret@b/c", "database: the address has no known scheme"},
		{"url.platform", "https://example.com", ""},
		{"url.platform", "HTTPS://Example.com:443/", ""},
		{"url.platform", "example.com", "url.platform: it is not an address like https://"},
		{"url.platform", "ftp://example.com", "url.platform: the address must begin with https://"},
		{"url.platform", "https://example.com/path", "url.platform: it is not an address"},
		{"url.platform", "https://a:secret@example.com", "url.platform: it is not an address"},
		{"url.platform", "https://exämple.com", "url.platform: it is not an address"},
		{"cookie_domain", "Example.com", ""},
		{"cookie_domain", "example.com:8080", "cookie_domain: it is not a domain like example.com"},
		{"cookie_domain", "https://example.com", "cookie_domain: it is not a domain"},
		{"trusted_proxies", "10.0.0.0/8, 2001:db8::/32", ""},
		{"trusted_proxies", "10.0.0.1", `trusted_proxies: "10.0.0.1" is not a network like 10.0.0.0/8`},
		{"keys.ring", `{"active":"k1","keys":{"k1":"` + strings.Repeat("A", 43) + `="}}`, ""},
		{"keys.ring", `{"active":"k1","keys":{"k1":"secret"}}`, "keys.ring: key ring: key k1 is not base64"},
		{"keys.ring", `secret`, "keys.ring: key ring is not of the form"},
		{"setup_token", strings.Repeat("x", 32), ""},
		{"setup_token", "secret", "setup_token: it has 6 bytes and needs 32 or more"},
		{"smtp.url", "smtp://a:secret@b", ""},
		{"auth.strict_register", "true", ""},
		{"auth.strict_register", "maybe", `auth.strict_register: "maybe" is not one of true, false`},
		{"auth.scrypt", "ln=16,r=8,p=3", ""},
		{"auth.scrypt", "ln=15,r=8,p=1", `auth.scrypt: "ln=15,r=8,p=1" is weaker than`},
		{"provider.github.api_url", "https://github.example.com/api/v3", ""},
		{"provider.github.api_url", "github.example.com", "provider.github.api_url: it is not an address"},
	} {
		var c Config
		for _, s := range c.Settings() {
			if s.Key != test.key {
				continue
			}
			err := s.Set(test.text)
			if test.refusal == "" && (err != nil || !s.Given()) {
				t.Errorf("%s = %q: %v", test.key, test.text, err)
			}
			if test.refusal != "" && (err == nil || !strings.HasPrefix(err.Error(), test.refusal) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("%s = %q: %v", test.key, test.text, err)
			}
		}
	}
}

func TestAddressIsKeptAsBrowsersNameIt(t *testing.T) {
	for given, want := range map[string]string{
		"HTTPS://Example.com:443/": "https://example.com", "http://a.localhost:80": "http://a.localhost",
		"https://example.com:8443": "https://example.com:8443", "http://[::1]:8080": "http://[::1]:8080",
	} {
		var c Config
		if err := written(&c.PlatformURL, parseOrigin).Set(given); err != nil || c.PlatformURL != want {
			t.Errorf("%s: %s %v", given, c.PlatformURL, err)
		}
	}
}

func TestSecretsOfTheConfigurationDoNotPrint(t *testing.T) {
	c := Config{}
	for _, s := range c.Settings() {
		switch s.Key {
		case "setup_token", "smtp.url":
			if err := s.Set("hunter2-hunter2-hunter2-hunter2-hunter2"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprint(c.Settings())} {
		if strings.Contains(text, "hunter2") {
			t.Error(text)
		}
	}
}

func TestDurationInDays(t *testing.T) {
	var c Config
	if err := duration(&c.StopTimeout).Set("14d"); err != nil || c.StopTimeout != 14*24*time.Hour {
		t.Errorf("%s %v", c.StopTimeout, err)
	}
}

func TestLogIsJSONWhereNobodyReads(t *testing.T) {
	var b bytes.Buffer
	log := NewLog(&b, Config{LogLevel: "warn"})
	log.Info("unheard")
	log.Warn("heard", "error", "x")
	if got := b.String(); !strings.HasPrefix(got, `{"time":"`) || !strings.HasSuffix(got, `"level":"WARN","msg":"heard","error":"x"}`+"\n") {
		t.Error(got)
	}
}
