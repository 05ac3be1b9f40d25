package device_test

import (
	"testing"
	"time"

	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/device"
)

// TestAPersonsDevicesAreBounded gives one device after the other: the key that was unused for longest gives way, and nobody else's.
func TestAPersonsDevicesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, s *scene) {
		pair := func(who account.Registered) string {
			a := s.ask(t)
			accounttest.Check(t, s.Devices.Approve(accounttest.From(t), who.Who, s.acme, runs(a)))
			g, _ := s.fetch(t, a)
			return g.Value
		}
		k, made, err := s.Keys.Create(t.Context(), s.ada.Who, s.acme, apikey.Draft{Name: "ci", Scopes: []string{"runs:read"}})
		accounttest.Check(t, err)
		hers, first, second := pair(s.ada), pair(s.bob), pair(s.bob)
		s.Clock.Pass(time.Second)
		if !s.opens(t, first) { // that is a use of it
			t.Fatal("it does not work")
		}
		for range 19 {
			if !s.opens(t, pair(s.bob)) {
				t.Fatal("a new key does not work")
			}
		}
		for name, c := range map[string]struct {
			key  string
			want bool
		}{"another's": {hers, true}, "one of no device": {made, true}, "the one in use": {first, true}, "the one that nobody used": {second, false}} {
			if s.opens(t, c.key) != c.want {
				t.Errorf("%s works: %t", name, !c.want)
			}
		}
		all, err := s.Keys.List(t.Context(), apikey.Query{Workspace: s.acme.ID})
		if err != nil || len(all.Items) != 22 {
			t.Fatalf("%d keys, %v", len(all.Items), err)
		}
		for _, listed := range all.Items {
			if (listed.Kind == apikey.Device) == (listed.ID == k.ID) || listed.Maker == "" || listed.State != apikey.Live {
				t.Errorf("listed: %+v", listed)
			}
		}
	})
}

// TestAKeyOfADeviceIsAKeyLikeOthers ends one in every way that a key ends, and rotates one.
func TestAKeyOfADeviceIsAKeyLikeOthers(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *scene, g device.Given){
		"revoked by an owner": func(t *testing.T, s *scene, g device.Given) {
			accounttest.Check(t, s.Keys.Revoke(t.Context(), s.ada.Who, s.acme, g.ID))
		},
		"revoked by a finder": func(t *testing.T, s *scene, g device.Given) {
			accounttest.Check(t, s.Keys.RevokeFound(t.Context(), g.Value))
		},
		"expired at its second": func(_ *testing.T, s *scene, g device.Given) { s.Clock.Pass(g.ExpiresAt.Sub(s.Clock.Now())) },
		"its maker left": func(t *testing.T, s *scene, _ device.Given) {
			s.Execute(t, "DELETE FROM members WHERE account = $1 AND workspace = $2", s.bob.Account.ID, s.acme.ID)
		},
		"its maker came again": func(t *testing.T, s *scene, _ device.Given) {
			s.Execute(t, "UPDATE members SET created_at = created_at + 1000000 WHERE account = $1", s.bob.Account.ID)
		},
		"its maker suspended": func(t *testing.T, s *scene, _ device.Given) {
			s.Execute(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", s.bob.Account.ID)
		},
		"its maker's keys end": func(t *testing.T, s *scene, _ device.Given) {
			s.end(t, func(e device.Ends, tx tx) error { return e.OfMaker(tx, s.Clock.Now(), s.bob.Account.ID) })
		},
		"its maker erased": func(t *testing.T, s *scene, _ device.Given) {
			s.end(t, func(e device.Ends, tx tx) error { return e.Erase(tx, s.bob.Account.ID) })
		},
		"its workspace erased": func(t *testing.T, s *scene, _ device.Given) {
			accounttest.Check(t, s.Keys.Forget(t.Context(), s.acme.ID))
		},
		"rotated": func(t *testing.T, s *scene, g device.Given) {
			heir, value, err := s.Keys.Rotate(t.Context(), s.ada.Who, s.acme, g.ID, 0, false)
			if err != nil || heir.Kind != apikey.API || heir.Creator != s.ada.Account.ID || heir.ExpiresAt.Sub(s.Clock.Now()) != g.ExpiresAt.Sub(g.CreatedAt.Time) || !s.opens(t, value) {
				t.Errorf("heir: %+v, %v", heir, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *scene) {
				a := s.ask(t)
				s.approve(t, runs(a))
				g, _ := s.fetch(t, a)
				if !s.opens(t, g.Value) {
					t.Fatal("it does not work")
				}
				end(t, s, g)
				if s.opens(t, g.Value) {
					t.Error("it works on")
				}
			})
		})
	}
}
