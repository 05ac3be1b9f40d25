package apikey_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/apikey"
	"svc.dev/svc/service/strictjson"
)

func TestAKeyIsShownOnceAndKeptAsAHash(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada := w.Join(t, "ada@example.com")
		k, value := w.MakeKey(t, ada.Who)
		if len(value) != 5+12+1+38 || !strings.HasPrefix(value, "svck_"+k.Prefix+"_") || !strings.HasSuffix(value, k.Last4) {
			t.Errorf("key %q of %+v", value, k)
		}
		if !slices.Equal(k.Scopes, []string{"agents:read", "runs:read"}) || !k.ExpiresAt.Equal(w.Clock.Now().Add(90*24*time.Hour)) {
			t.Errorf("key %+v", k)
		}
		if strings.Contains(w.Dump(t), value[18:]) {
			t.Error("the database holds the key")
		}
		b, err := w.Bearer(accounttest.Request(t, "192.0.2.7"), value)
		if err != nil || b.Account.ID != ada.Account.ID || b.Key.Scope != "users/ada/personal" {
			t.Fatalf("bearer: %+v, %v", b, err)
		}
		all, err := w.Keys.List(t.Context(), apikey.Query{Workspace: k.Workspace})
		if err != nil || len(all.Items) != 1 || *all.Items[0].LastUsedIP != "192.0.2.7" || !all.Items[0].LastUsedAt.Equal(w.Clock.Now()) {
			t.Errorf("keys: %+v, %v", all, err)
		}
	})
}

func TestEveryWrongKeyGetsTheSameRefusal(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada, eve := w.Join(t, "ada@example.com"), w.Join(t, "eve@example.com")
		_, good := w.MakeKey(t, ada.Who)
		_, hers := w.MakeKey(t, eve.Who)
		revoked, dead := w.MakeKey(t, ada.Who)
		if err := w.Keys.Revoke(t.Context(), ada.Who, w.Personal(t, ada.Who), revoked.ID); err != nil {
			t.Fatal(err)
		}
		flipped := []byte(good)
		flipped[30] ^= 1
		mixed := good[:18] + hers[18:50]
		cases := map[string]string{
			"empty": "", "prefix": "svck_", "checksum off by one": string(flipped), "id of another with own secret": apikey.Sealed(mixed),
			"unknown": apikey.Sealed("svck_" + strings.Repeat("A", 12) + "_" + strings.Repeat("B", 32)), "revoked": dead,
			"lower case": strings.ToLower(good), "space": good + " ", "look-alike": strings.Replace(good, "svck_", "ѕvck_", 1), "session": ada.Token,
		}
		w.Clock.Pass(90 * 24 * time.Hour)
		cases["expired at the second"] = good
		want, _ := json.Marshal(fault.From(accounttest.ErrOf(w.Bearer(t.Context(), "x"))))
		for name, value := range cases {
			_, err := w.Bearer(t.Context(), value)
			got, _ := json.Marshal(fault.From(err))
			if string(got) != string(want) || !fault.Is(err, apikey.Invalid) {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

func TestAKeyDiesWithItsMaker(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada := w.Join(t, "ada@example.com")
		_, value := w.MakeKey(t, ada.Who)
		w.Execute(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", ada.Account.ID)
		accounttest.Is(t, accounttest.ErrOf(w.Bearer(t.Context(), value)), apikey.Invalid)
	})
}

// TestAKeyIsListedAsItIs takes from a key what it rests on, one after the other: it is listed as live exactly while it works.
func TestAKeyIsListedAsItIs(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada, bob := w.Join(t, "ada@example.com"), w.Join(t, "bob@example.com")
		k, value := w.MakeKey(t, ada.Who)
		other, brief := w.MakeKey(t, bob.Who)
		wants := func(k apikey.Key, value, state string) {
			t.Helper()
			all, err := w.Keys.List(t.Context(), apikey.Query{Workspace: k.Workspace})
			if err != nil || len(all.Items) != 1 || all.Items[0].State != state {
				t.Errorf("want %s, are %+v, %v", state, all.Items, err)
			}
			if err := accounttest.ErrOf(w.Bearer(t.Context(), value)); (err == nil) != (state == apikey.Live) {
				t.Errorf("a key that is %s: %v", state, err)
			}
		}
		if wants(k, value, apikey.Live); k.State != apikey.Live {
			t.Errorf("it is made %q", k.State)
		}
		w.Execute(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", ada.Account.ID)
		wants(k, value, apikey.Suspended)
		w.Execute(t, "UPDATE accounts SET suspended_at = NULL WHERE id = $1", ada.Account.ID)
		wants(k, value, apikey.Live)
		w.Execute(t, "UPDATE members SET created_at = created_at + 1000000 WHERE account = $1", ada.Account.ID) // they left and came again
		wants(k, value, apikey.Orphaned)
		w.Execute(t, "DELETE FROM members WHERE account = $1", ada.Account.ID)
		wants(k, value, apikey.Orphaned)
		w.Clock.Pass(90 * 24 * time.Hour)
		wants(other, brief, apikey.Expired)
	})
}

func TestOfRacingRotationsOneMakesAKey(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada := w.Join(t, "ada@example.com")
		in := w.Personal(t, ada.Who)
		old, value := w.MakeKey(t, ada.Who)
		var wg sync.WaitGroup
		fresh := make([]string, 6)
		for i := range fresh {
			wg.Go(func() { _, fresh[i], _ = w.Keys.Rotate(t.Context(), ada.Who, in, old.ID, time.Minute, false) })
		}
		wg.Wait()
		made := slices.DeleteFunc(slices.Clone(fresh), func(s string) bool { return s == "" })
		if len(made) != 1 {
			t.Fatalf("%d keys were made", len(made))
		}
		for _, v := range []string{value, made[0]} {
			if err := accounttest.ErrOf(w.Bearer(t.Context(), v)); err != nil {
				t.Errorf("within the grace: %v", err)
			}
		}
		w.Clock.Pass(time.Minute)
		accounttest.Is(t, accounttest.ErrOf(w.Bearer(t.Context(), value)), apikey.Invalid)
		if err := accounttest.ErrOf(w.Bearer(t.Context(), made[0])); err != nil {
			t.Errorf("after the grace: %v", err)
		}
	})
}

func TestAKeyIsRefusedWithWhatIsWrongWithIt(t *testing.T) {
	w := accounttest.New(t, sqldbtest.SQLite(t), accounttest.Options{})
	ada := w.Join(t, "ada@example.com")
	in := w.Personal(t, ada.Who)
	at := func(d time.Duration) *time.Time { v := w.Clock.Now().Add(d); return &v }
	for name, n := range map[string]apikey.Draft{
		"name":      {Name: " ", Scopes: []string{"agents:read"}},
		"name ":     {Name: strings.Repeat("n", 65), Scopes: []string{"agents:read"}},
		"scopes":    {Name: "n"},
		"scopes ":   {Name: "n", Scopes: []string{"agents:read", "keys:write"}},
		"expiresAt": {Name: "n", Scopes: []string{"agents:read"}, ExpiresAt: at(0)},
		// a day too long
		"expiresAt ": {Name: "n", Scopes: []string{"agents:read"}, ExpiresAt: at(367 * 24 * time.Hour)},
	} {
		_, _, err := w.Keys.Create(t.Context(), ada.Who, in, n)
		got := strictjson.FieldsOf(fault.From(err))
		if len(got) != 1 || got[0].Field != strings.TrimSpace(name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.Clock.Pass(11 * time.Minute)
	_, _, err := w.Keys.Create(t.Context(), ada.Who, in, apikey.Draft{Name: "n", Scopes: []string{"agents:read"}})
	accounttest.Is(t, err, account.ReauthRequired)
}

func TestWhoeverHoldsAKeyCanEndIt(t *testing.T) {
	accounttest.Each(t, accounttest.Options{}, func(t *testing.T, w *accounttest.World) {
		ada := w.Join(t, "ada@example.com")
		_, value := w.MakeKey(t, ada.Who)
		for _, v := range []string{"nonsense", apikey.Sealed(value[:50]), value, value} {
			if err := w.Keys.RevokeFound(t.Context(), v); err != nil {
				t.Errorf("revoke %q: %v", v[:5], err)
			}
		}
		accounttest.Is(t, accounttest.ErrOf(w.Bearer(t.Context(), value)), apikey.Invalid)
	})
}

func TestAKeyIsFoundInAnAddress(t *testing.T) {
	value := apikey.Sealed("svck_" + strings.Repeat("a", 12) + "_" + strings.Repeat("b", 32))
	for text, want := range map[string]bool{
		"key=" + value: true, value: true, "x=svck_svck_&k=" + value + "&y=1": true, "key=svck_": false, "": false, value[:55]: false,
	} {
		got, found := apikey.Find(text)
		if found != want || found && got != value {
			t.Errorf("FindKey(%q) = %q, %v", text, got, found)
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add(apikey.Sealed("svck_" + strings.Repeat("a", 12) + "_" + strings.Repeat("b", 32)))
	f.Add("svck_")
	f.Fuzz(func(t *testing.T, text string) {
		prefix, ok := apikey.Parse(text)
		if ok && (len(text) != 56 || prefix != text[5:17] || apikey.Sealed(text[:50]) != text) {
			t.Fatalf("ParseKey(%q) = %q", text, prefix)
		}
		if found, ok := apikey.Find("?" + text); ok && !strings.Contains(text, found) {
			t.Fatal(fmt.Sprint("found what is not there: ", found))
		}
	})
}
