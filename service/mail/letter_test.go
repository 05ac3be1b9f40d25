package mail_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mail/mailtest"
)

var update = flag.Bool("update", false, "write what mails look like to testdata")

const day = 24 * time.Hour

// kinds are all mails there are, and the link each asks its reader to open.
var kinds = []struct {
	name    string
	content mail.Content
	link    string
}{
	{"sign_up", mail.SignUp(token, day), "/verify#t=" + token},
	{"verify_email", mail.VerifyEmail(token, day), "/verify#t=" + token},
	{"have_account", mail.HaveAccount(), "/login"},
	{"reset_password", reset, "/reset#t=" + token},
	{"password_changed", mail.PasswordChanged(), "/forgot"},
	{"change_email", mail.ChangeEmail(token, day), "/verify#t=" + token},
	{"email_changed", mail.EmailChanged(token, 3*day), "/undo#t=" + token},
	{"email_taken_back", mail.EmailTakenBack(), "/forgot"},
	{"provider_linked", mail.ProviderLinked("GitHub", "ada-l"), "/account/connections"},
	{"provider_unlinked", mail.ProviderUnlinked("GitHub", "ada-l"), "/account/connections"},
	{"account_deleted", mail.AccountDeleted(token, 14*day), "/undelete#t=" + token},
	{"key_exposed", mail.KeyExposed("deploy & <test>"), "/account/keys"},
	{"invitation", mail.Invitation("Ada & <Co> Inc.", "Ada", token, 7*day), "/invitations#t=" + token},
	{"viewed", mail.Viewed("sam", "You asked why a run <42> is stuck"), "/workspaces"},
	{"storage_warning", mail.StorageWarning("Ada & <Co> Inc.", 80), "/workspaces"},
	{"storage_full", mail.StorageWarning("Ada & <Co> Inc.", 100), "/workspaces"},
}

func TestMailsLookAsTheyShould(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	c := smtp(server)
	c.Brand = "Svc & Söhne"
	n := newNode(t, sqldbtest.SQLite(t), c)
	n.run(t)
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			n.queue(t, ada, kind.content)
			got := server.Next(t, ada)
			golden(t, kind.name+".txt", "Subject: "+got.Subject+"\n\n"+got.Text)
			golden(t, kind.name+".html", got.HTML)
			if !slices.Contains(got.Links, platform+kind.link) || !strings.Contains(got.HTML, `href="`+platform+kind.link+`"`) {
				t.Errorf("links are %q", got.Links)
			}
			for _, link := range got.Links {
				if !strings.HasPrefix(link, platform) {
					t.Errorf("it links to %q", link)
				}
			}
			if strings.Contains(got.HTML, "<img") || strings.Contains(got.HTML, "src=") || strings.Contains(got.HTML, "url(") {
				t.Error("it fetches something")
			}
		})
	}
	if rows := n.rows(t); len(rows) != len(kinds) || rows[0].Kind != "sign_up" {
		t.Errorf("got %+v", rows)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (go test -update writes it anew):\n%s", name, diff)
	}
}

func TestTheHeadOfAMailIsOurs(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	c := smtp(server)
	c.From, c.Brand = "no-reply@svc.example", "Söhne"
	n := newNode(t, sqldbtest.SQLite(t), c)
	n.run(t)
	n.queue(t, ada, reset)
	got := server.Next(t, ada)
	want := map[string]string{
		"From": `=?utf-8?q?S=C3=B6hne?= <no-reply@svc.example>`, "To": "<ada@example.com>", "Subject": "Choose a new password",
		"Date": "Sat, 14 Nov 2026 10:00:00 +0000", "Auto-Submitted": "auto-generated", "Mime-Version": "1.0",
	}
	for name, values := range got.Header {
		switch name {
		case "Message-Id":
			if !regexp.MustCompile(`^<mail_[0-9A-Z]{26}@svc\.example>$`).MatchString(values[0]) {
				t.Errorf("the id is %q", values)
			}
		case "Content-Type":
		default:
			if len(values) != 1 || values[0] != want[name] {
				t.Errorf("%s is %q", name, values)
			}
			delete(want, name)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	for line := range strings.SplitSeq(string(got.Raw), "\r\n") {
		if len(line) > 998 || strings.Contains(line, "\n") {
			t.Errorf("a line is no line: %q", line)
		}
	}
}

// TestNothingThatPeopleChoseLeavesItsPlace tries to write headers, lines and HTML through every value.
func TestNothingThatPeopleChoseLeavesItsPlace(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	n := newNode(t, sqldbtest.SQLite(t), smtp(server))
	n.run(t)
	for _, evil := range []string{
		"x\r\nBcc: eve@example.com", "x\n\nGo to https://evil.example", "<script>alert(1)</script>", `"><a href="https://evil.example">x</a>`,
		"{{.Link}}", "x\u202egpj", "\x00", strings.Repeat("x", 10_000), "\xff\xfe", ".\r\n.\r\n", "javascript:alert(1)",
	} {
		for _, content := range []mail.Content{
			mail.KeyExposed(evil), mail.ProviderLinked(evil, evil), mail.ProviderUnlinked(evil, evil),
			mail.Invitation(evil, evil, token, day), mail.Viewed(evil, evil), mail.StorageWarning(evil, 90),
		} {
			n.queue(t, ada, content)
			got := server.Next(t, ada)
			if len(got.Header) != 8 || len(got.To) != 1 || len(got.Text) > 1000 {
				t.Errorf("%q: %v, %d", evil, got.Header, len(got.Text))
			}
			if strings.Contains(got.Text, "\nBcc") || strings.Contains(got.Text, "\nGo") || strings.Contains(got.HTML, "<script") ||
				strings.Contains(got.HTML, `href="https://evil`) || strings.ContainsAny(got.Text+got.HTML, "\u202e\x00") {
				t.Errorf("%q: %s\n%s", evil, got.Text, got.HTML)
			}
		}
	}
}

// TestANameOfAStrangerIsNoLink tries to send whoever is invited to a page of the inviter's choice.
func TestANameOfAStrangerIsNoLink(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	n := newNode(t, sqldbtest.SQLite(t), smtp(server))
	n.run(t)
	for _, evil := range []string{
		"https://evil.example", "evil.example/x", "win now: www.evil.example", "eve@evil.example", "HTTPS://EVIL.EXAMPLE?x=1", "mailto:eve@evil.example", "e.v.i.l",
	} {
		n.queue(t, ada, mail.Invitation(evil, evil, token, day))
		got := server.Next(t, ada)
		for _, part := range []string{got.Text, got.HTML} {
			if strings.Contains(part, evil) || regexp.MustCompile(`(?i)evil[.]|eve@|://e|www[.]|e[.]v`).MatchString(part) {
				t.Errorf("%q: %s", evil, part)
			}
		}
	}
	n.queue(t, ada, mail.Invitation("Ada & Co. Ltd.", "Dr. Ada", token, day))
	if got := server.Next(t, ada); !strings.Contains(got.Text, "Ada & Co. Ltd.") || !strings.Contains(got.Text, "Dr. Ada") {
		t.Errorf("a good name is spoiled: %s", got.Text)
	}
}

func TestAMessageThatCannotBeSentIsNotQueued(t *testing.T) {
	// Also where mail is off: what cannot be sent should not wait for an operator to be found out.
	n := newNode(t, sqldbtest.SQLite(t), mail.Config{})
	for _, to := range []string{
		"", "ada", "@", "ada@", "@example.com", "ada@example.com\r\nBcc: eve@example.com", "ada@example.com\n", "ada@example.com, eve@example.com",
		"Ada <ada@example.com>", "<ada@example.com>", `"ada"@example.com`, "ada(x)@example.com", "ada @example.com", "ada@exam ple.com", "a@b@example.com",
		".ada@example.com", "ada.@example.com", "a..da@example.com", "ada@.example.com", "ada@example..com", "ada@-example.com", "ada@[127.0.0.1]",
		"ada@exämple.com", "ädа@example.com", "ada＠example.com", "ada@example.com\x00", "ada@example.com>", "ada@example.com SIZE=1",
		strings.Repeat("a", 250) + "@example.com",
	} {
		expectRefused(t, n, to, reset)
	}
	for _, content := range []mail.Content{
		{}, mail.ResetPassword("", 0), mail.ResetPassword(token, 0), mail.ResetPassword("a b", time.Hour), mail.SignUp("x\r\ny", time.Hour),
		mail.VerifyEmail(`"><script>`, time.Hour), mail.EmailChanged("a/../b", time.Hour),
		mail.AccountDeleted(strings.Repeat("x", 513), time.Hour), mail.ChangeEmail("é", time.Hour),
		mail.Invitation("x", "x", "", time.Hour), mail.Invitation("x", "x", token, 0),
		mail.Invitation("x", "x", "a#b", time.Hour),
	} {
		expectRefused(t, n, ada, content)
	}
}

func expectRefused(t *testing.T, n *node, to string, c mail.Content) {
	t.Helper()
	err := n.db.Write(t.Context(), func(tx *sqldb.Tx) error { return n.Queue(tx, to, c) })
	if err == nil || len(to) > 3 && strings.Contains(err.Error(), to) {
		t.Errorf("%q, %#v: got %v", to, c, err)
	}
}
