package account_test

import (
	"fmt"
	"sync"
	"testing"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
)

// TestStrangersWithManyAddressesKeepNobodyOut fills the hasher from more addresses than there are places to wait: of people
// whose browser is known, who are signed in, or who hold a link of ours, none is told that it is busy.
func TestStrangersWithManyAddressesKeepNobodyOut(t *testing.T) {
	for name, try := range map[string]func(t *testing.T, w *accounttest.World, in account.SignedIn, link string) error{
		"login": func(t *testing.T, w *accounttest.World, in account.SignedIn, _ string) error {
			return accounttest.ErrOf(w.Passwords.Login(accounttest.From(t), "ada@example.com", password, in.Device))
		},
		"reauth": func(t *testing.T, w *accounttest.World, in account.SignedIn, _ string) error {
			return accounttest.ErrOf(w.Passwords.Reauth(accounttest.From(t), in.Who, password))
		},
		"change": func(t *testing.T, w *accounttest.World, in account.SignedIn, _ string) error {
			return accounttest.ErrOf(w.Passwords.Change(accounttest.From(t), in.Who, password, other))
		},
		"reset": func(t *testing.T, w *accounttest.World, _ account.SignedIn, link string) error {
			return accounttest.ErrOf(w.Passwords.Reset(accounttest.From(t), link, other))
		},
	} {
		t.Run(name, func(t *testing.T) {
			accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
				in := joinByMail(t, w, "ada@example.com")
				accounttest.Check(t, w.Passwords.Forgot(accounttest.From(t), "ada@example.com"))
				link := mailed(t, w, "ada@example.com")
				open := make(chan struct{})
				w.Passwords.OnDerive(func(account.Scrypt) { <-open })
				var strangers sync.WaitGroup
				for i := range 40 {
					strangers.Go(func() {
						_ = accounttest.ErrOf(w.Passwords.Login(accounttest.From(t), fmt.Sprintf("nobody%d@example.com", i), password, ""))
					})
				}
				accounttest.Eventually(t, "sixteen strangers wait", func() bool { return w.Passwords.Waiting() >= 16 })
				ended := make(chan error, 1)
				go func() { ended <- try(t, w, in, link) }()
				accounttest.Eventually(t, "ada waits too", func() bool { return w.Passwords.WaitingKnown() > 0 || len(ended) > 0 })
				close(open)
				err := <-ended
				strangers.Wait()
				accounttest.Check(t, err)
			})
		})
	}
}
