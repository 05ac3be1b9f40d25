package audit_test

import (
	"bytes"
	"errors"
	"testing"

	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
)

func (n *node) trim(seq int64) int64 {
	n.t.Helper()
	before := n.clock.Now()
	if list := n.events(ada); seq <= list[len(list)-1].Seq {
		before = list[seq-list[0].Seq].At
	}
	deleted, err := n.Trim(n.t.Context(), ada, before)
	if err != nil {
		n.t.Fatal(err)
	}
	return deleted
}

func TestRetentionLeavesAnAnchorThatHolds(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 1300) // a hundred share a time
		n.checkpoint()
		if got := n.trim(1201); got != 1200 {
			t.Errorf("deleted %d", got)
		}
		n.mustHold()
		n.fill(ada, 100)
		n.checkpoint()
		n.mustHold()
		if list := n.events(ada); len(list) != 200 || list[0].Seq != 1201 {
			t.Errorf("%d events, from %d", len(list), list[0].Seq)
		}
		if got := n.trim(1201); got != 0 {
			t.Errorf("deleted %d of what is young", got)
		}
		if got := n.trim(1301); got != 100 {
			t.Errorf("deleted %d", got)
		}
		if got := n.trim(99_999); got != 100 || len(n.events(ada)) != 0 {
			t.Errorf("deleted %d of all", got)
		}
		n.mustHold()
		n.append(event(ada, 1))
		if list := n.events(ada); len(list) != 1 || list[0].Seq != 1401 {
			t.Errorf("the chain goes on at %+v", list)
		}
		n.mustHold()
		if got, err := n.Trim(t.Context(), "users/none/personal", n.clock.Now()); got != 0 || err != nil {
			t.Errorf("trimmed nothing: %d, %v", got, err)
		}
		n.mustHold()
	})
}

func TestEventsOutOfOrderInTimeAreDeletedAsAPrefix(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 3)
	young := n.clock.Now()
	n.append(event(ada, 1))
	n.clock.Advance(-10e9) // the clock goes back
	n.append(event(ada, 2))
	n.clock.Advance(20e9)
	if got, err := n.Trim(t.Context(), ada, young); got != 3 || err != nil {
		t.Errorf("deleted %d, %v", got, err)
	}
	n.mustHold()
}

func TestTamperedAnchorIsFound(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 500)
		n.trim(301)
		n.exec(`CREATE TABLE old_anchors AS SELECT * FROM audit_anchors`)
		n.trim(401)
		n.fill(bo, 5)
		n.exec(`CREATE TABLE spare AS SELECT * FROM audit_anchors`)
		n.mustHold()
		for _, c := range []struct {
			statement string
			seq       int64
		}{
			{`UPDATE audit_anchors SET seq = 399`, 1},
			{`UPDATE audit_anchors SET seq = 401`, 1},
			{`UPDATE audit_anchors SET seq = 0`, 1},
			{`UPDATE audit_anchors SET hash = signature`, 1},
			{`UPDATE audit_anchors SET at = at + 1`, 1},
			{`UPDATE audit_anchors SET signature = hash`, 1},
			{`DELETE FROM audit_anchors`, 1},
			{`UPDATE audit_anchors SET chain = '` + bo + `'`, 1},
			{`UPDATE audit_anchors SET seq = o.seq, hash = o.hash, at = o.at, signature = o.signature FROM old_anchors o`, 301},
		} {
			n.exec(c.statement)
			n.mustBlame(ada, c.seq)
			n.exec(`DELETE FROM audit_anchors`)
			n.exec(`INSERT INTO audit_anchors SELECT * FROM spare`)
		}
		n.mustHold()
		n.exec(`DELETE FROM audit_events WHERE chain = $1 AND seq <= 450`, ada) // by hand
		n.mustBlame(ada, 401)
	})
}

func TestAnchorOfAnotherKeyIsNone(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 200)
	c := n.config()
	c.Seed = bytes.Repeat([]byte{9}, 32)
	if _, err := openLog(t, n.db, c).Trim(t.Context(), ada, n.events(ada)[100].At); err != nil {
		t.Fatal(err)
	}
	n.mustBlame(ada, 1)
}

func TestRetentionDoesNotRemoveWhatSomebodyChanged(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 900)
		n.exec(`UPDATE audit_events SET actor_id = 'acc_eve' WHERE chain = $1 AND seq = 702`, ada)
		deleted, err := n.Trim(t.Context(), ada, n.clock.Now())
		f, ok := errors.AsType[*audit.Fault](err)
		if !ok || f.Seq != 702 || deleted != 500 {
			t.Errorf("deleted %d, error %v", deleted, err)
		}
		n.mustBlame(ada, 702)
	})
}

func TestCheckpointHoldsAgainstAnAnchor(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 100)
	n.checkpoint()
	n.fill(ada, 100)
	n.checkpoint()
	n.trim(101) // the first checkpoint's head is the anchor
	n.mustHold()
	n.trim(99_999) // and the second's
	n.mustHold()
	n.exec(`DELETE FROM audit_heads`)
	n.mustBlame(ada, 200)
	n.exec(`DELETE FROM audit_anchors`)
	n.mustBlame(ada, 1)
}
