package receipt_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/receipt"
)

// desk keeps receipts, and counts how often something was done.
type desk struct {
	*receipt.Receipts
	*accounttest.World
}

func each(t *testing.T, fn func(t *testing.T, d desk)) {
	t.Helper()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w := accounttest.New(t, address, accounttest.Options{})
		if err := w.DB.Migrate(t.Context(), receipt.Migrations); err != nil {
			t.Fatal(err)
		}
		d := desk{receipt.New(w.DB, w.Store, w.Clock.Now), w}
		d.Patience = 50 * time.Millisecond
		fn(t, d)
	})
}

// do changes something under a request.
func (d desk) do(t *testing.T, r receipt.Request, err error) error {
	t.Helper()
	return d.World.DB.Write(d.Guard(t.Context(), &r), func(*sqldb.Tx) error { return err })
}

var (
	first  = receipt.Request{ID: "req_1", Holder: "account:a", Method: "POST", Path: "/x", Key: "k", Body: []byte("{}")}
	second = receipt.Request{ID: "req_2", Holder: "account:a", Method: "POST", Path: "/x", Key: "k", Body: []byte("{}")}
)

func TestAReceiptIsLeftWithTheChangeAndItsAnswerIsShownAgain(t *testing.T) {
	each(t, func(t *testing.T, d desk) {
		for range 2 { // a request may change several things
			if err := d.do(t, first, nil); err != nil {
				t.Fatal(err)
			}
		}
		want := receipt.Answer{Status: 201, ETag: `"1"`, Location: "/x/1", Type: "application/json", Body: []byte(`{"id":1}`)}
		if err := d.Keep(t.Context(), first, want); err != nil {
			t.Fatal(err)
		}
		if got, found, err := d.Find(t.Context(), second); err != nil || !found || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v %t %v", got, found, err)
		}
		if err := d.do(t, second, nil); !receipt.Seen(err) {
			t.Errorf("done twice: %v", err)
		}
		others := map[string]func(*receipt.Request){
			"holder": func(r *receipt.Request) { r.Holder = "account:b" }, "method": func(r *receipt.Request) { r.Method = "PUT" },
			"path": func(r *receipt.Request) { r.Path = "/xk"; r.Key = "" }, "key": func(r *receipt.Request) { r.Key = "l" },
		}
		for what, change := range others {
			other := second
			change(&other)
			if _, found, err := d.Find(t.Context(), other); found || err != nil {
				t.Errorf("of another %s: %t %v", what, found, err)
			}
		}
		other := second
		other.Body = []byte("{ }")
		if _, _, err := d.Find(t.Context(), other); !fault.Is(err, fault.IdempotencyConflict) {
			t.Errorf("another body: %v", err)
		}
	})
}

func TestWhatWasRefusedLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, d desk) {
		if err := d.do(t, first, errors.New("no")); err == nil {
			t.Fatal("not refused")
		}
		if _, found, err := d.Find(t.Context(), second); found || err != nil {
			t.Errorf("%t %v", found, err)
		}
		// Something was counted before it was refused.
		if err := d.do(t, first, nil); err != nil {
			t.Fatal(err)
		}
		if err := d.Forget(t.Context(), second); err != nil { // that of another stays
			t.Fatal(err)
		}
		if err := d.do(t, second, nil); !receipt.Seen(err) {
			t.Errorf("done twice: %v", err)
		}
		if err := d.Forget(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		if err := d.do(t, second, nil); err != nil {
			t.Errorf("not done: %v", err)
		}
	})
}

// A process that dies between the change and its answer leaves a receipt that says so.
func TestAChangeWhoseAnswerWasLostIsNotMadeTwice(t *testing.T) {
	each(t, func(t *testing.T, d desk) {
		if err := d.do(t, first, nil); err != nil {
			t.Fatal(err)
		}
		if _, found, err := d.Find(t.Context(), second); found || !fault.Is(err, fault.IdempotencyConflict) {
			t.Errorf("%t %v", found, err)
		}
		if err := d.do(t, second, nil); !receipt.Seen(err) {
			t.Errorf("done twice: %v", err)
		}
	})
}

func TestAnAnswerIsShownAsLongAsItMay(t *testing.T) {
	each(t, func(t *testing.T, d desk) {
		keep := func(r receipt.Request, once bool) {
			t.Helper()
			if err := d.do(t, r, nil); err != nil {
				t.Fatal(err)
			}
			if err := d.Keep(t.Context(), r, receipt.Answer{Status: 201, Body: []byte("secret"), Once: once}); err != nil {
				t.Fatal(err)
			}
		}
		shows := func(r receipt.Request, want bool) {
			t.Helper()
			_, found, err := d.Find(t.Context(), r)
			if found != want || found == fault.Is(err, fault.IdempotencyConflict) {
				t.Errorf("%s after %v: %t %v", r.Key, d.Clock.Now(), found, err)
			}
		}
		plain, once := second, second
		plain.Key, once.Key = "plain", "once"
		keep(plain, false)
		keep(once, true)
		d.Clock.Pass(receipt.SecretLife - time.Second)
		shows(plain, true)
		shows(once, true)
		d.Clock.Pass(time.Second)
		shows(once, false)
		if n, err := d.Sweep(t.Context(), d.Clock.Now()); n != 1 || err != nil {
			t.Errorf("%d answers are taken away, %v", n, err)
		}
		shows(once, false)
		shows(plain, true)
		d.Clock.Pass(receipt.DefaultLife)
		// Not swept yet, and nevertheless gone.
		again := plain
		again.ID = "req_3"
		if _, found, err := d.Find(t.Context(), again); found || err != nil {
			t.Errorf("%t %v", found, err)
		}
		keep(again, false)
		shows(plain, true)
		if n, err := d.Sweep(t.Context(), d.Clock.Now()); n != 1 || err != nil {
			t.Errorf("%d receipts are swept, %v", n, err)
		}
	})
}

func TestWhoeverWaitsForAnAnswerGetsIt(t *testing.T) {
	each(t, func(t *testing.T, d desk) {
		d.Patience = time.Minute
		if err := d.do(t, first, nil); err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			_, found, err := d.Find(t.Context(), second)
			if err == nil && !found {
				err = errors.New("not found")
			}
			got <- err
		}()
		if err := d.Keep(t.Context(), first, receipt.Answer{Status: 204}); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Error(err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := d.Find(gone, second); err == nil {
			t.Error("somebody who has gone is answered")
		}
	})
}
