package workspace_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/strictjson"
	"svc.dev/svc/service/throttle"
	"svc.dev/svc/service/workspace"
)

func TestAnInvitationIsMailedAndAccepted(t *testing.T) {
	mailed(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in, err := w.Create(t.Context(), ada, "acme", "Acme Inc.")
		must(t, err)
		sent, err := w.Invite(t.Context(), ada, in.Scope, "Bob@Example.COM", workspace.Builder)
		must(t, err)
		if sent.AcceptURL != "" || sent.Email != "bob@example.com" || sent.Role != workspace.Builder || sent.InvitedBy.Username != "ada" ||
			!sent.ExpiresAt.Equal(w.Now().Add(7*day)) || sent.Version != 1 {
			t.Errorf("got %+v", sent)
		}
		got := w.inbox.Next(t, "bob@example.com")
		if !slices.Contains(got.Links, platform+"/invitations#t="+got.Token()) || !strings.Contains(got.Text, "Ada invites you to work in \"Acme Inc.\"") {
			t.Errorf("got %s", got.Text)
		}
		m, err := w.Accept(t.Context(), guestOf(bob, "bob@example.com", true), got.Token())
		must(t, err)
		if m.Scope != in.Scope || m.Role != workspace.Builder || m.Name != "Acme Inc." {
			t.Errorf("got %+v", m)
		}
		if e := w.events(t, in.Scope)[0]; e.Action != "invitation.accepted" || e.Actor != bob.Actor || e.Target.ID != sent.ID {
			t.Errorf("the chain says %+v", e)
		}
		page, err := w.Invitations(t.Context(), ada, in.Scope, listing.Query{})
		must(t, err)
		if len(page.Items) != 0 {
			t.Errorf("got %+v", page)
		}
	})
}

func TestWithoutMailTheLinkIsHandedOverOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in := w.business(t, ada, "acme")
		sent, err := w.Invite(t.Context(), ada, in.Scope, "bob@example.com", workspace.Viewer)
		must(t, err)
		if !strings.HasPrefix(sent.AcceptURL, platform+"/invitations#t=") || len(tokenOf(sent)) != 43 {
			t.Fatalf("got %q", sent.AcceptURL)
		}
		page, err := w.Invitations(t.Context(), ada, in.Scope, listing.Query{})
		must(t, err)
		text, err := json.Marshal(page)
		must(t, err)
		if len(page.Items) != 1 || page.Items[0].InvitedBy.DisplayName != "Ada" || strings.Contains(string(text), tokenOf(sent)) {
			t.Errorf("got %s", text)
		}
		// No address can be verified here, so that it is the right one is enough.
		_, err = w.Accept(t.Context(), guestOf(bob, "bob@example.com", false), tokenOf(sent))
		must(t, err)
	})
}

// TestNoTokenIsKept looks for the value in every row of every table.
func TestNoTokenIsKept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		sent, err := w.Invite(t.Context(), s.owner, s.in.Scope, "eve@example.com", workspace.Viewer)
		must(t, err)
		again, err := w.Resend(t.Context(), s.owner, s.in.Scope, sent.ID)
		must(t, err)
		text := w.dump(t, s.in.ID)
		for _, e := range w.events(t, s.in.Scope) {
			line, err := json.Marshal(e)
			must(t, err)
			text += string(line)
		}
		for _, value := range []string{tokenOf(sent), tokenOf(again)} {
			if value == "" || strings.Contains(text, value) {
				t.Errorf("%q is kept", value)
			}
		}
		if strings.Contains(text[strings.Index(text, "{"):], "eve@example.com") {
			t.Error("the audit log names the address")
		}
		if n := w.count(t, "SELECT count(*) FROM outbox"); n != 0 {
			t.Errorf("%d mails wait where there is no mail", n)
		}
	})
}

func TestAnInvitationIsForOneAddress(t *testing.T) {
	mailed(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in := w.business(t, ada, "acme")
		_, err := w.Invite(t.Context(), ada, in.Scope, "bob@example.com", workspace.Viewer)
		must(t, err)
		token := w.inbox.Next(t, "bob@example.com").Token()
		for _, guest := range []workspace.Guest{
			guestOf(bob, "bob@example.com", false), guestOf(bob, "eve@example.com", true), guestOf(bob, "", true), guestOf(bob, "", false),
			guestOf(bob, "bob@example.com.evil.example", true), guestOf(bob, "b.ob@example.com", true), guestOf(bob, "bob+x@example.com", true),
			guestOf(bob, "bob@sub.example.com", true), guestOf(bob, "bob@example.co", true), guestOf(bob, "bob＠example.com", true),
			guestOf(bob, "bob@example.com\x00", true), guestOf(bob, " bob@example.com", true), guestOf(bob, "bob@example.com,eve@example.com", true),
			guestOf(bob, "bоb@example.com", true), guestOf(bob, "bob@exаmple.com", true), guestOf(bob, "bob@examрle.com", true),
		} {
			_, _, looked := w.Look(t.Context(), guest, token)
			_, err := w.Accept(t.Context(), guest, token)
			if looked == nil || err == nil || looked.Error() != err.Error() {
				t.Errorf("looking: %v, coming in: %v", looked, err)
			}
			if f := refused(t, err, workspace.InvitationEmailMismatch); strings.Contains(f.Error(), "bob@") || f.Meta != nil {
				t.Errorf("the refusal tells the address: %v", f)
			}
		}
		if w.roleOf(t, in, bob) != "" {
			t.Fatal("bob is in")
		}
		// None of them has used it up. Case is no difference between addresses.
		_, err = w.Accept(t.Context(), guestOf(bob, "BOB@EXAMPLE.com", true), token)
		must(t, err)
	})
}

// TestAnInvitationSaysTheSameToEverybody compares the mails to an address that has an account and to one that has none.
func TestAnInvitationSaysTheSameToEverybody(t *testing.T) {
	mailed(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in := w.business(t, ada, "acme")
		w.put(t, in, bob, workspace.Viewer)
		var texts []string
		for _, email := range []string{"bob@example.com", "nobody@example.com"} {
			sent, err := w.Invite(t.Context(), ada, in.Scope, email, workspace.Viewer)
			must(t, err)
			got := w.inbox.Next(t, email)
			texts = append(texts, strings.ReplaceAll(got.Subject+got.Text+got.HTML, got.Token(), "TOKEN"))
			if sent.AcceptURL != "" {
				t.Error("the inviter has the link")
			}
		}
		if texts[0] != texts[1] {
			t.Errorf("got %s", texts)
		}
	})
}

func TestAnInvitationThatIsNotGoodIsAlwaysRefusedAlike(t *testing.T) {
	eachWith(t, unlimited, func(t *testing.T, w *world) {
		ada, eve := w.person(t, "ada"), w.person(t, "eve")
		admin := staff(w.person(t, "root-2"), workspace.StaffAdmin)
		w.exec(t, "UPDATE accounts SET service_role = 'admin' WHERE id = $1", admin.ID)
		var first string
		cases := 0
		// Each spoils an invitation that one who may has sent.
		for name, spoil := range map[string]func(in workspace.Membership, by workspace.Caller, sent workspace.Sent){
			"revoked": func(in workspace.Membership, by workspace.Caller, sent workspace.Sent) {
				must(t, w.Revoke(t.Context(), ada, in.Scope, sent.ID))
			},
			"expired": func(workspace.Membership, workspace.Caller, workspace.Sent) { w.pass(7 * day) },
			"resent": func(in workspace.Membership, by workspace.Caller, sent workspace.Sent) {
				must(t, err2(w.Resend(t.Context(), ada, in.Scope, sent.ID)))
			},
			"workspace deleted": func(in workspace.Membership, _ workspace.Caller, _ workspace.Sent) {
				must(t, err2(w.Delete(t.Context(), ada, in.Scope, in.Business)))
			},
			"inviter demoted to builder": func(in workspace.Membership, by workspace.Caller, _ workspace.Sent) {
				must(t, err2(w.ChangeRole(t.Context(), ada, in.Scope, by.ID, workspace.Builder, 0)))
			},
			"inviter demoted to billing": func(in workspace.Membership, by workspace.Caller, _ workspace.Sent) {
				must(t, err2(w.ChangeRole(t.Context(), ada, in.Scope, by.ID, workspace.Billing, 0)))
			},
			"inviter removed": func(in workspace.Membership, by workspace.Caller, _ workspace.Sent) {
				must(t, w.Remove(t.Context(), ada, in.Scope, by.ID, 0))
			},
			"inviter left": func(in workspace.Membership, by workspace.Caller, _ workspace.Sent) {
				must(t, w.Leave(t.Context(), by, in.Scope))
			},
			"inviter suspended": func(_ workspace.Membership, by workspace.Caller, _ workspace.Sent) {
				w.exec(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", by.ID)
			},
			"inviter erased": func(_ workspace.Membership, by workspace.Caller, _ workspace.Sent) {
				w.exec(t, "DELETE FROM accounts WHERE id = $1", by.ID)
			},
		} {
			cases++
			in := w.business(t, ada, fmt.Sprintf("b-%d", cases))
			by := w.member(t, in, workspace.Admin)
			sent, err := w.Invite(t.Context(), by, in.Scope, "bob@example.com", workspace.Admin)
			must(t, err)
			spoil(in, by, sent)
			guest := w.somebody(t)
			_, err = w.Accept(t.Context(), guestOf(guest, "bob@example.com", true), tokenOf(sent))
			f := refused(t, err, workspace.InvitationInvalid)
			if first == "" {
				first = f.Error()
			}
			if f.Error() != first || f.Meta != nil || w.roleOf(t, in, guest) != "" {
				t.Errorf("%s: %v", name, f)
			}
		}
		for _, token := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("A", 10_000), "\x00", "\xff", "' OR 1=1 --", "inv_01", fmt.Sprintf("%064x", 0)} {
			_, err := w.Accept(t.Context(), guestOf(eve, "bob@example.com", true), token)
			if f := refused(t, err, workspace.InvitationInvalid); f.Error() != first {
				t.Errorf("%q: %v", token, f)
			}
		}
		// What is stored of a token opens nothing.
		in := w.business(t, ada, "stolen")
		must(t, err2(w.Invite(t.Context(), ada, in.Scope, "bob@example.com", workspace.Owner)))
		var hash string
		must(t, w.db.Read(t.Context(), func(tx *sqldb.Tx) error {
			return tx.QueryRow("SELECT token FROM invitations WHERE workspace = $1", in.ID).Scan(&hash)
		}))
		_, err := w.Accept(t.Context(), guestOf(eve, "bob@example.com", true), hash)
		refused(t, err, workspace.InvitationInvalid)
	})
}

// TestAnInvitationNeedsAnInviterWhoMayStillGiveItsRole tries every role of the invitation with every later role of its inviter.
func TestAnInvitationNeedsAnInviterWhoMayStillGiveItsRole(t *testing.T) {
	eachWith(t, unlimited, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		by := w.member(t, in, workspace.Owner)
		for _, role := range workspace.Roles() {
			for _, later := range append(workspace.Roles(), "superuser") {
				w.put(t, in, by, workspace.Owner)
				email := role + "-" + later + "@example.com"
				sent, err := w.Invite(t.Context(), by, in.Scope, email, role)
				must(t, err)
				w.put(t, in, by, later)
				guest := w.somebody(t)
				_, err = w.Accept(t.Context(), guestOf(guest, email, true), tokenOf(sent))
				want := ""
				if !workspace.Allows(later, workspace.Manage) || !workspace.AtMost(role, later) {
					want = workspace.InvitationInvalid
				}
				if typeOf(err) != want || (want == "") != (w.roleOf(t, in, guest) == role) {
					t.Errorf("%s by %s: %v", role, later, err)
				}
			}
		}
	})
}

func TestAnInvitationOfStaffNeedsThatTheyAreStaff(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		in := w.business(t, w.somebody(t), "acme")
		admin := staff(w.somebody(t), workspace.StaffAdmin)
		for role, want := range map[string]string{"": workspace.InvitationInvalid, "support": workspace.InvitationInvalid, "admin": ""} {
			email := "to-" + role + "@example.com"
			sent, err := w.Invite(t.Context(), admin, in.Scope, email, workspace.Owner)
			must(t, err)
			w.exec(t, "UPDATE accounts SET service_role = $2 WHERE id = $1", admin.ID, role)
			_, err = w.Accept(t.Context(), guestOf(w.somebody(t), email, true), tokenOf(sent))
			if typeOf(err) != want {
				t.Errorf("%q: %v", role, err)
			}
		}
	})
}

func TestThereIsOnePendingInvitationForAnAddress(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in, other := w.business(t, ada, "acme"), w.business(t, bob, "acme")
		first, err := w.Invite(t.Context(), ada, in.Scope, "guest@example.com", workspace.Viewer)
		must(t, err)
		_, err = w.Invite(t.Context(), ada, in.Scope, "Guest@EXAMPLE.com", workspace.Admin)
		refused(t, err, fault.NameTaken)
		must(t, err2(w.Invite(t.Context(), bob, other.Scope, "guest@example.com", workspace.Viewer)))
		w.pass(7 * day)
		second, err := w.Invite(t.Context(), ada, in.Scope, "guest@example.com", workspace.Admin)
		must(t, err)
		page, err := w.Invitations(t.Context(), ada, in.Scope, listing.Query{})
		must(t, err)
		if len(page.Items) != 1 || page.Items[0].ID != second.ID || second.ID == first.ID {
			t.Errorf("got %+v", page)
		}
		if got := together(16, func(int) error {
			return err2(w.Invite(t.Context(), ada, in.Scope, "other@example.com", workspace.Viewer))
		}); got[""] != 1 || got[fault.NameTaken] != 15 {
			t.Errorf("got %v", got)
		}
	})
}

func TestAnInvitationIsAcceptedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob, eve := w.person(t, "ada"), w.person(t, "bob"), w.person(t, "eve")
		in := w.business(t, ada, "acme")
		sent, err := w.Invite(t.Context(), ada, in.Scope, "bob@example.com", workspace.Admin)
		must(t, err)
		// Without mail two accounts can name the same address; only one of them comes in.
		got := together(16, func(i int) error {
			guest := guestOf([]workspace.Caller{bob, eve}[i%2], "bob@example.com", false)
			return err2(w.Accept(t.Context(), guest, tokenOf(sent)))
		})
		if got[""] != 1 || got[workspace.InvitationInvalid] != 15 {
			t.Errorf("got %v", got)
		}
		if n := w.count(t, "SELECT count(*) FROM members WHERE workspace = $1", in.ID); n != 2 {
			t.Errorf("%d members", n)
		}
		if got := w.actions(t, in.Scope); !slices.Equal(got, []string{"workspace.created", "invitation.created", "invitation.accepted"}) {
			t.Errorf("the chain says %v", got)
		}
	})
}

// TestAnInvitationIsAcceptedOrRevoked lets both happen at once; it is never both.
func TestAnInvitationIsAcceptedOrRevoked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		for round := range 12 {
			guest, email := w.somebody(t), fmt.Sprintf("g%d@example.com", round)
			sent, err := w.Invite(t.Context(), ada, in.Scope, email, workspace.Viewer)
			must(t, err)
			got := together(2, func(i int) error {
				if i == 0 {
					return err2(w.Accept(t.Context(), guestOf(guest, email, true), tokenOf(sent)))
				}
				return w.Revoke(t.Context(), ada, in.Scope, sent.ID)
			})
			in := w.roleOf(t, in, guest) != ""
			if got[""] != 1 || in != (got[fault.ItemNotFound] == 1) || in == (got[workspace.InvitationInvalid] == 1) {
				t.Errorf("in %v: %v", in, got)
			}
		}
	})
}

func TestAMemberWhoAcceptsStaysWhatTheyAre(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		for i, by := range []workspace.Caller{ada, w.member(t, in, workspace.Viewer)} {
			was, email := w.roleOf(t, in, by), fmt.Sprintf("g%d@example.com", i)
			sent, err := w.Invite(t.Context(), ada, in.Scope, email, workspace.Builder)
			must(t, err)
			m, err := w.Accept(t.Context(), guestOf(by, email, true), tokenOf(sent))
			must(t, err)
			if m.Role != was || w.roleOf(t, in, by) != was {
				t.Errorf("%s became %s", was, m.Role)
			}
		}
	})
}

func TestASuspendedWorkspaceTakesNobodyIn(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in := w.business(t, ada, "acme")
		sent, err := w.Invite(t.Context(), ada, in.Scope, "bob@example.com", workspace.Viewer)
		must(t, err)
		admin := staff(w.somebody(t), workspace.StaffAdmin)
		must(t, err2(w.Suspend(t.Context(), admin, in.ID, "spam")))
		_, err = w.Accept(t.Context(), guestOf(bob, "bob@example.com", true), tokenOf(sent))
		refused(t, err, fault.WorkspaceSuspended)
		_, err = w.Accept(t.Context(), guestOf(bob, "eve@example.com", true), tokenOf(sent))
		refused(t, err, workspace.InvitationEmailMismatch)
		must(t, err2(w.Reinstate(t.Context(), admin, in.ID)))
		must(t, err2(w.Accept(t.Context(), guestOf(bob, "bob@example.com", true), tokenOf(sent))))
	})
}

func TestResendingMakesANewTokenAndAnotherInviter(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada, bob := w.person(t, "ada"), w.person(t, "bob")
		in := w.business(t, ada, "acme")
		admin := w.member(t, in, workspace.Admin)
		first, err := w.Invite(t.Context(), ada, in.Scope, "bob@example.com", workspace.Viewer)
		must(t, err)
		w.pass(8 * day) // also one that has expired
		second, err := w.Resend(t.Context(), admin, in.Scope, first.ID)
		must(t, err)
		if second.ID != first.ID || second.Version != 2 || second.InvitedBy.Account != admin.ID || !second.ExpiresAt.Equal(w.Now().Add(7*day)) || tokenOf(first) == tokenOf(second) {
			t.Errorf("got %+v", second)
		}
		_, err = w.Accept(t.Context(), guestOf(bob, "bob@example.com", true), tokenOf(first))
		refused(t, err, workspace.InvitationInvalid)
		w.pass(7*day - time.Millisecond)
		must(t, err2(w.Accept(t.Context(), guestOf(bob, "bob@example.com", true), tokenOf(second))))
	})
}

func TestOnlyAnAddressIsInvited(t *testing.T) {
	mailed(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		for email, problem := range map[string]string{
			"": "invalid", "bob": "invalid", "bob@": "invalid", "@example.com": "invalid", "bob@localhost": "invalid", "a@b@example.com": "invalid",
			"bob@example.com\r\nBcc: eve@example.com": "invalid", "Bob <bob@example.com>": "invalid", "bob@example.com, eve@example.com": "invalid",
			"bob @example.com": "invalid", "bob＠example.com": "invalid", "bob@example.com\x00": "invalid", "\xff@example.com": "invalid",
			strings.Repeat("a", 65) + "@example.com": "too_long", strings.Repeat("a", 250) + "@example.com": "too_long",
		} {
			_, err := w.Invite(t.Context(), ada, in.Scope, email, workspace.Viewer)
			if got := strictjson.FieldsOf(refused(t, err, fault.InvalidRequest)); len(got) != 1 || got[0].Field != "email" || got[0].Type != problem {
				t.Errorf("%q: %v", email, got)
			}
		}
		if n := w.count(t, "SELECT count(*) FROM outbox"); n != 0 {
			t.Errorf("%d mails", n)
		}
	})
}

func TestOnePersonInvitesSoOftenAndNoMore(t *testing.T) {
	edit := func(c *workspace.Config) { c.Invites = throttle.Rate{Limit: 5, Per: day} }
	eachWith(t, edit, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in, other := w.business(t, ada, "acme"), w.business(t, ada, "other")
		got := together(16, func(i int) error {
			address := []string{in.Scope, other.Scope}[i%2]
			return err2(w.Invite(t.Context(), ada, address, fmt.Sprintf("g%d@example.com", i), workspace.Viewer))
		})
		if got[""] != 5 || got[fault.RateLimited] != 11 {
			t.Errorf("got %v", got)
		}
		_, err := w.Invite(t.Context(), ada, in.Scope, "late@example.com", workspace.Viewer)
		if f := refused(t, err, fault.RateLimited); f.Meta["limit"] != "invitations" || f.RetryAfter <= 0 {
			t.Errorf("got %+v", f)
		}
		if n := w.count(t, "SELECT count(*) FROM invitations"); n != 5 {
			t.Errorf("%d invitations", n)
		}
		w.pass(day)
		must(t, err2(w.Invite(t.Context(), ada, in.Scope, "late@example.com", workspace.Viewer)))
	})
}

// TestNobodyFillsAStrangersMailbox invites, sends again, revokes and invites again, from one workspace and from another.
func TestNobodyFillsAStrangersMailbox(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in, other := w.business(t, ada, "acme"), w.business(t, ada, "other")
		for range 2 {
			sent, err := w.Invite(t.Context(), ada, in.Scope, "guest@example.com", workspace.Viewer)
			must(t, err)
			must(t, err2(w.Resend(t.Context(), ada, in.Scope, sent.ID)))
			must(t, w.Revoke(t.Context(), ada, in.Scope, sent.ID))
		}
		sent, err := w.Invite(t.Context(), ada, other.Scope, "guest@example.com", workspace.Viewer)
		must(t, err)
		_, err = w.Resend(t.Context(), ada, other.Scope, sent.ID)
		refused(t, err, fault.RateLimited)
		_, err = w.Invite(t.Context(), ada, in.Scope, "Guest@Example.com", workspace.Viewer)
		refused(t, err, fault.RateLimited)
		must(t, err2(w.Invite(t.Context(), ada, in.Scope, "another@example.com", workspace.Viewer)))
	})
}

func TestAWorkspaceHasSoManyPeopleAndNoMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		in := w.business(t, ada, "acme")
		must(t, w.db.Write(t.Context(), func(tx *sqldb.Tx) error {
			for i := range 998 {
				if _, err := tx.Exec("INSERT INTO members (workspace, account, role, created_at) VALUES ($1, $2, 'viewer', 0)", in.ID, fmt.Sprintf("acc_%026d", i)); err != nil {
					return err
				}
			}
			return nil
		}))
		must(t, err2(w.Invite(t.Context(), ada, in.Scope, "last@example.com", workspace.Viewer)))
		_, err := w.Invite(t.Context(), ada, in.Scope, "more@example.com", workspace.Viewer)
		refused(t, err, fault.InvalidRequest)
	})
}

func TestInvitationsThatExpiredLongAgoAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.scene(t)
		w.pass(day + 30*day)
		if n, err := w.Sweep(t.Context(), w.Now()); n != 0 || err != nil {
			t.Fatal(n, err)
		}
		w.pass(time.Millisecond)
		if n, err := w.Sweep(t.Context(), w.Now()); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if n := w.count(t, "SELECT count(*) FROM invitations WHERE id = $1", s.invited); n != 0 {
			t.Error("it is still there")
		}
	})
}
