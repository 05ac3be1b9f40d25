package account_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/workspace"
)

// heist is an account whose address somebody with its password changes again and again: from a to b, to c, to d.
type heist struct {
	*accounttest.World
	in       account.SignedIn
	name     string
	secret   string // the password as it is now
	undo     map[string]string
	resets   bool // each holder of the address sets a new password at once
	numbered int
}

// newHeist is an account of its own, with the address a.
func newHeist(t *testing.T, w *accounttest.World, name string, resets bool) *heist {
	t.Helper()
	h := &heist{World: w, name: name, secret: password, undo: map[string]string{}, resets: resets}
	h.in = joinByMail(t, w, h.at("a"))
	return h
}

func (h *heist) at(who string) string { return who + "@" + h.name + ".example.com" }

// moves changes the address, and keeps the undo link that the address of before is sent.
func (h *heist) moves(t *testing.T, from, to string) {
	t.Helper()
	if err := h.Emails.Change(t.Context(), h.in.Who, h.at(to)); err != nil {
		t.Fatalf("change to %s: %v", to, err)
	}
	if err := h.Emails.Verify(t.Context(), mailed(t, h.World, h.at(to)), nil); err != nil {
		t.Fatalf("prove %s: %v", to, err)
	}
	h.undo[from] = mailed(t, h.World, h.at(from))
	if h.resets {
		h.reset(t, to)
	}
}

// reset sets a new password by the mail of an address, and signs in with it.
func (h *heist) reset(t *testing.T, who string) {
	t.Helper()
	h.numbered++
	h.secret = fmt.Sprint("calm password number ", h.numbered)
	if err := h.Passwords.Forgot(accounttest.From(t), h.at(who)); err != nil {
		t.Fatal(err)
	}
	if err := accounttest.ErrOf(h.Passwords.Reset(accounttest.From(t), mailed(t, h.World, h.at(who)), h.secret)); err != nil {
		t.Fatalf("reset by %s: %v", who, err)
	}
	h.login(t, who)
}

func (h *heist) login(t *testing.T, who string) {
	t.Helper()
	in, err := h.Passwords.Login(accounttest.From(t), h.at(who), h.secret, "")
	if err != nil {
		t.Fatalf("login as %s: %v", who, err)
	}
	h.in = in
}

// has fails unless the account has the address, proven.
func (h *heist) has(t *testing.T, who string) {
	t.Helper()
	p, err := h.Account(t.Context(), h.in.Account.ID)
	if err != nil || p.Email != h.at(who) || !p.EmailVerified {
		t.Errorf("the account has %q (%t, %v), want %s", p.Email, p.EmailVerified, err, h.at(who))
	}
}

// permutations are the orders in which links can be used.
func permutations(links []string) (all [][]string) {
	if len(links) == 0 {
		return [][]string{nil}
	}
	for i, first := range links {
		for _, rest := range permutations(slices.Delete(slices.Clone(links), i, i+1)) {
			all = append(all, append([]string{first}, rest...))
		}
	}
	return all
}

// TestWithinItsLifeTheOldestUndoLinkWins goes from a to d and back by every order of the three links: one that is used makes
// the younger ones void, and none that is older.
func TestWithinItsLifeTheOldestUndoLinkWins(t *testing.T) {
	for _, resets := range []bool{false, true} {
		t.Run(fmt.Sprintf("resets=%t", resets), func(t *testing.T) {
			accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
				for i, order := range permutations([]string{"a", "b", "c"}) {
					h := newHeist(t, w, fmt.Sprintf("h%d", i), resets)
					h.moves(t, "a", "b")
					h.moves(t, "b", "c")
					h.moves(t, "c", "d")
					oldest := "d"
					for _, who := range order {
						err := h.Emails.Undo(t.Context(), h.undo[who])
						if who > oldest {
							accounttest.Is(t, err, account.InvalidToken)
						} else if oldest = who; err != nil {
							t.Errorf("%v: undo by %s: %v", order, who, err)
						}
						h.has(t, oldest)
						if resets && err == nil {
							h.reset(t, who)
						}
					}
				}
			})
		})
	}
}

// TestAnUndoEndsWhatWasBegunSinceTheChange is the takeover that a review found: whoever had the password is out for good
// once the owner took the address back and chose a new password.
func TestAnUndoEndsWhatWasBegunSinceTheChange(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		h := newHeist(t, w, "h", false)
		h.moves(t, "a", "b")
		h.moves(t, "b", "c")
		_, key := w.MakeKey(t, h.in.Who)
		if err := h.Emails.Change(t.Context(), h.in.Who, h.at("d")); err != nil {
			t.Fatal(err)
		}
		change := mailed(t, w, h.at("d"))
		if err := h.Passwords.Forgot(accounttest.From(t), h.at("c")); err != nil {
			t.Fatal(err)
		}
		reset := mailed(t, w, h.at("c"))
		intruder := h.in
		if err := h.Emails.Undo(t.Context(), h.undo["a"]); err != nil {
			t.Fatal(err)
		}
		h.has(t, "a")
		if m := w.Inbox.Next(t, h.at("c")); !strings.Contains(m.Subject, "taken back") || m.Token() != "" {
			t.Errorf("the address that was replaced is told %q", m.Subject)
		}
		accounttest.Is(t, h.Emails.Undo(t.Context(), h.undo["b"]), account.InvalidToken)
		accounttest.Is(t, h.Emails.Verify(t.Context(), change, nil), account.InvalidToken)
		accounttest.Is(t, accounttest.ErrOf(h.Passwords.Reset(accounttest.From(t), reset, other)), account.InvalidToken)
		accounttest.Is(t, accounttest.ErrOf(h.Bearer(t.Context(), key)), apikey.Invalid)
		if w.IsSignedIn(t, intruder.Token) {
			t.Error("the intruder's session lives")
		}
		h.reset(t, "a")
		accounttest.Is(t, h.Emails.Undo(t.Context(), h.undo["b"]), account.InvalidToken)
		h.has(t, "a")
		// What comes afterwards has links of its own.
		h.moves(t, "a", "e")
		if err := h.Emails.Undo(t.Context(), h.undo["a"]); err != nil {
			t.Errorf("undo of a later change: %v", err)
		}
	})
}

func TestOfTwoUndoLinksAtOnceTheOlderWins(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		for i := range 6 {
			h := newHeist(t, w, fmt.Sprintf("h%d", i), false)
			h.moves(t, "a", "b")
			h.moves(t, "b", "c")
			h.moves(t, "c", "d")
			var wg sync.WaitGroup
			for _, who := range []string{"c", "a", "b", "a"} {
				wg.Go(func() {
					if err := h.Emails.Undo(t.Context(), h.undo[who]); err != nil && !fault.Is(err, account.InvalidToken) {
						t.Errorf("undo by %s: %v", who, err)
					}
				})
			}
			wg.Wait()
			h.has(t, "a")
		}
	})
}

func TestAnAddressThatWasChangedBackIsStillTheOldest(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		h := newHeist(t, w, "h", false)
		h.moves(t, "a", "b")
		undo := h.undo["a"]
		h.moves(t, "b", "a")
		if err := h.Emails.Undo(t.Context(), undo); err != nil {
			t.Errorf("undo to the address that the account has: %v", err)
		}
		accounttest.Is(t, h.Emails.Undo(t.Context(), h.undo["b"]), account.InvalidToken)
		h.has(t, "a")
	})
}

// TestAnIntruderCannotBarTheWayBack by deleting the account, by giving the address to another one that never proved it, or by
// leading the owner to sign up anew with it.
func TestAnIntruderCannotBarTheWayBack(t *testing.T) {
	lenient := byMail
	lenient.Edit = func(c *account.Config) { c.Strict = false }
	t.Run("deletion", func(t *testing.T) {
		accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
			h := newHeist(t, w, "h", false)
			h.moves(t, "a", "b")
			if _, err := h.Delete(t.Context(), h.in.Who, h.in.Account.Username); err != nil {
				t.Fatal(err)
			}
			theirs := mailed(t, w, h.at("b"))
			if err := h.Emails.Undo(t.Context(), h.undo["a"]); err != nil {
				t.Fatalf("undo of a deleted account: %v", err)
			}
			accounttest.Is(t, h.Undelete(t.Context(), theirs), account.InvalidToken)
			if err := h.Undelete(t.Context(), mailed(t, w, h.at("a"))); err != nil {
				t.Errorf("undelete by the owner: %v", err)
			}
			h.has(t, "a")
			h.login(t, "a")
		})
	})
	t.Run("squatter", func(t *testing.T) {
		accounttest.Each(t, lenient, func(t *testing.T, w *accounttest.World) {
			h := &heist{World: w, name: "h", secret: password, undo: map[string]string{}}
			h.in = w.Join(t, h.at("a")).SignedIn
			w.Execute(t, "UPDATE accounts SET email_verified = 1")
			h.moves(t, "a", "b")
			squatter := w.Join(t, h.at("a"))
			if err := h.Emails.Undo(t.Context(), h.undo["a"]); err != nil {
				t.Fatalf("undo over an unproven holder: %v", err)
			}
			h.has(t, "a")
			if p, _ := h.Account(t.Context(), squatter.Account.ID); p.Email != "" || w.IsSignedIn(t, squatter.Token) {
				t.Errorf("the squatter keeps %q", p.Email)
			}
		})
	})
	t.Run("proven", func(t *testing.T) {
		accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
			h := newHeist(t, w, "h", false)
			h.moves(t, "a", "b")
			anew := joinByMail(t, w, h.at("a"))
			accounttest.Check(t, h.Emails.Undo(t.Context(), h.undo["a"]))
			h.has(t, "a")
			if p, _ := h.Account(t.Context(), anew.Account.ID); p.Email != "" || p.EmailVerified || w.IsSignedIn(t, anew.Token) {
				t.Errorf("the account that was made meanwhile keeps %q", p.Email)
			}
		})
	})
	t.Run("moved there", func(t *testing.T) {
		accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
			h, second := newHeist(t, w, "h", false), newHeist(t, w, "second", false)
			h.moves(t, "a", "b")
			accounttest.Check(t, second.Emails.Change(t.Context(), second.in.Who, h.at("a")))
			accounttest.Check(t, second.Emails.Verify(t.Context(), mailed(t, w, h.at("a")), nil))
			second.undo["a"] = mailed(t, w, second.at("a"))
			accounttest.Check(t, h.Emails.Undo(t.Context(), h.undo["a"]))
			h.has(t, "a")
			accounttest.Check(t, second.Emails.Undo(t.Context(), second.undo["a"]))
			second.has(t, "a")
		})
	})
	t.Run("provider", func(t *testing.T) {
		eachHub(t, byMail, func(t *testing.T, h *hub) {
			theft := newHeist(t, h.World, "h", false)
			h.AddPerson(t, "ada-l", theft.at("a"))
			owner := &accounttest.Browser{Hub: h.Hub, As: "ada-l", Token: theft.in.Token}
			if _, err := owner.Visit(t, account.IntentLink); err != nil {
				t.Fatal(err)
			}
			theft.login(t, "a")
			linked, err := h.Identities.List(t.Context(), theft.in.Who)
			accounttest.Check(t, err)
			accounttest.Check(t, h.Identities.Unlink(t.Context(), theft.in.Who, linked[0].ID))
			theft.moves(t, "a", "b")
			owner.Token = ""
			if anew := owner.SignIn(t); anew.Account.ID == theft.in.Account.ID || anew.Account.Email != theft.at("a") {
				t.Fatalf("the owner came to %+v", anew.Account)
			}
			accounttest.Check(t, h.Emails.Undo(t.Context(), theft.undo["a"]))
			theft.has(t, "a")
			owner.Token = ""
			if back := owner.SignIn(t); back.Account.Email != "" {
				t.Errorf("the account that was made meanwhile keeps %q", back.Account.Email)
			}
		})
	})
}

func TestAnUndoEndsTheIdentitiesLinkedSinceTheChange(t *testing.T) {
	eachHub(t, accounttest.Options{Mail: true}, func(t *testing.T, h *hub) {
		theft := newHeist(t, h.World, "h", false)
		before, since := h.Browser("octocat"), h.Browser("hubot")
		before.Token = theft.in.Token
		if _, err := before.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		theft.login(t, "a")
		h.Clock.Pass(time.Second)
		theft.moves(t, "a", "b")
		h.Clock.Pass(time.Second)
		since.Token = theft.in.Token
		if _, err := since.Visit(t, account.IntentLink); err != nil {
			t.Fatal(err)
		}
		if err := h.Emails.Undo(t.Context(), theft.undo["a"]); err != nil {
			t.Fatal(err)
		}
		left, err := h.Identities.List(t.Context(), theft.in.Who)
		if err != nil || len(left) != 1 || left[0].Login != "octocat" {
			t.Errorf("identities: %+v, %v", left, err)
		}
		since.Token = ""
		if back := since.SignIn(t); back.Account.ID == theft.in.Account.ID {
			t.Error("the identity of the intruder opens the account")
		}
	})
}

// TestAnAddressThatWasTakenBackStaysUntilAReset is an intruder who knows the password, and is faster than the owner with
// everything: the address that was taken back is not theirs again.
func TestAnAddressThatWasTakenBackStaysUntilAReset(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		h := newHeist(t, w, "h", false)
		h.moves(t, "a", "b")
		accounttest.Check(t, h.Emails.Undo(t.Context(), h.undo["a"]))
		h.login(t, "a")
		accounttest.Is(t, h.Emails.Change(t.Context(), h.in.Who, h.at("c")), fault.Forbidden)
		changed, err := h.Passwords.Change(accounttest.From(t), h.in.Who, password, other)
		accounttest.Check(t, err)
		accounttest.Is(t, h.Emails.Change(t.Context(), changed.Who, h.at("c")), fault.Forbidden)
		w.Clock.Pass(72*time.Hour - time.Second)
		fresh, err := h.Passwords.Reauth(accounttest.From(t), changed.Who, other)
		accounttest.Check(t, err)
		accounttest.Is(t, h.Emails.Change(t.Context(), fresh.Who, h.at("c")), fault.Forbidden)
		h.reset(t, "a")
		h.moves(t, "a", "e")
		h.has(t, "e")
	})
}

// TestAnUndoEndsWhoWasLetInSinceTheChange leaves the owner's people and takes the intruder's: those who came, those who are
// invited, and what they made.
func TestAnUndoEndsWhoWasLetInSinceTheChange(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		h := newHeist(t, w, "h", false)
		n := &nest{World: w, spaces: spacesOf(t, w)}
		n.squatter.Account = h.in.Account
		scope := n.at("personal")
		in := func(email, role string) account.SignedIn {
			t.Helper()
			who := joinByMail(t, w, email)
			n.invite(t, as(h.in.Account), scope, email, role)
			guest := workspace.Guest{Actor: who.Account.Actor(), Email: email, Verified: true}
			accounttest.Check(t, accounttest.ErrOf(n.spaces.Accept(t.Context(), guest, n.invited[len(n.invited)-1])))
			return who
		}
		key := func(who account.SignedIn) string {
			t.Helper()
			m, _, err := w.Membership(t.Context(), who.Account.ID, scope)
			accounttest.Check(t, err)
			_, value, err := w.Keys.Create(t.Context(), who.Who, m, apikey.Draft{Name: "k", Scopes: []string{"agents:read"}})
			accounttest.Check(t, err)
			return value
		}
		friend := in("friend@example.com", workspace.Admin)
		friendly := key(friend)
		n.invite(t, as(h.in.Account), scope, "guest@example.com", workspace.Viewer)
		w.Clock.Pass(time.Second)
		h.moves(t, "a", "b")
		w.Clock.Pass(time.Second)
		accomplice := in("mallory@example.com", workspace.Owner)
		hostile := key(accomplice)
		n.invite(t, as(accomplice.Account), scope, "third@example.com", workspace.Owner)
		accounttest.Check(t, h.Emails.Undo(t.Context(), h.undo["a"]))

		for who, want := range map[string]bool{friend.Account.ID: true, h.in.Account.ID: true, accomplice.Account.ID: false} {
			if _, found, err := w.Membership(t.Context(), who, scope); err != nil || found != want {
				t.Errorf("%s is a member: %t, %v", who, found, err)
			}
		}
		accounttest.Check(t, accounttest.ErrOf(w.Bearer(t.Context(), friendly)))
		accounttest.Is(t, accounttest.ErrOf(w.Bearer(t.Context(), hostile)), apikey.Invalid)
		if got := w.Count(t, "SELECT count(*) FROM invitations"); got != 1 {
			t.Errorf("%d invitations are left", got)
		}
		if got := w.Count(t, "SELECT count(*) FROM api_keys WHERE creator = $1 AND revoked_at IS NULL", accomplice.Account.ID); got != 0 {
			t.Errorf("%d keys of the accomplice are listed", got)
		}
	})
}

// TestWithAllLinksAtOnceTheOldestWin crosses two accounts that want addresses of each other, and uses everything that was ever
// mailed for them at the same moment. Nobody waits for somebody who waits for them.
func TestWithAllLinksAtOnceTheOldestWin(t *testing.T) {
	accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
		for i := range 6 {
			v, x := newHeist(t, w, fmt.Sprintf("v%d", i), false), newHeist(t, w, fmt.Sprintf("x%d", i), false)
			v.moves(t, "a", "b")
			accounttest.Check(t, x.Emails.Change(t.Context(), x.in.Who, v.at("a")))
			accounttest.Check(t, x.Emails.Verify(t.Context(), mailed(t, w, v.at("a")), nil))
			x.undo["a"] = mailed(t, w, x.at("a"))
			v.moves(t, "b", "c")
			accounttest.Check(t, v.Emails.Change(t.Context(), v.in.Who, x.at("a")))
			vc := mailed(t, w, x.at("a"))
			accounttest.Check(t, x.Emails.Change(t.Context(), x.in.Who, v.at("b")))
			xc := mailed(t, w, v.at("b"))
			accounttest.Check(t, v.Passwords.Forgot(accounttest.From(t), v.at("c")))
			vr := mailed(t, w, v.at("c"))
			accounttest.Check(t, x.Passwords.Forgot(accounttest.From(t), v.at("a")))
			xr := mailed(t, w, v.at("a"))
			var wg sync.WaitGroup
			for name, f := range map[string]func() error{
				"v undo a": func() error { return w.Emails.Undo(t.Context(), v.undo["a"]) },
				"v undo b": func() error { return w.Emails.Undo(t.Context(), v.undo["b"]) },
				"x undo a": func() error { return w.Emails.Undo(t.Context(), x.undo["a"]) },
				"v change": func() error { return w.Emails.Verify(t.Context(), vc, nil) },
				"x change": func() error { return w.Emails.Verify(t.Context(), xc, nil) },
				"v reset":  func() error { return accounttest.ErrOf(w.Passwords.Reset(accounttest.From(t), vr, other)) },
				"x reset":  func() error { return accounttest.ErrOf(w.Passwords.Reset(accounttest.From(t), xr, other)) },
				"v delete": func() error { return accounttest.ErrOf(w.Delete(t.Context(), v.in.Who, v.in.Account.Username)) },
				"x key":    func() error { return accounttest.ErrOf(w.Rename(t.Context(), x.in.Who, "x", 0)) },
			} {
				wg.Go(func() {
					if err := f(); err != nil && !fault.Is(err, account.InvalidToken) && !fault.Is(err, account.Unauthenticated) {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			wg.Wait()
			p, _ := w.Account(t.Context(), v.in.Account.ID)
			q, _ := w.Account(t.Context(), x.in.Account.ID)
			if p.Email != v.at("a") || q.Email != x.at("a") {
				t.Errorf("v has %s, x has %s", p.Email, q.Email)
			}
		}
	})
}

// TestAnIntruderWithThePasswordIsOutInTheEnd does whatever voids the link that the owner asks for, as fast as can be and again
// and again: changes the password, deletes the account, moves it to another address. In the end the owner has it.
func TestAnIntruderWithThePasswordIsOutInTheEnd(t *testing.T) {
	for name, hinder := range map[string]func(t *testing.T, h *heist) error{
		"password": func(t *testing.T, h *heist) error {
			next := h.secret + "!"
			in, err := h.Passwords.Change(accounttest.From(t), h.in.Who, h.secret, next)
			if err == nil {
				h.in, h.secret = in, next
			}
			return err
		},
		"deletion": func(t *testing.T, h *heist) error {
			_, err := h.Delete(t.Context(), h.in.Who, h.in.Account.Username)
			if err == nil {
				accounttest.Check(t, h.Undelete(t.Context(), mailed(t, h.World, h.at("a"))))
				h.login(t, "a")
			}
			return err
		},
		"address": func(t *testing.T, h *heist) error {
			err := h.Emails.Change(t.Context(), h.in.Who, h.at("b"))
			if err == nil {
				accounttest.Check(t, h.Emails.Verify(t.Context(), mailed(t, h.World, h.at("b")), nil))
				accounttest.Check(t, h.Emails.Undo(t.Context(), mailed(t, h.World, h.at("a"))))
				h.login(t, "a")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			accounttest.Each(t, byMail, func(t *testing.T, w *accounttest.World) {
				h := newHeist(t, w, "h", false)
				for try := 1; ; try++ {
					if try > 15 {
						t.Fatal("the owner gave up")
					}
					accounttest.Check(t, h.Passwords.Forgot(accounttest.From(t), h.at("a")))
					link := mailed(t, w, h.at("a"))
					refused := hinder(t, h)
					err := accounttest.ErrOf(h.Passwords.Reset(accounttest.From(t), link, other))
					if err == nil {
						if !fault.Is(refused, fault.RateLimited) && !fault.Is(refused, fault.Forbidden) {
							t.Errorf("the intruder was told %v", refused)
						}
						return
					}
					accounttest.Is(t, err, account.InvalidToken)
					w.Clock.Pass(20 * time.Minute)
					h.login(t, "a") // the intruder comes back
				}
			})
		})
	}
}
