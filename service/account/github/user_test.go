package github_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account/github"
	"svc.dev/svc/service/account/githubtest"
)

func TestIDIsAPositiveInteger(t *testing.T) {
	s := start(t)
	token := s.signIn(t, 583231).Access
	for id, want := range map[string]int64{
		"1": 1, "583231": 583231, "9007199254740993": 9007199254740993, "9223372036854775807": 9223372036854775807,
		`"583231"`: 0, "0": 0, "-1": 0, "-0": 0, "1.0": 0, "1.5": 0, "1e9": 0, "1E9": 0, "9223372036854775808": 0, "18446744073709551617": 0,
		"99999999999999999999999999": 0, "null": 0, "true": 0, "[1]": 0, `{"id":1}`: 0, `""`: 0, "01": 0, "+1": 0, "0x1": 0, "NaN": 0,
	} {
		t.Run(id, func(t *testing.T) {
			s.fake.FailOnce("GET /user", githubtest.Raw(200, `{"id":`+id+`,"login":"octocat"}`))
			u, err := s.User(t.Context(), token)
			if want == 0 {
				s.refused(t, err, fault.ProviderUnavailable)
			}
			if u.ID != want {
				t.Errorf("is %d: %v", u.ID, err)
			}
		})
	}
}

func TestPersonHasOneReading(t *testing.T) {
	s := start(t)
	token := s.signIn(t, 583231).Access
	for name, body := range map[string]string{
		"no id":               `{"login":"octocat"}`,
		"other case":          `{"ID":1,"login":"octocat"}`,
		"folded case":         `{"Id":1,"login":"octocat"}`,
		"two ids":             `{"id":1,"id":2,"login":"octocat"}`,
		"two logins":          `{"id":1,"login":"a","login":"b"}`,
		"no login":            `{"id":1}`,
		"null login":          `{"id":1,"login":null}`,
		"empty login":         `{"id":1,"login":""}`,
		"login with a space":  `{"id":1,"login":"a b"}`,
		"login is a path":     `{"id":1,"login":"../a"}`,
		"login is a script":   `{"id":1,"login":"<script>"}`,
		"login of 101":        `{"id":1,"login":"` + strings.Repeat("a", 101) + `"}`,
		"login with NUL":      `{"id":1,"login":"a\u0000"}`,
		"array":               `[{"id":1,"login":"octocat"}]`,
		"two objects":         `{"id":1,"login":"octocat"}{"id":2}`,
		"open":                `{"id":1,"login":"octocat"`,
		"null":                `null`,
		"nothing":             ``,
		"member without name": `{1:2}`,
	} {
		t.Run(name, func(t *testing.T) {
			s.fake.FailOnce("GET /user", githubtest.Raw(200, body))
			_, err := s.User(t.Context(), token)
			s.refused(t, err, fault.ProviderUnavailable)
		})
	}
}

func TestOddNamesAndAddressesOfAPersonAreLeftOut(t *testing.T) {
	s := start(t)
	token := s.signIn(t, 583231).Access
	for body, want := range map[string]string{
		`"name":null,"email":null`:                      `||`,
		`"name":"Mona","email":"m@example.com"`:         `|Mona|m@example.com`,
		`"name":"a\r\nb","email":7`:                     `||`,
		`"name":["x"],"email":{"x":1}`:                  `||`,
		`"name":"` + strings.Repeat("ä", 256) + `"`:     `||`,
		`"name":"\ud800"`:                               `||`,
		`"name":"` + "\u202e" + `evil","email":"a@b.c"`: `||a@b.c`,
	} {
		s.fake.FailOnce("GET /user", githubtest.Raw(200, `{"id":1,"login":"o_acme-",`+body+`}`))
		u, err := s.User(t.Context(), token)
		if got := "|" + u.Name + "|" + u.Email; err != nil || got != want {
			t.Errorf("%s: %s, %v", body, got, err)
		}
	}
}

func TestRenamedPersonIsTheSame(t *testing.T) {
	s := start(t)
	token := s.signIn(t, 583231).Access
	s.fake.SetUser(583231, func(u *githubtest.User) { u.Login = "mona" })
	s.fake.AddUser(githubtest.User{ID: 999, Login: "octocat"})
	old, err := s.User(t.Context(), token)
	if err != nil || old.ID != 583231 || old.Login != "mona" {
		t.Errorf("%+v, %v", old, err)
	}
	other, err := s.User(t.Context(), s.signIn(t, 999).Access)
	if err != nil || other.ID != 999 || other.Login != "octocat" {
		t.Errorf("%+v, %v", other, err)
	}
}

func TestUserFailureIsNamed(t *testing.T) {
	s := start(t)
	token := s.signIn(t, 583231).Access
	for name, c := range failures(s) {
		t.Run(name, func(t *testing.T) {
			s.fake.FailOnce("GET /user", c.fault)
			_, err := s.User(t.Context(), token)
			f := s.refused(t, err, c.want)
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("caused by %v", err)
			}
			if f.RetryAfter < c.least || f.RetryAfter > c.most {
				t.Errorf("asks to wait %v", f.RetryAfter)
			}
		})
	}
}

type failure struct {
	fault       githubtest.Fault
	want        string
	cause       error
	least, most time.Duration
}

// failures are the ways in which any read can fail.
func failures(s scene) map[string]failure {
	later := time.Now().Add(10 * time.Minute)
	return map[string]failure{
		"401":                    {githubtest.Status(401), fault.ProviderUnavailable, github.ErrUnauthorized, 0, 0},
		"403":                    {githubtest.Status(403), fault.ProviderUnavailable, nil, 0, 0},
		"500":                    {githubtest.Status(500), fault.ProviderUnavailable, nil, 0, 0},
		"502":                    {githubtest.Status(502), fault.ProviderUnavailable, nil, 0, 0},
		"304":                    {githubtest.Status(304), fault.ProviderUnavailable, nil, 0, 0},
		"204":                    {githubtest.Raw(204, ""), fault.ProviderUnavailable, nil, 0, 0},
		"HTML":                   {githubtest.HTML(), fault.ProviderUnavailable, nil, 0, 0},
		"oversized":              {githubtest.Oversized(), fault.ProviderUnavailable, nil, 0, 0},
		"truncated":              {githubtest.Truncated(), fault.ProviderUnavailable, nil, 0, 0},
		"redirect":               {githubtest.Redirect(s.fake.URL + "/user"), fault.ProviderUnavailable, nil, 0, 0},
		"429 with retry-after":   {githubtest.Slowed(429, 17), github.RateLimited, nil, 17 * time.Second, 17 * time.Second},
		"403 with retry-after":   {githubtest.Slowed(403, 17), github.RateLimited, nil, 17 * time.Second, 17 * time.Second},
		"429 alone":              {githubtest.Raw(429, `{}`), github.RateLimited, nil, time.Minute, time.Minute},
		"403 by its message":     {githubtest.Raw(403, `{"message":"You have exceeded a secondary rate limit."}`), github.RateLimited, nil, time.Minute, time.Minute},
		"403 spent":              {githubtest.Spent(later), github.RateLimited, nil, 9 * time.Minute, 10 * time.Minute},
		"403 spent long ago":     {githubtest.Spent(time.Unix(1, 0)), github.RateLimited, nil, time.Second, time.Second},
		"403 spent for a year":   {githubtest.Spent(later.AddDate(1, 0, 0)), github.RateLimited, nil, time.Hour, time.Hour},
		"429 for an absurd time": {githubtest.Slowed(429, 2000000000), github.RateLimited, nil, time.Hour, time.Hour},
		"429 for no time":        {githubtest.Slowed(429, -5), github.RateLimited, nil, time.Second, time.Second},
	}
}

func TestEmailsAreRead(t *testing.T) {
	s := start(t)
	emails, err := s.Emails(t.Context(), s.signIn(t, 583231).Access)
	want := "[{583231+octocat@users.noreply.github.com true false} {octocat@example.com true true} {mona@example.net false false}]"
	if got := fmt.Sprint(emails); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	s.fake.SetUser(480938, func(u *githubtest.User) { u.Emails = nil })
	if emails, err := s.Emails(t.Context(), s.signIn(t, 480938).Access); err != nil || emails == nil || len(emails) != 0 {
		t.Errorf("%#v, %v", emails, err)
	}
}

func TestMissingPermissionIsTold(t *testing.T) {
	s := start(t)
	before := s.signIn(t, 583231).Access
	s.fake.SetPermission(s.app.ID, "emails", "")
	after := s.signIn(t, 583231).Access
	_, err := s.Emails(t.Context(), after)
	if s.refused(t, err, fault.ProviderUnavailable); !errors.Is(err, github.ErrPermission) {
		t.Error(err)
	}
	if _, err := s.Emails(t.Context(), before); err != nil {
		t.Error(err)
	}
}

func TestOnlyAMissingPermissionIsOne(t *testing.T) {
	s := start(t)
	token := s.signIn(t, 583231).Access
	told := map[string]githubtest.Fault{
		"403 by its message":    githubtest.Raw(403, `{"message":"Resource not accessible by integration"}`),
		"403 by its header":     githubtest.Missing(403, "emails=read"),
		"404 by its header":     githubtest.Missing(404, "emails=read"),
		"404 by its message":    githubtest.Status(404),
		"403 for another token": githubtest.Raw(403, `{"message":"Resource not accessible by personal access token"}`),
	}
	other := failures(s)
	other["403 suspended"] = failure{fault: githubtest.Raw(403, `{"message":"Sorry. Your account was suspended."}`), want: fault.ProviderUnavailable}
	other["403 in HTML"] = failure{fault: githubtest.Raw(403, `<html>`), want: fault.ProviderUnavailable}
	other["404 in HTML"] = failure{fault: githubtest.Raw(404, `<html>`), want: fault.ProviderUnavailable}
	other["404 of another thing"] = failure{fault: githubtest.Raw(404, `{"message":"No such API"}`), want: fault.ProviderUnavailable}
	other["spent, with the header"] = failure{fault: githubtest.Raw(403, `{"message":"API rate limit exceeded"}`), want: github.RateLimited}
	for name, f := range told {
		s.fake.FailOnce("GET /user/emails", f)
		if _, err := s.Emails(t.Context(), token); !errors.Is(err, github.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range other {
		s.fake.FailOnce("GET /user/emails", c.fault)
		_, err := s.Emails(t.Context(), token)
		if s.refused(t, err, c.want); errors.Is(err, github.ErrPermission) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOddEntriesAreLeftOut(t *testing.T) {
	s := start(t)
	token := s.signIn(t, 583231).Access
	s.fake.FailOnce("GET /user/emails", githubtest.Raw(200, `[null,1,"a@example.com",{},{"email":7,"verified":true},{"email":null},
		{"email":"folded@example.com","Verified":true,"VERIFIED":true},{"email":"text@example.com","verified":"true"},{"email":"one@example.com","verified":1},
		{"email":"twice@example.com","verified":false,"verified":true},{"email":"good@example.com","verified":true,"primary":true}]`))
	emails, err := s.Emails(t.Context(), token)
	want := "[{folded@example.com false false} {text@example.com false false} {one@example.com false false} {good@example.com true true}]"
	if got := fmt.Sprint(emails); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	for _, body := range []string{"null", "{}", `"x"`, "[", ""} {
		s.fake.FailOnce("GET /user/emails", githubtest.Raw(200, body))
		if _, err := s.Emails(t.Context(), token); !fault.Is(err, fault.ProviderUnavailable) || errors.Is(err, github.ErrPermission) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// normalize stands for the account's own rule.
func normalize(address string) (string, error) {
	local, domain, ok := strings.Cut(address, "@")
	if !ok || local == "" || !strings.Contains(domain, ".") || len(address) > 254 || strings.ContainsAny(address, " \r\n＠") || strings.Contains(domain, "@") {
		return "", errUnfit
	}
	return strings.ToLower(address), nil
}

func TestEmailIsChosen(t *testing.T) {
	type e = github.Email
	const hidden = "1+o@users.noreply.github.com"
	for name, c := range map[string]struct {
		emails []github.Email
		public string
		want   string
	}{
		"primary and verified":        {[]e{{"a@x.org", true, false}, {"B@x.org", true, true}}, "", "{b@x.org true true} true"},
		"any verified":                {[]e{{"a@x.org", false, true}, {"b@x.org", true, false}, {"c@x.org", true, false}}, "", "{b@x.org true false} true"},
		"primary hidden":              {[]e{{hidden, true, true}, {"b@x.org", true, false}}, "", "{b@x.org true false} true"},
		"all hidden":                  {[]e{{hidden, true, true}}, "", "{ false false} false"},
		"none verified":               {[]e{{"a@x.org", false, true}}, "", "{ false false} false"},
		"none verified, one public":   {[]e{{"a@x.org", false, true}}, "a@x.org", "{ false false} false"},
		"none at all":                 {[]e{}, "a@x.org", "{ false false} false"},
		"unread, public":              {nil, "A@x.org", "{a@x.org false false} true"},
		"unread, none":                {nil, "", "{ false false} false"},
		"unread, hidden":              {nil, hidden, "{ false false} false"},
		"unread, hidden in capitals":  {nil, "o@USERS.noreply.GitHub.com", "{ false false} false"},
		"unread, hidden on a server":  {nil, "o@users.noreply.git.corp.example", "{ false false} false"},
		"unread, unfit":               {nil, "a＠x.org", "{ false false} false"},
		"wide at sign":                {[]e{{"victim＠x.org", true, true}, {"b@x.org", true, false}}, "", "{b@x.org true false} true"},
		"CRLF":                        {[]e{{"a@x.org\r\nBcc: v@x.org", true, true}, {"b@x.org", true, false}}, "", "{b@x.org true false} true"},
		"300 characters":              {[]e{{strings.Repeat("a", 300) + "@x.org", true, true}, {"b@x.org", true, false}}, "", "{b@x.org true false} true"},
		"two at signs":                {[]e{{"a@b@x.org", true, true}, {"b@x.org", true, false}}, "", "{b@x.org true false} true"},
		"empty":                       {[]e{{"", true, true}, {"b@x.org", true, false}}, "", "{b@x.org true false} true"},
		"hidden only in its own part": {[]e{{"users.noreply.github.com@x.org", true, true}}, "", "{users.noreply.github.com@x.org true true} true"},
	} {
		chosen, ok := github.ChooseEmail(c.emails, c.public, normalize)
		if got := fmt.Sprint(chosen, " ", ok); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
