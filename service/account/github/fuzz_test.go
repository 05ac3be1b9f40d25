package github_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account/github"
)

func FuzzWebhookSignature(f *testing.F) {
	f.Add(vectorSecret, "sha256="+vectorSum, []byte(vectorBody))
	f.Add("", "sha256=", []byte(nil))
	f.Add("s", "sha1=00", []byte("{}"))
	f.Fuzz(func(t *testing.T, secret, header string, body []byte) {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		right := "sha256=" + hex.EncodeToString(mac.Sum(nil))
		if got, want := github.Verify(secret, header, body), secret != "" && strings.HasPrefix(header, "sha256=") && strings.EqualFold(header, right); got != want {
			t.Errorf("%q holds: %v", header, got)
		}
		if secret != "" && !github.Verify(secret, right, body) {
			t.Error("the right one does not hold")
		}
	})
}

func FuzzWebhookEvent(f *testing.F) {
	f.Add("installation", []byte(`{"action":"created","installation":{"id":1,"app_id":2,"account":{"id":3,"login":"a","type":"User"}},"repositories":[{"id":1,"full_name":"a/b"}],"sender":{"id":4}}`))
	f.Add("installation_repositories", []byte(`{"action":"added","installation":{"id":1},"repositories_added":[],"repositories_removed":[{"id":1,"full_name":"a/b"}]}`))
	f.Add("github_app_authorization", []byte(`{"action":"revoked","sender":{"id":4,"login":"a"}}`))
	f.Add("ping", []byte(`{"zen":"x"}`))
	f.Add("push", []byte(`{"installation":{"id":9223372036854775807}}`))
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		e, err := github.ParseEvent(name, body)
		if err != nil {
			if !fault.Is(err, fault.InvalidJSON) && !fault.Is(err, fault.InvalidRequest) {
				t.Errorf("failed with %v", err)
			}
			return
		}
		if !json.Valid(body) || e.Installation < 0 {
			t.Errorf("%+v of %q", e, body)
		}
		if needs := e.Name == github.EventInstallation || e.Name == github.EventRepositories; needs && (e.Installation == 0 || e.Action == "") {
			t.Errorf("%+v is of nothing", e)
		}
		if e.Name == github.EventAuthorization && e.Sender.ID <= 0 {
			t.Errorf("%+v is nobody's", e)
		}
	})
}

func FuzzInstallationID(f *testing.F) {
	for _, s := range []string{"1", "-1", "1e9", "01", "", "9223372036854775807", "9223372036854775808", "+1", "１"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := github.ParseInstallationID(s)
		if err != nil {
			if n, bad := strconv.ParseInt(s, 10, 64); bad == nil && n > 0 && strconv.FormatInt(n, 10) == s {
				t.Errorf("%q is refused", s)
			}
			return
		}
		if id <= 0 || strconv.FormatInt(id, 10) != s {
			t.Errorf("%q is %d", s, id)
		}
	})
}

func FuzzUserJSON(f *testing.F) {
	for _, s := range []string{
		`{"id":583231,"login":"octocat","name":"Mona","email":null}`, `{"id":"1","login":"a"}`, `{"id":1,"id":2,"login":"a"}`, `{"ID":1,"login":"a"}`,
		`{"id":9223372036854775808,"login":"a"}`, `{"id":1e3,"login":"a"}`, `[]`, `{"id":1,"login":"a"} {}`, `{"id":1,"login":"a","name":"\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		u, err := github.ParseUser(body)
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil || string(members["id"]) != u.Subject() || u.ID <= 0 {
			t.Errorf("%q is %d", body, u.ID)
		}
		var login string
		if json.Unmarshal(members["login"], &login) != nil || login != u.Login || u.Login == "" || strings.ContainsAny(u.Login, " /<>\"'\r\n\x00") {
			t.Errorf("%q is called %q", body, u.Login)
		}
		if strings.ContainsAny(u.Name, "\r\n\x00") {
			t.Errorf("%q is shown as %q", body, u.Name)
		}
	})
}
