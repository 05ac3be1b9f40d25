package page_test

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"svc.dev/svc/service/page"
)

// hostile is what a stranger may get into a name: markup, quotes, a template, a direction override and a line break.
const hostile = "<script>alert(1)</script>\"'`><img src=x onerror=alert(2)> {{.}} javascript:alert(3) \u202eevil\u2066\x00\r\n"

// each runs a proof on every sample, then on every page with each text of it hostile.
func each(t *testing.T, proof func(t *testing.T, view page.View, text string, doc *html.Node)) {
	for name, view := range samples() {
		t.Run(name, func(t *testing.T) {
			text := render(t, view)
			proof(t, view, text, parse(t, text))
		})
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/hostile-%v", name, all), func(t *testing.T) {
				view := poisoned(view, all)
				text := render(t, view)
				proof(t, view, text, parse(t, text))
			})
		}
	}
}

// poisoned is a view with every text in it replaced, except the names by which pages choose what to say, every choice
// taken the one way, and every field refused that any page has.
func poisoned(view page.View, choice bool) page.View {
	copied := reflect.New(reflect.TypeOf(view)).Elem()
	copied.Set(reflect.ValueOf(view))
	poison(copied, choice)
	return copied.Interface().(page.View)
}

var everyField = func() []page.FieldError {
	var all []page.FieldError
	for name := range strings.FieldsSeq("email password newPassword currentPassword username displayName token name scopes expiresAt graceSeconds confirm owner kind ticket user_code workspace days decision") {
		all = append(all, page.FieldError{Field: name, Type: "too_short"})
	}
	return all
}()

func poison(v reflect.Value, choice bool) {
	if v.Type() == reflect.TypeFor[[]page.FieldError]() {
		v.Set(reflect.ValueOf(everyField))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(choice)
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(hostile)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			poison(v.Field(i), choice)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			copied := reflect.New(v.Type().Elem())
			copied.Elem().Set(v.Elem())
			poison(copied.Elem(), choice)
			v.Set(copied)
		}
	case reflect.Slice:
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		for i := range copied.Len() {
			poison(copied.Index(i), choice)
		}
		v.Set(copied)
	}
}

func TestHostileTextStaysText(t *testing.T) {
	each(t, func(t *testing.T, view page.View, _ string, doc *html.Node) {
		for n := range elements(doc) {
			if n.Data == "img" {
				t.Error("a stranger's element came to life")
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
					t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
				}
				if (a.Key == "href" || a.Key == "action" || a.Key == "src") && strings.HasPrefix(strings.ToLower(a.Val), "javascript:") {
					t.Errorf("<%s> leads to %q", n.Data, a.Val)
				}
			}
		}
	})
}

func TestOnlyInputsKeepWhatRearrangesText(t *testing.T) {
	each(t, func(t *testing.T, _ page.View, _ string, doc *html.Node) {
		if text := content(doc); strings.ContainsAny(text, "\u202e\u2066\x00") {
			t.Error("a direction override reached the reader")
		}
		for n := range elements(doc) {
			for _, a := range n.Attr {
				if a.Key != "value" && a.Key != "nonce" && strings.ContainsAny(a.Val, "\u202e\u2066") {
					t.Errorf("<%s %s> has a direction override", n.Data, a.Key)
				}
			}
		}
	})
}

func TestScriptsAreTheThreeThatExist(t *testing.T) {
	each(t, func(t *testing.T, view page.View, _ string, doc *html.Node) {
		aided, wanted := false, false
		for n := range elements(doc) {
			wanted = wanted || n.Data == "input" && attr(n, "type") == "password" || has(n, "data-copy")
			if n.Data == "style" {
				t.Error("the page has a style of its own")
			}
			if n.Data != "script" {
				continue
			}
			post, isPost := view.(page.ManifestPost)
			src := attr(n, "src")
			switch {
			case isPost && attr(n, "nonce") != "" && content(n) == "document.forms[0].submit()":
				if post.Nonce != hostile && attr(n, "nonce") != post.Nonce {
					t.Errorf("nonce is %q", attr(n, "nonce"))
				}
			case strings.HasPrefix(src, "/assets/token-") && content(n) == "":
			case strings.HasPrefix(src, "/assets/aid-") && content(n) == "":
				aided = true
			default:
				t.Errorf("a script that should not be here: %q %q", src, content(n))
			}
		}
		if wanted && !aided {
			t.Error("a password cannot be shown, or a key not copied")
		}
	})
}

func TestMarkupIsBalanced(t *testing.T) {
	each(t, func(t *testing.T, _ page.View, text string, _ *html.Node) {
		if err := balanced(text); err != nil {
			t.Error(err)
		}
	})
}

func TestPasswordIsNeverSentBack(t *testing.T) {
	each(t, func(t *testing.T, view page.View, _ string, doc *html.Node) {
		for n := range elements(doc) {
			if n.Data == "input" && attr(n, "type") == "password" && has(n, "value") {
				t.Errorf("%s has a value", attr(n, "name"))
			}
		}
		for i := range reflect.TypeOf(view).NumField() {
			if f := reflect.TypeOf(view).Field(i); f.Type.Kind() == reflect.String && strings.Contains(f.Name, "Password") {
				t.Errorf("the view has room for %s", f.Name)
			}
		}
	})
}

func TestTypedTextIsKept(t *testing.T) {
	doc := parse(t, render(t, page.SignUp{Email: hostile[:40], Username: "ada", DisplayName: "Ada \"M\"", Form: page.Form{ReturnTo: "/w?a=1&b=2"}}))
	for name, want := range map[string]string{"email": hostile[:40], "username": "ada", "displayName": "Ada \"M\"", "returnTo": "/w?a=1&b=2"} {
		if got := attr(named(doc, name), "value"); got != want {
			t.Errorf("%s came back as %q, not %q", name, got, want)
		}
	}
}

func TestPageHoldsNothingRemote(t *testing.T) {
	each(t, func(t *testing.T, _ page.View, _ string, doc *html.Node) {
		for _, address := range references(doc) {
			if _, _, ok := pages().Asset(address); !ok {
				t.Errorf("%s is not served here", address)
			}
		}
	})
}

func TestAssetsNameWhatIsInThem(t *testing.T) {
	address := regexp.MustCompile(`^/assets/[a-z]+-[0-9a-f]{12}\.(css|js|svg)$`)
	for _, path := range references(parse(t, render(t, page.Reset{}))) {
		body, contentType, ok := pages().Asset(path)
		if !ok || len(body) == 0 || contentType == "" || !address.MatchString(path) {
			t.Errorf("%s: %d bytes of %q, found %v", path, len(body), contentType, ok)
		}
	}
	if _, _, ok := pages().Asset("/assets/../page.go"); ok {
		t.Error("a file was served that is no asset")
	}
}

func TestStyleRefersToNothing(t *testing.T) {
	path := references(parse(t, render(t, page.Forgot{})))[1]
	body, _, _ := pages().Asset(path)
	if strings.Contains(string(body), "url(") || strings.Contains(string(body), "@import") {
		t.Error("the style loads something")
	}
}

func TestPolicyFitsThePage(t *testing.T) {
	each(t, func(t *testing.T, view page.View, _ string, doc *html.Node) {
		policy := pages().Policy(view)
		for n := range elements(doc) {
			switch {
			case n.Data == "script" && has(n, "src") && !strings.Contains(policy, "script-src 'self'"),
				n.Data == "link" && !strings.Contains(policy, "style-src 'self'; img-src 'self' data:"),
				n.Data == "script" && has(n, "nonce") && !strings.Contains(policy, "script-src 'nonce-"):
				t.Errorf("%s forbids <%s>", policy, n.Data)
			case n.Data == "form" && strings.Contains(attr(n, "action"), "://") && !strings.Contains(policy, host(attr(n, "action"))):
				t.Errorf("%s forbids a form to %s", policy, attr(n, "action"))
			}
		}
		if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.HasSuffix(policy, "; frame-ancestors 'none'; base-uri 'none'") {
			t.Errorf("policy is %s", policy)
		}
	})
}

func TestPolicyIsNoLooserThanThePage(t *testing.T) {
	const most = "default-src 'none'; style-src 'self'; img-src 'self' data:; "
	const forms = "form-action 'self' https://svc.example https://agents.svc.example https://admin.svc.example; frame-ancestors 'none'; base-uri 'none'"
	for _, row := range []struct {
		view page.View
		want string
	}{
		{page.Forgot{}, most + forms},
		{page.Reset{}, most + "script-src 'self'; " + forms},
		{page.ManifestPost{Action: "https://github.com/settings/apps/new?state=s", Nonce: "n"}, "default-src 'none'; form-action https://github.com; script-src 'nonce-n'; frame-ancestors 'none'; base-uri 'none'"},
	} {
		if got := pages().Policy(row.view); got != row.want {
			t.Errorf("policy of %T is %s", row.view, got)
		}
	}
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Scheme + "://" + u.Host
}

func TestFailedRenderWritesNothing(t *testing.T) {
	var b strings.Builder
	if err := pages().Render(&b, nil); err == nil || b.Len() > 0 {
		t.Errorf("no view gave %d bytes and %v", b.Len(), err)
	}
	broken := errors.New("pipe closed")
	if err := pages().Render(brokenWriter{broken}, page.Forgot{}); !errors.Is(err, broken) {
		t.Errorf("a broken writer gave %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
