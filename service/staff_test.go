package service_test

import (
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/service/config"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/servicetest"
)

// staffed is an administrator of a service with the authority of the staff, in a browser of their own.
func staffed(t *testing.T, s *servicetest.Served) func(method, path string) servicetest.Answer {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Transport: servicetest.Client.Transport, Timeout: servicetest.Client.Timeout, Jar: jar}
	send := func(origin, method, path, body string) servicetest.Answer {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", origin)
		return servicetest.Send(t, browser, r)
	}
	_, token, _ := strings.Cut(s.SetupLink, "#t=")
	if got := send(s.Platform, "POST", "/api/setup", `{"token":"`+token+`","email":"root@example.com","password":"a long and quiet sentence","username":"root1"}`); got.Status != 201 {
		t.Fatalf("set-up: %d %s", got.Status, got.Body)
	}
	if got := send(s.Admin, "POST", "/api/auth/elevate", "{}"); got.Status != 204 {
		t.Fatalf("elevate: %d %s", got.Status, got.Body)
	}
	return func(method, path string) servicetest.Answer { t.Helper(); return send(s.Admin, method, path, "") }
}

func TestStaffSeeHowTheServiceDoes(t *testing.T) {
	s := servicetest.Start(t, servicetest.Config(t))
	var got struct {
		Ready    bool
		State    string
		Checks   []struct{ Name string }
		Node     string
		Nodes    []struct{ Node, Part string }
		Queue    *struct{ Waiting, OldestMs int64 }
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
	admin := staffed(t, s)
	if session := admin("GET", "/api/auth/session").Body; !strings.Contains(session, `"staff":{"role":"admin","expiresAt":"`) {
		t.Errorf("the session does not tell of the authority: %s", session)
	}
	health := admin("GET", "/api/admin/health")
	if err := json.Unmarshal([]byte(health.Body), &got); err != nil || health.Status != 200 {
		t.Fatalf("%d %s", health.Status, health.Body)
	}
	if !got.Ready || got.State != "serving" || len(got.Checks) < 4 || got.Build.Go == "" || got.Database.Kind != "sqlite" || got.Database.Bytes == 0 || len(got.Database.Tables) < 5 {
		t.Errorf("%+v", got)
	}
	if len(got.Nodes) != 1 || got.Nodes[0].Node != got.Node || got.Nodes[0].Part != "serve" || got.Queue == nil || got.Queue.Waiting != 0 {
		t.Errorf("%+v, %+v", got.Nodes, got.Queue)
	}
	for _, room := range got.Database.Tables {
		if room.Database == 0 || room.Database != room.Binary {
			t.Errorf("%+v", room)
		}
	}
}

// activeKey is the key that the ring's file says seals.
func activeKey(t *testing.T, c config.Config) string {
	t.Helper()
	ring, err := secret.ReadRing(filepath.Join(c.DataDir, "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	return ring.Active()
}

func TestStaffMoveEverySecretToANewKey(t *testing.T) {
	c := servicetest.Config(t)
	s := servicetest.Start(t, c)
	old := activeKey(t, c)
	admin := staffed(t, s)
	got := admin("POST", "/api/admin/secret-store/rotate")
	var told struct {
		Status, ActiveKid string
		RowsByKid         map[string]int64
	}
	if err := json.Unmarshal([]byte(got.Body), &told); err != nil || got.Status != 202 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if told.Status != "rotated" || told.ActiveKid == old || told.RowsByKid[old] != 0 || told.RowsByKid[told.ActiveKid] == 0 {
		t.Errorf("%s", got.Body)
	}
	if now := activeKey(t, c); now != told.ActiveKid {
		t.Errorf("the file has %s", now)
	}
	for _, action := range []string{"secret_store.rotated", "keys.added", "keys.activated"} {
		log := admin("GET", "/api/admin/audit?action="+action).Body
		if !strings.Contains(log, `"username":"root1"`) || strings.Contains(log, `"operator"`) {
			t.Errorf("%s: %s", action, log)
		}
	}
}
