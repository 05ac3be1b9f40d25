package mail_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/mail"
	"svc.dev/svc/service/mail/mailtest"
)

// TestMain is also the process that the tests kill.
func TestMain(m *testing.M) {
	if address := os.Getenv("SVC_MAIL_VICTIM"); address != "" {
		fmt.Println("victim:", victim(address, os.Getenv("SVC_MAIL_SMTP")))
		os.Exit(1)
	}
	goleak.VerifyTestMain(sqldbtest.ReusingTests{M: m})
}

// victim queues a mail and sends it, until somebody kills it.
func victim(address, smtp string) error {
	ctx := context.Background()
	db, err := sqldb.Open(ctx, address, sqldb.Options{Timeout: time.Minute})
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx, mail.Migrations); err != nil {
		return err
	}
	o, err := mail.New(db, mail.Config{SMTP: smtp, From: "no-reply@svc.example", URL: platform, Box: newBox(7)})
	if err != nil {
		return err
	}
	err = db.Write(ctx, func(tx *sqldb.Tx) error { return o.Queue(tx, ada, reset) })
	if err != nil {
		return err
	}
	fmt.Println("queued")
	return o.Run(ctx)
}

// startVictim returns when the mail is on record.
func startVictim(t *testing.T, address, smtp string) (kill func()) {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), "SVC_MAIL_VICTIM="+address, "SVC_MAIL_SMTP="+smtp)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "queued\n" {
		t.Fatalf("the victim said %q, %v", line, err)
	}
	return kill
}

// TestAMailOutlivesTheProcessThatSentIt kills it while the server thinks, so that nobody knows whether it took the mail. It
// did; so there are two, and mailboxes show one.
func TestAMailOutlivesTheProcessThatSentIt(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		server.Delay(2 * time.Second)
		kill := startVictim(t, address, server.URL())
		server.WaitHeard(t, 1)
		kill()
		server.Wait(t, 1)
		server.Delay(0)

		early := smtp(server)
		early.Now = time.Now
		n := newNode(t, address, early)
		stop := n.run(t)
		n.looks(t)
		if r := n.rows(t)[0]; r.State != "queued" || r.Attempts != 1 || server.Heard() != 1 {
			t.Errorf("the lease of the dead was not kept: %+v", r)
		}
		stop()

		late := smtp(server)
		late.Now = func() time.Time { return time.Now().Add(6 * time.Minute) }
		late.URL, late.From, late.Box, late.Poll = platform, "no-reply@svc.example", newBox(7), 10*time.Millisecond
		heir, err := mail.New(n.db, late)
		if err != nil {
			t.Fatal(err)
		}
		(&node{Outbox: heir}).run(t)
		n.eventually(t, state("sent"))
		all := server.Wait(t, 2)
		if len(all) != 2 || all[0].ID != all[1].ID || all[1].Token() != token {
			t.Errorf("got %d mails", len(all))
		}
	})
}

// TestAMailThatIsQueuedOutlivesItsProcess kills it before it could send anything.
func TestAMailThatIsQueuedOutlivesItsProcess(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		server := mailtest.Start(t, mailtest.Options{})
		startVictim(t, address, "smtp://127.0.0.1:1")()
		c := smtp(server)
		c.Now = func() time.Time { return time.Now().Add(6 * time.Minute) }
		n := newNode(t, address, c)
		n.run(t)
		if got := server.Next(t, ada); got.Token() != token {
			t.Errorf("got %+v", got)
		}
	})
}
