package mail_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mail/mailtest"
)

func TestAMailIsSentOnceItsTransactionIsCommitted(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		n := newNode(t, address, smtp(server))
		n.run(t)
		if !n.Enabled() {
			t.Error("mail is off")
		}
		n.queue(t, ada, reset)
		got := server.Next(t, ada)
		if got.Token() != token || got.Links[0] != platform+"/reset#t="+token || got.Sender != "no-reply@svc.example" {
			t.Errorf("got %+v", got)
		}
		r := n.eventually(t, state("sent"))
		if r != (row{Kind: "reset_password", State: "sent", Attempts: 1, Sent: true}) {
			t.Errorf("got %+v", r)
		}
		n.quiet(t)
	})
}

func TestAMailOfATransactionThatFailedIsNotSent(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		n := newNode(t, address, smtp(server))
		n.run(t)
		changed := errors.New("changed my mind")
		err := n.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			return errors.Join(n.Queue(tx, "eve@example.com", reset), changed)
		})
		if !errors.Is(err, changed) {
			t.Fatal(err)
		}
		n.queue(t, ada, reset)
		server.Next(t, ada)
		if all := server.Messages(); len(all) != 1 {
			t.Errorf("%d mails were sent", len(all))
		}
	})
}

func TestAMailThatIsPutOffIsTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		server.Refuse(mailtest.Recipient, 451, 1)
		server.Refuse(mailtest.Data, 421, 1)
		n := newNode(t, address, smtp(server))
		n.run(t)
		n.queue(t, ada, reset)
		n.eventually(t, tried(1, time.Minute))
		n.clock.advance(59 * time.Second)
		n.looks(t)
		n.eventually(t, tried(1, time.Minute))
		n.clock.advance(time.Second)
		n.eventually(t, tried(2, 3*time.Minute))
		n.clock.advance(2 * time.Minute)
		n.eventually(t, state("sent"))
		if all := server.Messages(); len(all) != 1 {
			t.Errorf("%d mails were taken", len(all))
		}
		n.quiet(t)
	})
}

func TestAMailThatIsRefusedIsDead(t *testing.T) {
	for name, stage := range map[string]mailtest.Stage{"recipient": mailtest.Recipient, "text": mailtest.Data} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, address string) {
				server := mailtest.Start(t, mailtest.Options{})
				server.Refuse(stage, 550, 1)
				n := newNode(t, address, smtp(server))
				n.run(t)
				n.queue(t, ada, reset)
				r := n.eventually(t, state("dead"))
				if r != (row{Kind: "reset_password", State: "dead", Attempts: 1}) || !strings.Contains(n.log.String(), "class=refused code=550") {
					t.Errorf("got %+v\n%s", r, n.log)
				}
				n.clock.advance(time.Hour)
				n.looks(t)
				if len(server.Messages()) != 0 || n.rows(t)[0].Attempts != 1 {
					t.Error("it was sent after all")
				}
				n.quiet(t)
			})
		})
	}
}

// TestWhatIsNotTheMailsFaultIsTriedAgain has the troubles of connections and operators.
func TestWhatIsNotTheMailsFaultIsTriedAgain(t *testing.T) {
	for _, test := range []struct {
		name, class string
		options     mailtest.Options
		spoil       func(s *mailtest.Server, c *mail.Config)
	}{
		{"a connection that ends in the text", "broken", mailtest.Options{}, func(s *mailtest.Server, _ *mail.Config) { s.Drop(1) }},
		{"a slow server", "timeout", mailtest.Options{}, func(s *mailtest.Server, c *mail.Config) {
			s.Delay(400 * time.Millisecond)
			c.Timeout = 200 * time.Millisecond
		}},
		{"a server that is busy", "unavailable", mailtest.Options{}, func(s *mailtest.Server, _ *mail.Config) { s.Refuse(mailtest.Hello, 421, 2) }},
		{"an unwanted sender", "sender", mailtest.Options{}, func(s *mailtest.Server, _ *mail.Config) { s.Refuse(mailtest.Sender, 553, 1) }},
		{"a wrong password", "sign_in", mailtest.Options{User: "svc", Password: "right"}, func(s *mailtest.Server, c *mail.Config) {
			c.SMTP = strings.Replace(s.URL(), "right", "hunter2", 1)
		}},
		{"no password", "sender", mailtest.Options{User: "svc", Password: "right"}, func(s *mailtest.Server, c *mail.Config) {
			c.SMTP = strings.Replace(s.URL(), "svc:right@", "", 1)
		}},
		{"no way to sign in", "sign_in", mailtest.Options{}, func(s *mailtest.Server, c *mail.Config) {
			c.SMTP = strings.Replace(s.URL(), "smtp://", "smtp://svc:hunter2@", 1)
		}},
		{"a certificate of somebody else", "tls", mailtest.Options{TLS: mailtest.StartTLS}, func(_ *mailtest.Server, c *mail.Config) { c.Roots = nil }},
		{"such a certificate at once", "tls", mailtest.Options{TLS: mailtest.Implicit}, func(_ *mailtest.Server, c *mail.Config) { c.Roots = nil }},
		{"no TLS where it should be", "tls", mailtest.Options{}, func(s *mailtest.Server, c *mail.Config) {
			c.SMTP = strings.Replace(s.URL(), "smtp://", "smtps://", 1)
		}},
		{"nobody there", "no_answer", mailtest.Options{}, func(_ *mailtest.Server, c *mail.Config) { c.SMTP = "smtp://127.0.0.1:1" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := mailtest.Start(t, test.options)
			c := smtp(server)
			test.spoil(server, &c)
			n := newNode(t, sqldbtest.SQLite(t), c)
			n.run(t)
			n.queue(t, ada, reset)
			n.eventually(t, tried(1, time.Minute))
			if !strings.Contains(n.log.String(), "class="+test.class+" ") {
				t.Errorf("not %s:\n%s", test.class, n.log)
			}
			n.quiet(t)
		})
	}
}

func TestAPasswordIsNotSentInTheClear(t *testing.T) {
	server := mailtest.Start(t, mailtest.Options{User: "svc", Password: "hunter2"})
	c := smtp(server)
	// The same server under a name that is not known to be loopback: there it must offer TLS.
	c.SMTP = strings.Replace(c.SMTP, "127.0.0.1", "LOCALHOST", 1)
	n := newNode(t, sqldbtest.SQLite(t), c)
	n.run(t)
	n.queue(t, ada, reset)
	n.eventually(t, tried(1, time.Minute))
	if !strings.Contains(n.log.String(), "class=tls ") {
		t.Errorf("got:\n%s", n.log)
	}
	n.quiet(t)
}

func TestEveryKindOfServerIsSpokenTo(t *testing.T) {
	for _, how := range []mailtest.TLS{mailtest.Plain, mailtest.StartTLS, mailtest.Implicit} {
		for _, user := range []string{"", "svc@example.org"} {
			t.Run(fmt.Sprint(how, user), func(t *testing.T) {
				server := mailtest.Start(t, mailtest.Options{User: user, Password: "p:/@ %ä", TLS: how})
				n := newNode(t, sqldbtest.SQLite(t), smtp(server))
				n.run(t)
				n.queue(t, ada, reset)
				server.Next(t, ada)
				n.eventually(t, state("sent"))
			})
		}
	}
}

// TestBackoffEndsWithTheLink follows a mail to its end: 1, 2, 4 minutes and so on, never beyond its time.
func TestBackoffEndsWithTheLink(t *testing.T) {
	for name, test := range map[string]struct {
		content  mail.Content
		attempts int
		last     time.Duration
	}{
		"half an hour": {reset, 5, 15 * time.Minute},
		"a day":        {mail.SignUp(token, 24*time.Hour), 12, 1231 * time.Minute},
		"no link":      {mail.PasswordChanged(), 12, 1231 * time.Minute},
		"two weeks":    {mail.AccountDeleted(token, 14*24*time.Hour), 12, 1231 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			server := mailtest.Start(t, mailtest.Options{})
			server.Refuse(mailtest.Recipient, 451, 100)
			n := newNode(t, sqldbtest.SQLite(t), smtp(server))
			begun := n.clock.now()
			n.run(t)
			n.queue(t, ada, test.content)
			for attempt := 1; ; attempt++ {
				r := n.eventually(t, func(r row) bool {
					return r.Attempts == attempt && (r.State == "dead" || r.Next > n.clock.now().Sub(begun) && r.Next != n.clock.now().Sub(begun)+5*time.Minute)
				})
				if r.State == "dead" {
					if attempt != test.attempts || n.clock.now().Sub(begun) != test.last || r.Sealed {
						t.Errorf("dead after %d attempts and %v: %+v", attempt, n.clock.now().Sub(begun), r)
					}
					break
				}
				n.clock.advance(r.Next - n.clock.now().Sub(begun))
			}
		})
	}
}

func TestALinkThatHasEndedIsNotSent(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		n := newNode(t, address, smtp(server))
		n.queue(t, ada, reset)
		n.clock.advance(31 * time.Minute)
		n.run(t)
		n.eventually(t, state("dead"))
		if server.Heard() != 0 || !strings.Contains(n.log.String(), "class=expired") {
			t.Errorf("got:\n%s", n.log)
		}
	})
}

func TestAMailSealedUnderAnotherKeyIsDead(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		c := smtp(server)
		n := newNode(t, address, c)
		n.queue(t, ada, reset)
		c.Box, c.URL, c.From = newBox(8), platform, "a@b.example"
		c.Now, c.Poll, c.Log = n.clock.now, 10*time.Millisecond, slog.New(slog.DiscardHandler)
		other, err := mail.New(n.db, c)
		if err != nil {
			t.Fatal(err)
		}
		(&node{Outbox: other}).run(t)
		n.eventually(t, state("dead"))
	})
}

func TestASealedMailIsOfNoUseInAnotherRow(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		n := newNode(t, address, smtp(server))
		n.queue(t, ada, reset)
		n.queue(t, "bob@example.com", mail.SignUp("bob", time.Hour))
		err := n.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec("UPDATE outbox SET sealed = (SELECT sealed FROM outbox WHERE kind = 'reset_password'), kind = 'reset_password' WHERE kind = 'sign_up'")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		n.run(t)
		server.Next(t, ada)
		eventually(t, "the other is dead", func() bool { return n.rows(t)[1].State == "dead" })
		if len(server.Messages()) != 1 {
			t.Errorf("got %+v", n.rows(t))
		}
	})
}

func TestAMailWhoseAnswerWasLostIsSentAgainAsTheSame(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		server.Lose(1)
		n := newNode(t, address, smtp(server))
		n.run(t)
		n.queue(t, ada, reset)
		n.eventually(t, tried(1, time.Minute))
		n.clock.advance(time.Minute)
		n.eventually(t, state("sent"))
		all := server.Messages()
		if len(all) != 2 || all[0].ID != all[1].ID || all[0].Header.Get("Date") != all[1].Header.Get("Date") || all[0].Text != all[1].Text {
			t.Errorf("got %d mails", len(all))
		}
	})
}

func TestAnAttemptThatIsCutShortIsDueAtOnce(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		server.Delay(time.Minute)
		n := newNode(t, address, smtp(server))
		mail.SetGrace(n.Outbox, 50*time.Millisecond)
		stop := n.run(t)
		n.queue(t, ada, reset)
		server.WaitHeard(t, 1)
		stop()
		if r := n.rows(t)[0]; r != (row{Kind: "reset_password", State: "queued", Sealed: true, Attempts: 1}) {
			t.Errorf("got %+v", r)
		}
		server.Delay(0)
		n.run(t)
		n.eventually(t, state("sent"))
	})
}
