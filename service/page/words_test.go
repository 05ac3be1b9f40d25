package page_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"svc.dev/svc/service/page"
)

func TestTokenIsFoundInALink(t *testing.T) {
	for pasted, want := range map[string]string{
		"abc":                             "abc",
		"  abc \n":                        "abc",
		"https://svc.example/reset#t=a-_": "a-_",
		"":                                "",
	} {
		if got := page.TokenOf(pasted); got != want {
			t.Errorf("%q holds %q, not %q", pasted, got, want)
		}
	}
}

func TestUnknownNoticeSaysNothing(t *testing.T) {
	bare := render(t, page.SignIn{})
	if told := render(t, page.SignIn{Form: page.Form{Notice: "your account is locked, call 555"}}); told != bare {
		t.Error("an address put words on the page")
	}
	if told := render(t, page.SignIn{Form: page.Form{Notice: page.NoticeAccessDenied}}); !strings.Contains(told, "GitHub sign-in was cancelled.") {
		t.Error("a known notice is not said")
	}
}

func TestWarningIsSaidOnce(t *testing.T) {
	warned := at(fresh, func(d *page.Desk) { d.Notice = page.NoticePermissionMissing })
	text := render(t, page.Profile{Desk: warned})
	if n := strings.Count(text, "lacks the Email addresses (read) account permission"); n != 1 {
		t.Errorf("the warning stands there %d times", n)
	}
	unknown := at(adas, func(d *page.Desk) { d.Person.Warnings = []page.Warning{{Type: "other", Message: "Something else."}} })
	if !strings.Contains(render(t, page.Profile{Desk: unknown}), "Something else.") {
		t.Error("a warning of another type is lost")
	}
}

func TestWaitIsSaidInWords(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		300 * time.Millisecond: "Try again in 1 second.",
		42 * time.Second:       "Try again in 42 seconds.",
		15 * time.Minute:       "Try again in 15 minutes.",
		90 * time.Minute:       "Try again in 1 hour.",
		72 * time.Hour:         "Try again in 3 days.",
	} {
		if text := render(t, page.Failure{Status: 429, RetryAfter: wait}); !strings.Contains(text, want) {
			t.Errorf("%s is not %q", wait, want)
		}
	}
}

func TestDeviceIsNamedAsFarAsItTells(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36 Edg/140.0": "Edge on Windows",
		"Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Mobile Safari/537.36":              "Chrome on Android",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15": "Safari on macOS",
		"curl/8.9":      "curl",
		"svc-cli Linux": "A program on Linux",
		"<b>":           "Unknown device",
	} {
		text := render(t, page.Sessions{Desk: adas, Items: []page.Session{{ID: "ses_1", UserAgent: agent}}})
		if !strings.Contains(text, "<b>"+want+"</b>") {
			t.Errorf("%q is not called %q", agent, want)
		}
	}
}

func TestStalePersonIsAskedBeforeTyping(t *testing.T) {
	for _, view := range []page.View{page.Profile{Desk: stale}, page.Keys{Desk: stale}, page.Danger{Desk: stale}, page.Providers{Desk: stale}, page.Security{Desk: stale}} {
		doc := parse(t, render(t, view))
		var led string
		for n := range elements(doc) {
			if n.Data == "a" && content(n) == "Confirm it is you" {
				led = attr(n, "href")
			}
		}
		if !strings.Contains(led, "returnTo=") {
			t.Errorf("%T leads to %q", view, led)
		}
		for _, name := range []string{"email", "scopes", "confirm", "owner", "newPassword"} {
			if named(doc, name) != nil {
				t.Errorf("%T asks for %s, which would be lost", view, name)
			}
		}
	}
}

func TestKeyEndsWhereItWasChosen(t *testing.T) {
	options := func(chosen string) (ends []string, selected string) {
		for n := range elements(parse(t, render(t, page.Keys{Desk: adas, ExpiresAt: chosen}))) {
			if n.Data != "option" || !strings.HasPrefix(attr(n, "value"), "20") {
				continue
			}
			ends = append(ends, attr(n, "value"))
			if has(n, "selected") {
				selected += attr(n, "value")
			}
		}
		return ends, selected
	}
	ends, selected := options("")
	if !slices.Contains(ends, "2025-11-21T12:00:00Z") || selected != "2026-02-12T12:00:00Z" {
		t.Errorf("%v, chosen %s", ends, selected)
	}
	if last, _ := time.Parse(time.RFC3339, ends[len(ends)-1]); last.Sub(noon) > 366*24*time.Hour {
		t.Errorf("%s is further than a key may reach", last)
	}
	if _, selected := options("2025-12-14T11:58:30Z"); selected != "2025-12-14T12:00:00Z" {
		t.Errorf("a choice of 30 days came back as %s", selected)
	}
}

func TestApprovalAsksTheChosenOwner(t *testing.T) {
	app := &page.App{Name: "svc", Slug: "svc", Owner: "ada-m"}
	for want, view := range map[string]page.Providers{
		"https://svc.example/api/auth/oauth/github/manifest":                         {Desk: adas, Kind: page.OwnerMe, Owner: "left over"},
		"https://svc.example/api/auth/oauth/github/manifest?owner=acme":              {Desk: adas, Kind: page.OwnerOrganization, Owner: "acme"},
		"https://svc.example/api/auth/oauth/github/manifest?owner=acme&replace=true": {Desk: adas, Kind: page.OwnerOrganization, Owner: "acme", Replace: true, App: app},
		"https://svc.example/api/auth/oauth/github/manifest?owner=..%2F%22":          {Desk: adas, Kind: page.OwnerOrganization, Owner: `../"`},
	} {
		if led := linked(parse(t, render(t, view)), "Approve on github.com"); led != want {
			t.Errorf("%+v leads to %q", view.Kind, led)
		}
	}
}

func TestTestOfSignInStaysInTheAccount(t *testing.T) {
	app := &page.App{Name: "svc", Slug: "svc-slug", Owner: "acme", Organization: true, Missing: []string{"emails:read"}}
	for linkedBefore, intent := range map[bool]string{false: "link", true: "reauth"} {
		doc := parse(t, render(t, page.Providers{Desk: adas, App: app, Linked: linkedBefore, Web: "https://ghe.example/"}))
		u, _ := url.Parse(linked(doc, "Test sign-in"))
		if u.Query().Get("intent") != intent || u.Query().Get("returnTo") != "https://admin.svc.example/settings/providers" {
			t.Errorf("the test leads to %s", u)
		}
		if led := linked(doc, "the app’s permissions"); led != "https://ghe.example/organizations/acme/settings/apps/svc-slug/permissions" {
			t.Errorf("permissions are at %s", led)
		}
	}
}

func TestReturnToIsOneValueOfTheQuery(t *testing.T) {
	doc := parse(t, render(t, page.SignIn{GitHub: ready, Form: page.Form{ReturnTo: "/w/ada/personal?a=1&intent=link#x"}}))
	u, err := url.Parse(linked(doc, "Continue with GitHub"))
	if err != nil || u.Query().Get("returnTo") != "/w/ada/personal?a=1&intent=link#x" || u.Query().Has("intent") {
		t.Errorf("sign-in leads to %s, %v", u, err)
	}
}

func TestUnconfiguredProviderCannotBePressed(t *testing.T) {
	text := render(t, page.SignIn{})
	if strings.Contains(text, "/api/auth/oauth") || !strings.Contains(text, "GitHub sign-in is not set up on this server.") || strings.Contains(text, "Set it up") {
		t.Error("an unconfigured provider is offered, or not explained")
	}
}

// linked is where the link with those words leads.
func linked(doc *html.Node, words string) string {
	for n := range elements(doc) {
		if n.Data == "a" && content(n) == words {
			return attr(n, "href")
		}
	}
	return ""
}
