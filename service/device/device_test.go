package device_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/device"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/workspace"
)

func TestAKeyIsAskedForApprovedAndFetched(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a := s.ask(t)
		s.tells(t, a, device.Pending)
		shown, err := s.Devices.Look(accounttest.From(t), s.bob.Who, strings.ToLower(strings.ReplaceAll(a.UserCode, "-", " ")))
		if err != nil || shown.UserCode != a.UserCode || shown.Client != "laptop" || shown.IP != "192.0.2.9" || shown.ExpiresAt.Sub(shown.AskedAt) != 10*time.Minute {
			t.Errorf("shown: %+v, %v", shown, err)
		}
		approval := device.Approval{UserCode: a.UserCode, Scopes: []string{"runs:read", "agents:write", "runs:read"}, Life: 90 * day}
		s.approve(t, approval)
		until := s.Clock.Now().Add(90 * day)
		g, _ := s.fetch(t, a)
		if g.Kind != apikey.Device || g.Name != "laptop" || g.Creator != s.bob.Account.ID || g.Scope != s.acme.Scope || !g.ExpiresAt.Equal(until) || !slices.Equal(g.Scopes, []string{"agents:write", "runs:read"}) {
			t.Errorf("given: %+v", g)
		}
		b, err := s.Bearer(t.Context(), g.Value)
		if err != nil || b.Key.ID != g.ID || b.Account.ID != s.bob.Account.ID || b.Member.Role != workspace.Builder {
			t.Errorf("bearer: %+v, %v", b, err)
		}
		if told := s.told(t, s.acme.Scope); !slices.Equal(told[len(told)-2:], []string{"device.approved", "key.created"}) {
			t.Errorf("told: %v", told)
		}
	})
}

func TestAProgramNeedsNoName(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a, err := s.Devices.Ask(accounttest.From(t), "  ")
		accounttest.Check(t, err)
		s.approve(t, runs(a))
		if g, _ := s.fetch(t, a); g.Name != "Unnamed program" {
			t.Errorf("given: %+v", g.Key)
		}
		for client, problem := range map[string]string{strings.Repeat("n", 65): strictjson.TooLong, "a\nb": strictjson.Invalid, "a\u2028b": strictjson.Invalid, "\xff": strictjson.Invalid} {
			if got := strictjson.FieldsOf(fault.From(accounttest.ErrOf(s.Devices.Ask(accounttest.From(t), client)))); len(got) != 1 || got[0] != (strictjson.Field{Field: "client", Type: problem}) {
				t.Errorf("%q: %v", client, got)
			}
		}
	})
}

// TestNoCodeCanBeReadFromTheDatabase holds the one that people type to more than a hash, for all of them can be tried.
func TestNoCodeCanBeReadFromTheDatabase(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a := s.ask(t)
		s.approve(t, runs(a))
		g, _ := s.fetch(t, a)
		stolen := s.Dump(t)
		plain := strings.ReplaceAll(a.UserCode, "-", "")
		for _, code := range []string{a.Code, strings.TrimPrefix(a.Code, device.Prefix), a.UserCode, plain, secret.Fingerprint(a.UserCode), secret.Fingerprint(plain), g.Value, g.Value[18:]} {
			if strings.Contains(stolen, code) {
				t.Errorf("the database holds %s", code)
			}
		}
		if !strings.Contains(stolen, secret.Fingerprint(a.Code)) {
			t.Error("the pairing was not looked at")
		}
	})
}

// TestAProgramIsToldHowThingsStand leads a pairing to each of its ends.
func TestAProgramIsToldHowThingsStand(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(t *testing.T, s *scene, a device.Asked) string // and the code to come with
		want device.Verdict
	}{
		"nobody has answered": {func(_ *testing.T, _ *scene, a device.Asked) string { return a.Code }, device.Pending},
		"denied": {func(t *testing.T, s *scene, a device.Asked) string {
			accounttest.Check(t, s.Devices.Deny(accounttest.From(t), s.bob.Who, a.UserCode))
			return a.Code
		}, device.Denied},
		"a moment before its end": {func(_ *testing.T, s *scene, a device.Asked) string {
			s.Clock.Pass(device.Life - device.Pause - time.Millisecond)
			return a.Code
		}, device.Pending},
		"expired": {func(_ *testing.T, s *scene, a device.Asked) string {
			s.Clock.Pass(device.Life - device.Pause)
			return a.Code
		}, device.Expired},
		"approved and expired": {func(t *testing.T, s *scene, a device.Asked) string {
			s.approve(t, runs(a))
			s.Clock.Pass(device.Life - device.Pause)
			return a.Code
		}, device.Expired},
		"expired and swept": {func(t *testing.T, s *scene, a device.Asked) string {
			s.Clock.Pass(device.Life)
			if n, err := s.Devices.Sweep(t.Context()); n != 1 || err != nil {
				t.Errorf("swept %d, %v", n, err)
			}
			return a.Code
		}, device.Expired},
		"unknown":             {func(*testing.T, *scene, device.Asked) string { return device.Prefix + secret.Random() }, device.Expired},
		"no code":             {func(*testing.T, *scene, device.Asked) string { return "" }, device.Expired},
		"the code of people":  {func(_ *testing.T, _ *scene, a device.Asked) string { return a.UserCode }, device.Expired},
		"without its prefix":  {func(_ *testing.T, _ *scene, a device.Asked) string { return a.Code[5:] }, device.Expired},
		"in another case":     {func(_ *testing.T, _ *scene, a device.Asked) string { return strings.ToUpper(a.Code) }, device.Expired},
		"what the row has":    {func(_ *testing.T, _ *scene, a device.Asked) string { return secret.Fingerprint(a.Code) }, device.Expired},
		"with more behind it": {func(_ *testing.T, _ *scene, a device.Asked) string { return a.Code + "\x00" }, device.Expired},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *scene) {
				a := s.ask(t)
				a.Code = c.do(t, s, a)
				s.tells(t, a, c.want)
				if n := s.Count(t, "SELECT count(*) FROM api_keys"); n != 0 {
					t.Errorf("there are %d keys", n)
				}
			})
		})
	}
}

// TestWhoAsksTooOftenIsToldToSlowDown and from then on waits longer, each time.
func TestWhoAsksTooOftenIsToldToSlowDown(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a := s.ask(t)
		for i, step := range []struct {
			after time.Duration
			want  device.Verdict
		}{
			{0, device.Pending}, // the first may come at once
			{5 * time.Second, device.Pending},
			{4 * time.Second, device.Pending}, // a network makes one faster than the next
			{3 * time.Second, device.SlowDown},
			{5 * time.Second, device.SlowDown}, // it was told to wait ten
			{14 * time.Second, device.Pending},
			{10 * time.Second, device.SlowDown},
			{20 * time.Second, device.Pending},
		} {
			s.Clock.Pass(step.after)
			if _, v, err := s.Devices.Fetch(t.Context(), a.Code); v != step.want || err != nil {
				t.Fatalf("step %d: %q, %v, want %q", i, v, err, step.want)
			}
		}
		s.approve(t, runs(a))
		s.Clock.Pass(time.Second)
		if _, v, _ := s.Devices.Fetch(t.Context(), a.Code); v != device.SlowDown {
			t.Errorf("an approval is no reason to hurry: %q", v)
		}
		s.Clock.Pass(time.Minute)
		s.tells(t, a, "")
	})
}

func TestWhatIsApprovedIsCheckedBefore(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		a := s.ask(t)
		for name, c := range map[string]struct {
			edit  func(*device.Approval)
			field string
		}{
			"no scope":             {func(a *device.Approval) { a.Scopes = nil }, "scopes"},
			"a scope that is none": {func(a *device.Approval) { a.Scopes = []string{"runs:read", "keys:write"} }, "scopes"},
			"no time":              {func(a *device.Approval) { a.Life = 0 }, "days"},
			"a time before now":    {func(a *device.Approval) { a.Life = -day }, "days"},
			"more than 90 days":    {func(a *device.Approval) { a.Life = 90*day + time.Millisecond }, "days"},
			"no code":              {func(a *device.Approval) { a.UserCode = "" }, "user_code"},
			"a code that is none":  {func(a *device.Approval) { a.UserCode = "AEIO-UAEI" }, "user_code"},
		} {
			wanted := runs(a)
			c.edit(&wanted)
			got := strictjson.FieldsOf(fault.From(s.Devices.Approve(accounttest.From(t), s.bob.Who, s.acme, wanted)))
			if len(got) != 1 || got[0].Field != c.field {
				t.Errorf("%s: %v", name, got)
			}
		}
		s.Clock.Pass(5 * time.Minute)
		s.tells(t, a, device.Pending)
	})
}

// TestAnApprovalIsWithinTheRole gives every scope in every role: exactly what the role allows is given.
func TestAnApprovalIsWithinTheRole(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		tried := 0
		for _, role := range append(workspace.Roles(), "superuser") {
			s.seat(t, role)
			for _, scope := range apikey.Scopes {
				tried++
				a := s.ask(t)
				err := s.Devices.Approve(accounttest.From(t), s.bob.Who, s.acme, device.Approval{UserCode: a.UserCode, Scopes: []string{scope}, Life: day})
				want := workspace.RoleAllowsKeyScope(role, scope)
				if (err == nil) != want || !want && !fault.Is(err, fault.Forbidden) {
					t.Errorf("%s as %s: %v", scope, role, err)
				}
				if _, v := s.fetch(t, a); (v == "") != want {
					t.Errorf("%s as %s: %q", scope, role, v)
				}
			}
		}
		t.Logf("%d rows", tried)
	})
}

// TestAnAnswerNeedsItsPerson lets those decide who may not: the pairing goes on waiting.
func TestAnAnswerNeedsItsPerson(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(t *testing.T, s *scene)
		want string
	}{
		"a proof that is old": {func(_ *testing.T, s *scene) { s.Clock.Pass(10*time.Minute + time.Millisecond) }, account.ReauthRequired},
		"a session that ended": {func(t *testing.T, s *scene) {
			accounttest.Check(t, s.Sessions.Logout(t.Context(), s.bob.Token))
		}, account.Unauthenticated},
		"somebody suspended": {func(t *testing.T, s *scene) {
			s.Execute(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", s.bob.Account.ID)
		}, account.Unauthenticated},
		"a stranger": {func(t *testing.T, s *scene) {
			s.Execute(t, "DELETE FROM members WHERE account = $1 AND workspace = $2", s.bob.Account.ID, s.acme.ID)
		}, fault.WorkspaceNotFound},
		"a workspace that is suspended": {func(t *testing.T, s *scene) {
			s.Execute(t, "UPDATE workspaces SET suspended_at = 1 WHERE id = $1", s.acme.ID)
		}, fault.WorkspaceSuspended},
		"a workspace that is deleted": {func(t *testing.T, s *scene) {
			s.Execute(t, "UPDATE workspaces SET deleted_at = 1 WHERE id = $1", s.acme.ID)
		}, fault.WorkspaceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *scene) {
				c.lose(t, s)
				a := s.ask(t)
				accounttest.Is(t, s.Devices.Approve(accounttest.From(t), s.bob.Who, s.acme, runs(a)), c.want)
				if c.want != fault.WorkspaceNotFound && c.want != fault.WorkspaceSuspended {
					accounttest.Is(t, s.Devices.Deny(accounttest.From(t), s.bob.Who, a.UserCode), c.want)
				}
				s.tells(t, a, device.Pending)
			})
		})
	}
}

func TestPairingsThatAreOverAreSwept(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		given, denied := s.ask(t), s.ask(t)
		s.ask(t)
		s.approve(t, runs(given))
		s.tells(t, given, "")
		accounttest.Check(t, s.Devices.Deny(accounttest.From(t), s.bob.Who, denied.UserCode))
		s.Clock.Pass(device.Life / 2)
		young := s.ask(t)
		s.Clock.Pass(device.Life / 2)
		for _, want := range []int64{3, 0} {
			if n, err := s.Devices.Sweep(t.Context()); n != want || err != nil {
				t.Errorf("swept %d, %v, want %d", n, err, want)
			}
		}
		s.tells(t, young, device.Pending)
		if n := s.Count(t, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"); n != 1 {
			t.Errorf("%d keys are left", n)
		}
	})
}

var shape = regexp.MustCompile(`^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$`)

func TestACodeIsTypedAsPeopleType(t *testing.T) {
	for typed, want := range map[string]string{
		"WDJB-MJHT": "WDJB-MJHT", "wdjb-mjht": "WDJB-MJHT", "WDJBMJHT": "WDJB-MJHT", " wd jb - mj ht ": "WDJB-MJHT", "W-D-J-B-M-J-H-T": "WDJB-MJHT",
		"": "", "WDJB": "", "WDJB-MJHTB": "", "WDJB-MJHA": "", "WDJB-MJHY": "", "WDJB-MJH0": "", "WDJB_MJHT": "", "WDJB\tMJHT": "", "WDJB\u2010MJHT": "",
		"\u212ADJB-MJHT": "", "WDJB-MJH\u017f": "", "\uff37DJB-MJHT": "", "WDJB-MJHT\x00": "", "WDJB-MJH\xff": "",
	} {
		if got, ok := device.Normal(typed); got != want || ok != (want != "") {
			t.Errorf("%q is %q, %t", typed, got, ok)
		}
	}
}

func FuzzUserCode(f *testing.F) {
	f.Add("WDJB-MJHT")
	f.Add("wd jb mj ht")
	f.Add("\u212A")
	f.Fuzz(func(t *testing.T, typed string) {
		code, ok := device.Normal(typed)
		if ok != shape.MatchString(code) {
			t.Fatalf("%q is %q, %t", typed, code, ok)
		}
		if again, same := device.Normal(code); ok && (again != code || !same) {
			t.Fatalf("%q becomes %q", code, again)
		}
	})
}

// TestCodesAreEven draws many letters: each comes about as often as any other.
func TestCodesAreEven(t *testing.T) {
	count := map[rune]int{}
	const codes = 5000
	for range codes {
		code := device.NewUserCode()
		if !shape.MatchString(code) {
			t.Fatalf("code %q", code)
		}
		for _, c := range strings.ReplaceAll(code, "-", "") {
			count[c]++
		}
	}
	if len(count) != 20 {
		t.Errorf("%d letters", len(count))
	}
	for c, n := range count {
		if mean := codes * 8 / 20; n < mean*8/10 || n > mean*12/10 { // nine deviations
			t.Errorf("%c came %d times, about %d would be even", c, n, mean)
		}
	}
}
