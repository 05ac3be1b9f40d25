package page_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"svc.dev/svc/service/page"
)

func TestEveryInputHasALabel(t *testing.T) {
	each(t, func(t *testing.T, _ page.View, _ string, doc *html.Node) {
		labelled := map[string]bool{}
		for n := range elements(doc) {
			if n.Data == "label" && content(n) != "" {
				labelled[attr(n, "for")] = true
			}
		}
		for n := range elements(doc) {
			if n.Data == "input" && attr(n, "type") == "hidden" {
				continue
			}
			if (n.Data == "input" || n.Data == "select" || n.Data == "textarea") && !labelled[attr(n, "id")] {
				t.Errorf("<%s name=%q> has no label", n.Data, attr(n, "name"))
			}
		}
	})
}

func TestIDsAreUniqueAndFound(t *testing.T) {
	each(t, func(t *testing.T, _ page.View, _ string, doc *html.Node) {
		ids := map[string]bool{}
		for n := range elements(doc) {
			id := attr(n, "id")
			if id != "" && ids[id] {
				t.Errorf("id %q occurs twice", id)
			}
			ids[id] = true
		}
		for n := range elements(doc) {
			for _, key := range []string{"for", "aria-describedby", "aria-labelledby"} {
				for id := range strings.FieldsSeq(attr(n, key)) {
					if !ids[id] {
						t.Errorf("<%s %s=%q> names nothing", n.Data, key, id)
					}
				}
			}
			if id, ok := strings.CutPrefix(attr(n, "href"), "#"); ok && !ids[id] {
				t.Errorf("a link leads to %q, which is not on the page", id)
			}
		}
	})
}

func TestPageHasItsLandmarks(t *testing.T) {
	each(t, func(t *testing.T, view page.View, _ string, doc *html.Node) {
		count := map[string]int{}
		first := ""
		for n := range elements(doc) {
			count[n.Data]++
			if first == "" && n.Data == "a" {
				first = attr(n, "href")
			}
			if n.Data == "html" && attr(n, "lang") != "en" {
				t.Error("the page does not say its language")
			}
			if (n.Data == "button" || n.Data == "a" || n.Data == "summary" || n.Data == "h1" || n.Data == "h2") && content(n) == "" {
				t.Errorf("<%s> has no words", n.Data)
			}
		}
		if count["main"] != 1 || count["h1"] != 1 || count["title"] != 1 {
			t.Errorf("the page has %d main, %d h1, %d title", count["main"], count["h1"], count["title"])
		}
		if _, bare := view.(page.ManifestPost); !bare && (first != "#main" || count["header"] != 1) {
			t.Errorf("the first link leads to %q", first)
		}
	})
}

func TestTitleNamesThePageThenTheBrand(t *testing.T) {
	for want, view := range map[string]page.View{
		"Sign in · svc":                page.SignIn{},
		"API keys · svc":               page.Keys{},
		"Not here, or not yours · svc": page.Failure{Status: 404},
		"Sign-in providers · Admin":    page.Providers{},
		"Confirm it is you · Admin":    page.Reauth{Elevate: true},
	} {
		for n := range elements(parse(t, render(t, view))) {
			if n.Data == "title" && content(n) != want {
				t.Errorf("title is %q, not %q", content(n), want)
			}
		}
	}
}

func TestRefusedFieldIsExplainedAndFocused(t *testing.T) {
	form := page.Form{Error: "Some fields are not valid.", Fields: []page.FieldError{{Field: "username", Type: "taken"}, {Field: "password", Type: "too_short"}, {Field: "nowhere", Type: "invalid"}}}
	doc := parse(t, render(t, page.SignUp{Form: form}))
	field := named(doc, "password")
	if attr(field, "aria-invalid") != "true" || attr(field, "aria-describedby") != "password-error password-hint" || !has(field, "autofocus") {
		t.Errorf("the first refused field has %v", field.Attr)
	}
	if other := named(doc, "username"); attr(other, "aria-invalid") != "true" || has(other, "autofocus") {
		t.Errorf("the second refused field has %v", other.Attr)
	}
	for n := range elements(doc) {
		if attr(n, "role") != "alert" {
			continue
		}
		want := "Some fields are not valid.|Use at least 12 characters.|This username is taken. Choose another.|Part of the form is not valid: nowhere."
		if got := strings.Join(lines(content(n)), "|"); got != want {
			t.Errorf("the summary says %q", got)
		}
		return
	}
	t.Error("there is no summary")
}

func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

func TestOneRefusedFieldIsFocused(t *testing.T) {
	each(t, func(t *testing.T, _ page.View, _ string, doc *html.Node) {
		var focused []string
		refused := false
		for n := range elements(doc) {
			refused = refused || has(n, "aria-invalid")
			if has(n, "autofocus") {
				focused = append(focused, attr(n, "name"))
			}
		}
		if len(focused) > 1 || refused && len(focused) == 0 {
			t.Errorf("%v are focused", focused)
		}
	})
}

func TestPasswordManagersAreHelped(t *testing.T) {
	each(t, func(t *testing.T, _ page.View, _ string, doc *html.Node) {
		want := map[string][]string{"currentPassword": {"current-password"}, "newPassword": {"new-password"}, "password": {"current-password", "new-password"}}
		for n := range elements(doc) {
			if attr(n, "type") == "password" && !slices.Contains(want[attr(n, "name")], attr(n, "autocomplete")) {
				t.Errorf("%s has autocomplete %q", attr(n, "name"), attr(n, "autocomplete"))
			}
			if attr(n, "type") == "password" && has(n, "maxlength") {
				t.Errorf("%s would be cut off when pasted", attr(n, "name"))
			}
		}
	})
}

// actions are where forms lead.
var actions = []string{
	page.SignInPath, page.LinkPath, page.LinkSeparatePath, page.SignUpPath, page.SignOutPath, page.ForgotPath, page.ResetPath,
	page.VerifyPath, page.UndoPath, page.UndeletePath, page.SetupPath, page.ProfilePath, page.EmailPath, page.VerificationPath,
	page.ChangePasswordPath, page.SetPasswordPath, page.UnlinkPath, page.EndSessionPath, page.EndSessionsPath, page.KeysPath,
	page.RotateKeyPath, page.RevokeKeyPath, page.DangerPath, page.ReauthPath, page.ElevatePath, page.ReplaceProviderPath,
	page.NewPath, page.RestorePath, page.InvitationPath, page.DevicePath,
}

func TestEveryFormPostsToAKnownAddress(t *testing.T) {
	item := regexp.MustCompile(`(idn|ses|key)_[0-9]+`)
	seen := map[string]bool{}
	for name, view := range samples() {
		for n := range elements(parse(t, render(t, view))) {
			if n.Data != "form" {
				continue
			}
			action := item.ReplaceAllString(attr(n, "action"), "{id}")
			seen[action] = true
			if attr(n, "method") == "get" && action == page.ProvidersPath || name == "manifest" {
				continue
			}
			if attr(n, "method") != "post" || !slices.Contains(actions, action) {
				t.Errorf("%s: a form leads by %s to %s", name, attr(n, "method"), action)
			}
		}
	}
	for _, action := range actions {
		if !seen[action] {
			t.Errorf("no form leads to %s", action)
		}
	}
}

// applied are pages of the web application: a workspace's on Platform, and those that Admin has.
var applied = []string{
	"/w/ada/personal",
	"/people", "/customers", "/runs", "/agents", "/projects", "/mcps", "/api", "/health", "/settings/secret-store", "/storage", "/audit",
}

func TestEveryLocalLinkLeadsToAPage(t *testing.T) {
	known := append(slices.Clone(actions), page.ConnectionsPath, page.SecurityPath, page.SessionsPath, page.WorkspacesPath, page.ProvidersPath, "/", "/api/auth/oauth/github/start")
	known = append(known, applied...)
	for name, view := range samples() {
		for n := range elements(parse(t, render(t, view))) {
			path, _, _ := strings.Cut(attr(n, "href"), "?")
			if n.Data == "a" && strings.HasPrefix(path, "/") && !slices.Contains(known, path) {
				t.Errorf("%s: a link leads to %s", name, path)
			}
		}
	}
}

// TestAPrintedLinkIsNoMail holds pages of a server that prints its mails to what it does.
func TestAPrintedLinkIsNoMail(t *testing.T) {
	for _, notice := range []page.Notice{"", page.NoticeVerificationSent, page.NoticeEmailChangeSent} {
		desk := at(adas, func(d *page.Desk) { d.Person.Printed, d.Person.EmailVerified, d.Notice = true, false, notice })
		text := render(t, page.Profile{Desk: desk, DisplayName: "Ada"})
		for _, untrue := range []string{"Send another mail", "A mail is on its way"} {
			if strings.Contains(text, untrue) {
				t.Errorf("%s: the page says %q", notice, untrue)
			}
		}
		if !strings.Contains(text, "Print another link") || notice != "" && !strings.Contains(text, "the link is printed to its log") {
			t.Errorf("%s: the page does not say where the link is", notice)
		}
	}
}

func TestMailOffIsSaid(t *testing.T) {
	if text := render(t, page.ForgotSent{MailOff: true}); !strings.Contains(text, "no link can be sent") {
		t.Error("production does not say that mail is off")
	}
	var b bytes.Buffer
	if err := page.New(page.Config{Development: true}).Render(&b, page.ForgotSent{MailOff: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "printed to the server’s log") {
		t.Error("development does not say where the link is")
	}
}
