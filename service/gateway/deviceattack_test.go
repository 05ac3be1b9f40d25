package gateway_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/gateway"
)

var rewriteTable = flag.Bool("table", false, "write testdata/device.md anew")

// pairingScene is a program that shows a code, the person whose program it is, and a stranger.
type pairingScene struct {
	*scene
	askedDevice
	vic, eve somebody
}

// approved is the form of somebody who approves for their own workspace.
func approved(p somebody) []string {
	return []string{"workspace", p.Account.Username + "/personal", "scopes", "runs:read", "days", "30", "decision", "approve"}
}

// types sends a code from an address.
func (s *pairingScene) types(t *testing.T, who somebody, code, from string) reply {
	t.Helper()
	return s.do(t, call{method: "POST", path: "/device", body: url.Values{"user_code": {code}}.Encode(), header: s.formHeader(), cookie: who.cookie, from: from})
}

// sends sends the whole approval of somebody as a page elsewhere would.
func (s *pairingScene) sends(t *testing.T, header http.Header, cookie string) reply {
	t.Helper()
	form := url.Values{"user_code": {s.UserCode}}
	for pairs := approved(s.vic); len(pairs) > 0; pairs = pairs[2:] {
		form.Set(pairs[0], pairs[1])
	}
	return s.do(t, call{method: "POST", path: "/device", body: form.Encode(), header: header, cookie: cookie, from: fresh()})
}

// wrongCode is a code that no program shows, another for every number.
func wrongCode(n int) string {
	const letters = "BCDFGHJKLM"
	return "ZZZZ-ZZ" + letters[n/10%10:][:1] + letters[n%10:][:1]
}

// fetches gets the key.
func (s *pairingScene) fetches(t *testing.T) (k issued) {
	t.Helper()
	s.do(t, s.fetching(s.askedDevice)).wants(t, 200, "").read(t, &k)
	return k
}

// works fails unless a key is known, or no more: one that is known was not made for projects.
func (s *pairingScene) works(t *testing.T, k issued, status int) {
	t.Helper()
	if got := s.do(t, call{on: gateway.Agents, path: "/api/workspaces/" + s.vic.Account.Username + "/personal/projects", header: by(k.Key)}); got.StatusCode != status {
		t.Errorf("the key is answered with %d, want %d", got.StatusCode, status)
	}
}

// gets is what the program is told that looks for its key.
func (s *pairingScene) gets(t *testing.T) string {
	t.Helper()
	var said struct{ Error, Workspace string }
	s.do(t, s.fetching(s.askedDevice)).read(t, &said)
	if said.Workspace != "" {
		return "a key for " + said.Workspace
	}
	return said.Error
}

// deviceAttack is one thing that is tried: the answer to it, and what the program gets that has the code.
type deviceAttack struct {
	kind, tried string
	try         func(t *testing.T, s *pairingScene) reply
	answer      string // its status, and what stands in it or where it leads
	gets        string
}

// row tries it, and is what came of that.
func (a deviceAttack) row(t *testing.T, s *pairingScene) string {
	t.Helper()
	got := a.try(t, s)
	status, text, _ := strings.Cut(a.answer, " ")
	told := fmt.Sprint(got.StatusCode)
	for _, in := range []string{got.Header.Get("Location"), got.body} {
		if strings.Contains(in, text) {
			told += " " + text
			break
		}
	}
	if told != a.answer || !strings.HasPrefix(told, status) {
		t.Errorf("%s: %s is answered with %s, want %s; %s %.600s", a.kind, a.tried, told, a.answer, got.Header.Get("Location"), got.body)
	}
	gets := strings.NewReplacer(s.vic.Account.Username, "vic", s.eve.Account.Username, "eve").Replace(s.gets(t))
	if gets != a.gets {
		t.Errorf("%s: after %s the program gets %s, want %s", a.kind, a.tried, gets, a.gets)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", a.kind, a.tried, strings.ReplaceAll(told, platformURL, ""), gets)
}

// deviceAttacks are what is tried on the device flow: the answer to it, and what the program gets that has the code.
var deviceAttacks = []deviceAttack{
	{"guessing", "a code that no program shows", func(t *testing.T, s *pairingScene) reply {
		return s.types(t, s.eve, wrongCode(0), fresh())
	}, "400 No device shows this code now.", "authorization_pending"},
	{"guessing", "the right code, after five wrong ones of the account", func(t *testing.T, s *pairingScene) reply {
		for i := range 5 {
			s.types(t, s.eve, wrongCode(i), fresh())
		}
		return s.types(t, s.eve, s.UserCode, fresh())
	}, "429 Too many wrong codes.", "authorization_pending"},
	{"guessing", "the right code, after twenty wrong ones of the address by five accounts", func(t *testing.T, s *pairingScene) reply {
		from, guesser := fresh(), s.eve
		for i := range 20 {
			if i%4 == 0 {
				guesser = s.enrol(t, fmt.Sprintf("guesser%d", i))
			}
			s.types(t, guesser, wrongCode(i), from)
		}
		return s.types(t, s.vic, s.UserCode, from)
	}, "429 Too many wrong codes.", "authorization_pending"},
	{"guessing", "the code that the program keeps to itself", func(t *testing.T, s *pairingScene) reply {
		return s.do(t, s.fetching(askedDevice{DeviceCode: "svcd_" + strings.Repeat("A", 43)}))
	}, "400 expired_token", "authorization_pending"},

	{"phishing", "a link with a stranger's code, opened by somebody signed in", func(t *testing.T, s *pairingScene) reply {
		return s.browse(t, "/device?user_code="+s.UserCode, s.vic.cookie)
	}, "200 Type a code only if you started this yourself.", "authorization_pending"},
	{"phishing", "a link that holds the decision too", func(t *testing.T, s *pairingScene) reply {
		return s.browse(t, "/device?decision=approve&scopes=runs:read&days=30&workspace="+s.vic.Account.Username+"/personal&user_code="+s.UserCode, s.vic.cookie)
	}, "200 Connect a device", "authorization_pending"},
	{"phishing", "they type it: the page names the program and its address, and warns", func(t *testing.T, s *pairingScene) reply {
		return s.types(t, s.vic, s.UserCode, fresh())
	}, "200 Whoever sent you here by a link or a message may want your key.", "authorization_pending"},
	{"phishing", "the form, sent by a page of a stranger", func(t *testing.T, s *pairingScene) reply {
		return s.sends(t, http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}, "Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"text/html"}}, s.vic.cookie)
	}, "403 This is not allowed", "authorization_pending"},
	{"phishing", "the form, into a browser that is signed out", func(t *testing.T, s *pairingScene) reply {
		return s.sends(t, s.formHeader(), "")
	}, "303 " + platformURL + "/login", "authorization_pending"},
	{"phishing", "the form, into a session that has proven nothing for eleven minutes", func(t *testing.T, s *pairingScene) reply {
		s.Clock.Pass(11 * time.Minute)
		s.askedDevice = s.asksForKey(t)
		return s.sends(t, s.formHeader(), s.vic.cookie)
	}, "303 " + platformURL + "/account/reauth", "authorization_pending"},
	{"phishing", "a stranger approves the code of your program: it learns whose workspace that is", func(t *testing.T, s *pairingScene) reply {
		return s.answersDevice(t, s.eve, s.askedDevice, approved(s.eve)...)
	}, "303 /device?notice=device_approved", "a key for eve/personal"},
	{"phishing", "your workspace, approved in the session of a stranger", func(t *testing.T, s *pairingScene) reply {
		return s.answersDevice(t, s.eve, s.askedDevice, approved(s.vic)...)
	}, "404 There is no such workspace.", "authorization_pending"},

	{"replay", "the code in another session, when it was approved", func(t *testing.T, s *pairingScene) reply {
		s.answersDevice(t, s.vic, s.askedDevice, approved(s.vic)...)
		return s.answersDevice(t, s.eve, s.askedDevice, approved(s.eve)...)
	}, "400 No device shows this code now.", "a key for vic/personal"},
	{"replay", "the key is fetched again at once", func(t *testing.T, s *pairingScene) reply {
		s.answersDevice(t, s.vic, s.askedDevice, approved(s.vic)...)
		k := s.fetches(t)
		got := s.do(t, s.fetching(s.askedDevice))
		s.works(t, k, 403)
		return got
	}, "400 slow_down", "slow_down"},
	{"replay", "the key is fetched again later: two have the code, and the key ends", func(t *testing.T, s *pairingScene) reply {
		s.answersDevice(t, s.vic, s.askedDevice, approved(s.vic)...)
		k := s.fetches(t)
		s.Clock.Pass(time.Minute)
		got := s.do(t, s.fetching(s.askedDevice))
		s.works(t, k, 401)
		return got
	}, "400 expired_token", "slow_down"},

	{"polling", "twice within five seconds", func(t *testing.T, s *pairingScene) reply {
		s.do(t, s.fetching(s.askedDevice))
		return s.do(t, s.fetching(s.askedDevice))
	}, "400 slow_down", "slow_down"},
	{"polling", "after five more seconds: it is to wait ten now", func(t *testing.T, s *pairingScene) reply {
		s.do(t, s.fetching(s.askedDevice))
		s.do(t, s.fetching(s.askedDevice))
		s.Clock.Pass(5 * time.Second)
		return s.do(t, s.fetching(s.askedDevice))
	}, "400 slow_down", "slow_down"},
	{"polling", "as slowly as it is told", func(t *testing.T, s *pairingScene) reply {
		s.do(t, s.fetching(s.askedDevice))
		s.do(t, s.fetching(s.askedDevice))
		s.Clock.Pass(10 * time.Second)
		return s.do(t, s.fetching(s.askedDevice))
	}, "400 authorization_pending", "slow_down"},
	{"polling", "three hundred times in five minutes from one address, with any code", func(t *testing.T, s *pairingScene) reply {
		c := s.fetching(askedDevice{DeviceCode: "svcd_unknown"})
		for range 300 {
			s.do(t, c)
		}
		return s.do(t, c)
	}, "429 rate_limited", "authorization_pending"},

	{"expiry", "the code is typed after ten minutes", func(t *testing.T, s *pairingScene) reply {
		s.Clock.Pass(10 * time.Minute)
		s.vic = s.enrol(t, s.vic.Account.Username+"-late")
		return s.types(t, s.vic, s.UserCode, fresh())
	}, "400 No device shows this code now.", "expired_token"},
	{"expiry", "approved in time, fetched after ten minutes", func(t *testing.T, s *pairingScene) reply {
		got := s.answersDevice(t, s.vic, s.askedDevice, approved(s.vic)...)
		s.Clock.Pass(10 * time.Minute)
		return got
	}, "303 /device?notice=device_approved", "expired_token"},

	{"denial", "denied", func(t *testing.T, s *pairingScene) reply {
		return s.answersDevice(t, s.vic, s.askedDevice, "decision", "deny")
	}, "303 /device?notice=device_denied", "access_denied"},
	{"denial", "approved by another when it was denied", func(t *testing.T, s *pairingScene) reply {
		s.answersDevice(t, s.vic, s.askedDevice, "decision", "deny")
		return s.answersDevice(t, s.eve, s.askedDevice, approved(s.eve)...)
	}, "400 No device shows this code now.", "access_denied"},
	{"denial", "approved, and the account is suspended before the key is fetched", func(t *testing.T, s *pairingScene) reply {
		got := s.answersDevice(t, s.vic, s.askedDevice, approved(s.vic)...)
		execute(t, s.scene, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", s.vic.Account.ID)
		return got
	}, "303 /device?notice=device_approved", "access_denied"},
}

// TestTheDeviceFlowIsAttacked tries each on both databases, and holds what came of it against the table that people read.
func TestTheDeviceFlowIsAttacked(t *testing.T) {
	sqldbtest.AnySchema(t, func(t *testing.T, address string) {
		at := open(t, address, accounttest.Options{}, trusting)
		table := "# Attacks on the device flow\n\nWritten by `TestTheDeviceFlowIsAttacked`, which tries each of them on both databases. *vic* has the program that shows the code, *eve* is a stranger.\n\n" +
			"| | What is tried | The answer | What the program is told then |\n|---|---|---|---|\n"
		for i, a := range deviceAttacks {
			s := &pairingScene{scene: at, vic: at.enrol(t, fmt.Sprintf("vic%d", i)), eve: at.enrol(t, fmt.Sprintf("eve%d", i)), askedDevice: at.asksForKey(t)}
			table += a.row(t, s)
		}
		t.Logf("\n%s", table)
		file := filepath.Join("testdata", "device.md")
		if *rewriteTable && !t.Failed() {
			if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := os.ReadFile(file); err != nil || string(kept) != table {
			t.Errorf("%s is not what came of it (write it with -table): %v", file, err)
		}
	})
}
