package service

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestZeroConfigTakesEveryDefault(t *testing.T) {
	got := Config{}.withDefaults()
	want := Config{
		DataDir: ".svc", Database: "sqlite:.svc/svc.db", Synchronous: "FULL", Listen: "127.0.0.1:8080",
		OpsListen: "127.0.0.1:8090", Workers: 1024, StopTimeout: 30 * time.Second, LogLevel: "info",
	}
	if got != want {
		t.Errorf("%+v", got)
	}
}

func TestDatabaseFollowsTheDataFolder(t *testing.T) {
	if got := (Config{DataDir: "/d"}).withDefaults().Database; got != "sqlite:/d/svc.db" {
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

func TestDurationInDays(t *testing.T) {
	var c Config
	if err := (*duration)(&c.StopTimeout).Set("14d"); err != nil || c.StopTimeout != 14*24*time.Hour {
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
