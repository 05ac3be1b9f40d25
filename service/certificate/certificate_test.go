package certificate_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/service/certificate"
	"svc.dev/svc/service/certificate/certificatetest"
)

func TestFilesThatBrowsersWouldRefuseAreRefused(t *testing.T) {
	authority, tomorrow := certificatetest.New(t), time.Now().Add(24*time.Hour)
	hosts := []string{"example.com", "agents.example.com"}
	for name, c := range map[string]struct {
		until  time.Time
		names  []string
		change func(t *testing.T, cert, key string)
		want   string
	}{
		"all is well":      {until: tomorrow, names: hosts},
		"by a wildcard":    {until: tomorrow, names: []string{"example.com", "*.example.com"}},
		"for another host": {until: tomorrow, names: hosts[:1], want: "tls.cert: it is not for agents.example.com: get one"},
		"too old":          {until: time.Now().Add(-24 * time.Hour), names: hosts, want: "tls.cert: it ended on 2"},
		"no key": {until: tomorrow, names: hosts, want: "tls.cert, tls.key: ", change: func(t *testing.T, _, key string) {
			if err := os.Remove(key); err != nil {
				t.Fatal(err)
			}
		}},
		"another's key": {until: tomorrow, names: hosts, want: "tls.cert, tls.key: ", change: func(t *testing.T, _, key string) {
			_, other := authority.Write(t, t.TempDir(), tomorrow, hosts...)
			if err := os.Rename(other, key); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cert, key := authority.Write(t, t.TempDir(), c.until, c.names...)
			if c.change != nil {
				c.change(t, cert, key)
			}
			_, err := certificate.Open(certificate.Config{Cert: cert, Key: key, Hosts: hosts})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestRenewedFilesAreTakenUpByThemselves(t *testing.T) {
	authority, folder, now := certificatetest.New(t), t.TempDir(), time.Now()
	write := func(at, until time.Time, host string) (cert, key string) {
		cert, key = authority.Write(t, folder, until, host)
		for _, path := range []string{cert, key} {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		return cert, key
	}
	tomorrow := now.Add(24 * time.Hour)
	cert, key := write(now, tomorrow, "example.com")
	serial := certificate.Watch(cert, key, "example.com")
	first, err := serial(now)
	if err != nil {
		t.Fatal(err)
	}
	write(now.Add(time.Second), tomorrow, "example.com")
	if got, err := serial(now.Add(certificate.LookAgain / 2)); err != nil || got != first {
		t.Errorf("too early: %s, %v", got, err)
	}
	second, err := serial(now.Add(certificate.LookAgain))
	if err != nil || second == first {
		t.Errorf("not renewed: %s, %v", second, err)
	}
	later := now.Add(certificate.LookAgain)
	stays := func(what string) {
		t.Helper()
		later = later.Add(certificate.LookAgain)
		if got, err := serial(later); err == nil || got != second {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
	if err := os.WriteFile(cert, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	stays("what is no certificate")
	write(now.Add(2*time.Second), tomorrow, "example.org")
	stays("one for another host")
	write(now.Add(3*time.Second), now.Add(-time.Hour), "example.com")
	stays("one that has ended")
	stays("the same once more")
	write(now.Add(4*time.Second), tomorrow, "example.com")
	if got, err := serial(later.Add(certificate.LookAgain)); err != nil || got == second {
		t.Errorf("not renewed after all: %s, %v", got, err)
	}
}
