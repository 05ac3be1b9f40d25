package mail_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mail/mailtest"
)

func TestAMailIsSealedWhileItWaits(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		n := newNode(t, address, smtp(server))
		n.queue(t, ada, reset)
		if r := n.rows(t)[0]; r != (row{Kind: "reset_password", State: "queued", Sealed: true}) {
			t.Errorf("got %+v", r)
		}
		n.unreadable(t, address)
		n.run(t)
		n.eventually(t, state("sent"))
		n.unreadable(t, address)
	})
}

// unreadable looks for what nobody may find: in every column, and on SQLite in every byte on the disk.
func (n *node) unreadable(t *testing.T, address string) {
	t.Helper()
	stored := []byte(n.dump(t))
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		files, _ := filepath.Glob(path + "*")
		for _, file := range files {
			if content, err := os.ReadFile(file); err == nil {
				stored = append(stored, content...)
			}
		}
	}
	for _, secret := range []string{token, ada, "example.com", "/reset", "new password"} {
		if bytes.Contains(stored, []byte(secret)) {
			t.Errorf("the database tells %q", secret)
		}
	}
}

func (n *node) dump(t *testing.T) (text string) {
	t.Helper()
	err := n.db.Read(t.Context(), func(tx *sqldb.Tx) error {
		text = ""
		rows, err := tx.Query("SELECT * FROM outbox")
		if err != nil {
			return err
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		for rows.Next() {
			values, places := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				places[i] = &values[i]
			}
			if err := rows.Scan(places...); err != nil {
				return err
			}
			for _, v := range values {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				text += fmt.Sprint(v, "\n")
			}
		}
		return rows.Err()
	})
	if err != nil || text == "" {
		t.Fatalf("%q, %v", text, err)
	}
	return text
}

func TestInDevelopmentLinksArePrintedAfterTheCommit(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, mail.Config{Development: true})
		if n.Enabled() {
			t.Error("mail is on")
		}
		n.queue(t, ada, reset)
		n.queue(t, ada, mail.PasswordChanged())
		if rows := n.rows(t); len(rows) != 1 || strings.Contains(n.log.String(), token) {
			t.Errorf("got %+v\n%s", rows, n.log)
		}
		n.unreadable(t, address)
		n.run(t)
		n.gone(t)
		if log := n.log.String(); strings.Count(log, `"`+platform+"/reset#t="+token+`"`) != 1 || strings.Contains(log, ada) {
			t.Errorf("got:\n%s", log)
		}
	})
}

// gone waits until nothing is left of the mails.
func (n *node) gone(t *testing.T) {
	t.Helper()
	eventually(t, "nothing is left of the mails", func() bool { return len(n.rows(t)) == 0 })
}

func TestInProductionWithoutAServerNothingIsKeptOrPrinted(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		n := newNode(t, address, mail.Config{})
		stop := n.run(t)
		n.queue(t, ada, reset)
		n.queue(t, ada, mail.PasswordChanged())
		kept := n.rows(t) // unless it is printed by then
		stop()
		if rows := append(kept, n.rows(t)...); n.Enabled() || len(rows) != 0 || n.log.String() != "" {
			t.Errorf("got %+v\n%s", rows, n.log)
		}
	})
}

func TestWithAServerDevelopmentPrintsNothing(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{})
	c := smtp(server)
	c.Development = true
	n := newNode(t, sqldbtest.SQLite(t), c)
	n.run(t)
	n.queue(t, ada, reset)
	n.eventually(t, state("sent"))
	n.quiet(t)
}

func TestSweepForgetsMailsThatEndedLongAgo(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		server.Refuse(mailtest.Recipient, 550, 1)
		n := newNode(t, address, smtp(server))
		stop := n.run(t)
		n.queue(t, ada, reset)
		n.eventually(t, state("dead"))
		n.queue(t, ada, reset)
		server.Wait(t, 1)
		stop()
		n.clock.advance(time.Hour)
		n.queue(t, ada, mail.PasswordChanged())
		begun := n.clock.now().Add(-time.Hour)
		for _, step := range []struct {
			after time.Duration
			swept int64
		}{
			{7 * 24 * time.Hour, 0},
			{7*24*time.Hour + time.Millisecond, 2},
			{7*24*time.Hour + 25*time.Hour, 0},
			{7*24*time.Hour + 25*time.Hour + time.Millisecond, 1}, // never sent: mail was switched off
		} {
			if swept, err := n.Sweep(t.Context(), begun.Add(step.after)); err != nil || swept != step.swept {
				t.Errorf("after %v: %d, %v", step.after, swept, err)
			}
		}
	})
}

func TestSweepGoesOnUntilNothingIsLeft(t *testing.T) {
	n := newNode(t, sqldbtest.SQLite(t), mail.Config{Development: true})
	err := n.db.Write(t.Context(), func(tx *sqldb.Tx) error {
		for range 1201 {
			if err := n.Queue(tx, ada, reset); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if swept, err := n.Sweep(t.Context(), n.clock.now().Add(30*24*time.Hour)); err != nil || swept != 1201 {
		t.Errorf("%d, %v", swept, err)
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	good := mail.Config{SMTP: "smtp://svc:hunter2@127.0.0.1:587", From: "Svc <no-reply@svc.example>", URL: platform, Box: newBox(7)}
	if _, err := mail.New(nil, good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*mail.Config){
		"no box":                     func(c *mail.Config) { c.Box = nil },
		"no box in development":      func(c *mail.Config) { c.Box, c.SMTP, c.Development = nil, "", true },
		"no pages":                   func(c *mail.Config) { c.URL = "" },
		"pages without a scheme":     func(c *mail.Config) { c.URL = "platform.example" },
		"pages below a path":         func(c *mail.Config) { c.URL = "https://platform.example/svc" },
		"pages with a user":          func(c *mail.Config) { c.URL = "https://svc@platform.example" },
		"pages that are a script":    func(c *mail.Config) { c.URL = "javascript://platform.example" },
		"no sender":                  func(c *mail.Config) { c.From = "" },
		"a sender that is none":      func(c *mail.Config) { c.From = "Svc" },
		"two senders":                func(c *mail.Config) { c.From = "a@b.example, c@d.example" },
		"a sender and a header":      func(c *mail.Config) { c.From = "a@b.example\r\nBcc: eve@example.com" },
		"a quoted sender":            func(c *mail.Config) { c.From = `"a b"@b.example` },
		"a name of two lines":        func(c *mail.Config) { c.From = "=?utf-8?q?Svc=0D=0ABcc:_eve@example.com?= <a@b.example>" },
		"a brand of two lines":       func(c *mail.Config) { c.Brand = "svc\r\nBcc: eve@example.com" },
		"a brand that turns around":  func(c *mail.Config) { c.Brand = "svc\u202e" },
		"a server without a scheme":  func(c *mail.Config) { c.SMTP = "svc:hunter2@127.0.0.1:587" },
		"a server of another kind":   func(c *mail.Config) { c.SMTP = "https://svc:hunter2@127.0.0.1:587" },
		"a server without a host":    func(c *mail.Config) { c.SMTP = "smtp://svc:hunter2@" },
		"a server with a bad port":   func(c *mail.Config) { c.SMTP = "smtp://svc:hunter2@127.0.0.1:hunter2" },
		"a server with a high port":  func(c *mail.Config) { c.SMTP = "smtp://svc:hunter2@127.0.0.1:70000" },
		"a password with a slash":    func(c *mail.Config) { c.SMTP = "smtp://svc:hun/hunter2@127.0.0.1" },
		"a password with a question": func(c *mail.Config) { c.SMTP = "smtp://svc:hun?hunter2@127.0.0.1" },
		"a password with a percent":  func(c *mail.Config) { c.SMTP = "smtp://svc:%hunter2@127.0.0.1" },
		"a server and options":       func(c *mail.Config) { c.SMTP += "/?tls=off" },
	} {
		t.Run(name, func(t *testing.T) {
			c := good
			change(&c)
			_, err := mail.New(nil, c)
			if err == nil || !strings.HasPrefix(err.Error(), "open outbox: ") || strings.Contains(err.Error(), "hun") {
				t.Errorf("got %v", err)
			}
		})
	}
}
