package service_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// staffed is an administrator of a service with the authority of the staff, in a browser of their own.
func staffed(t *testing.T, s *served) func(method, path string) answer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Transport: client.Transport, Timeout: client.Timeout, Jar: jar}
	send := func(origin, method, path, body string) answer {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", origin)
		got, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		text, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer{got.StatusCode, got.Header, string(text)}
	}
	_, token, _ := strings.Cut(s.SetupLink, "#t=")
	if got := send(s.Platform, "POST", "/api/setup", `{"token":"`+token+`","email":"root@example.com","password":"a long and quiet sentence","username":"root1"}`); got.status != 201 {
		t.Fatalf("set-up: %d %s", got.status, got.body)
	}
	if got := send(s.Admin, "POST", "/api/auth/elevate", "{}"); got.status != 204 {
		t.Fatalf("elevate: %d %s", got.status, got.body)
	}
	return func(method, path string) answer { t.Helper(); return send(s.Admin, method, path, "") }
}

func TestStaffSeeHowTheServiceDoes(t *testing.T) {
	s := start(t, config(t))
	var got struct {
		Ready    bool
		State    string
		Checks   []struct{ Name string }
		Build    struct{ Go string }
		Database struct {
			Kind   string
			Bytes  int64
			Tables []struct {
				Room             string
				Database, Binary int64
			}
		}
	}
	health := staffed(t, s)("GET", "/api/admin/health")
	if err := json.Unmarshal([]byte(health.body), &got); err != nil || health.status != 200 {
		t.Fatalf("%d %s", health.status, health.body)
	}
	if !got.Ready || got.State != "serving" || len(got.Checks) < 4 || got.Build.Go == "" || got.Database.Kind != "sqlite" || got.Database.Bytes == 0 || len(got.Database.Tables) < 5 {
		t.Errorf("%+v", got)
	}
	for _, room := range got.Database.Tables {
		if room.Database == 0 || room.Database != room.Binary {
			t.Errorf("%+v", room)
		}
	}
}

func TestStaffMoveEverySecretToANewKey(t *testing.T) {
	c := config(t)
	s := start(t, c)
	old := readRing(t, ringFile(c)).Active
	admin := staffed(t, s)
	got := admin("POST", "/api/admin/secret-store/rotate")
	var told struct {
		Status, ActiveKid string
		RowsByKid         map[string]int64
	}
	if err := json.Unmarshal([]byte(got.body), &told); err != nil || got.status != 202 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if told.Status != "rotated" || told.ActiveKid == old || told.RowsByKid[old] != 0 || told.RowsByKid[told.ActiveKid] == 0 {
		t.Errorf("%s", got.body)
	}
	if now := readRing(t, ringFile(c)).Active; now != told.ActiveKid {
		t.Errorf("the file has %s", now)
	}
	for _, action := range []string{"secret_store.rotated", "keys.added", "keys.activated"} {
		log := admin("GET", "/api/admin/audit?action="+action).body
		if !strings.Contains(log, `"username":"root1"`) || strings.Contains(log, `"operator"`) {
			t.Errorf("%s: %s", action, log)
		}
	}
}
