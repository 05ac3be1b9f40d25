package outage_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"svc.dev/svc"
	"svc.dev/svc/internal/outage/cluster"
	"svc.dev/svc/internal/outage/proxy"
	"svc.dev/svc/sqlstore"
)

// refusePoison makes the server refuse what holds the word.
const refusePoison = `
CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF position('poison'::bytea IN NEW.data) > 0 THEN RAISE EXCEPTION 'this is refused'; END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER refuse_poison BEFORE INSERT ON batches FOR EACH ROW EXECUTE FUNCTION refuse_poison()`

// Appends of many streams share a commit. One that the server refuses undoes it for all, and the others must be tried again,
// whatever the language in which the server says so.
func TestGoodAppendsPassBesideARefusedOne(t *testing.T) {
	t.Parallel()
	servers := map[string]func(t *testing.T) (address, direct string){
		"of a server that speaks English": func(t *testing.T) (string, string) {
			direct := cluster.Shared(t).Database(t)
			return direct, direct
		},
		"of a server that is translated": func(t *testing.T) (string, string) {
			direct := cluster.Shared(t).Database(t)
			p := proxy.Start(t, direct)
			p.Apply(proxy.Rule{Foreign: true})
			return p.Address(), direct
		},
		"of a server that speaks German": func(t *testing.T) (string, string) {
			direct := cluster.Start(t, cluster.Options{German: true}).Database(t)
			return direct, direct
		},
	}
	for name, serve := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, direct := serve(t)
			store, err := sqlstore.Open(t.Context(), address, sqlstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			conn, err := pgx.Connect(t.Context(), direct)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			leases := hire(t, store, 60)
			if _, err := conn.Exec(t.Context(), refusePoison); err != nil {
				t.Fatal(err)
			}
			good, failed, first := appendAll(t, store, leases, pick(13, 130))
			if failed > 0 {
				t.Errorf("%d of %d good appends failed, the first with: %v", failed, good, first)
			}
			t.Logf("%d good appends beside refused ones, %d failed", good, failed)
		})
	}
}

// hire gives leases on so many new streams.
func hire(t *testing.T, store *sqlstore.Store, n int) (leases []svc.Lease) {
	t.Helper()
	owner := &svc.Owner{Node: "only", Boot: "first", Lease: time.Minute, Agents: true}
	for i := range n {
		receipt, err := store.Admit(t.Context(), svc.Admission{
			Stream: svc.Stream{Kind: svc.KindAgent, Name: "any", ID: fmt.Sprint(i)}, Submission: fmt.Sprint(i), Kind: svc.Direct,
			Input: []byte("{}"), Opening: []byte("[]"), Owner: owner,
		})
		if err != nil || receipt.Lease == nil {
			t.Fatalf("admit: lease %v, %v", receipt.Lease, err)
		}
		leases = append(leases, *receipt.Lease)
	}
	return leases
}

// appendAll appends to all streams at once, so many times each; every tenth stream is poisoned.
func appendAll(t *testing.T, store *sqlstore.Store, leases []svc.Lease, times int) (good, failed int64, first error) {
	t.Helper()
	var all sync.WaitGroup
	var tried, refused atomic.Int64
	var once sync.Once
	for i, l := range leases {
		poisoned := i%10 == 0
		all.Go(func() {
			for range times {
				data := `["bread"]`
				if poisoned {
					data = `["poison"]`
				}
				_, err := store.Append(context.Background(), l, svc.Commit{Data: []byte(data), N: 1})
				switch {
				case poisoned && err == nil:
					t.Error("poison was taken")
				case poisoned:
				case err != nil:
					refused.Add(1)
					once.Do(func() { first = err })
					fallthrough
				default:
					tried.Add(1)
				}
			}
		})
	}
	all.Wait()
	return tried.Load(), refused.Load(), first
}
