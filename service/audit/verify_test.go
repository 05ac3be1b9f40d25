package audit_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/audit"
)

// mutations are, for each column of an event, expressions whose value is another.
var mutations = map[string][]string{
	"chain": {"'eve:' || chain"}, "seq": {"seq + 1000000"}, "at": {"at + 1", "at - 1", "0"},
	"actor_kind": texts("actor_kind"), "actor_id": texts("actor_id"), "actor_name": texts("actor_name"),
	"subject_kind": texts("subject_kind"), "subject_id": texts("subject_id"), "subject_name": texts("subject_name"),
	"impersonator_kind": texts("impersonator_kind"), "impersonator_id": texts("impersonator_id"), "impersonator_name": texts("impersonator_name"),
	"authority": texts("authority"), "surface": texts("surface"), "action": texts("action"),
	"target_kind": texts("target_kind"), "target_id": texts("target_id"), "scope": texts("scope"), "outcome": {"'deny'", "''"},
	"request_id": texts("request_id"), "ip": texts("ip"), "user_agent": texts("user_agent"),
	"changes": {`'["name"]'`, `'["name", "scopes"]'`, `'["scopes","name"]'`, `'[]'`, `'null'`, `''`, `'["name","scopes"]]'`, `'["name","\u0073copes"]'`},
	"count":   {"count + 1", "-1"}, "prev_hash": {"hash", "$3"}, "hash": {"prev_hash", "$3"},
}

func texts(column string) []string {
	return []string{column + " || 'x'", "''", "upper(" + column + ") || ' '"}
}

// chains are those of a log of 1,000 events.
var chains = []string{"", ada, bo, "users/cy/personal", "admin"}

// TestMutationOfAnyColumnIsFound changes values of a log of 1,000 events, one in each of its chains at a time, and puts
// them back: every mutation of every column somewhere, and in the soak one of every column of many events, the first and the last of
// each chain among them.
func TestMutationOfAnyColumnIsFound(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		for _, chain := range chains {
			n.fill(chain, 200)
		}
		n.exec(`CREATE TABLE spare AS SELECT * FROM audit_events`)
		n.mustHold()
		cases := 0
		for i, some := range n.mutations() {
			n.mutate([]int64{1, 117, 200}[i%3], some)
			cases += len(some)
		}
		if soak {
			cases += n.mutateAll()
		}
		t.Logf("%d mutations", cases)
		n.mustHold()
	})
}

// mutation is a column and the expression of its new value.
type mutation struct{ column, value string }

// mutations are all of them, as many at a time as there are chains.
func (n *node) mutations() (list [][]mutation) {
	n.t.Helper()
	var all []mutation
	for _, column := range n.columns() {
		if mutations[column] == nil {
			n.t.Fatalf("column %s has no mutation", column)
		}
		for _, value := range mutations[column] {
			all = append(all, mutation{column, value})
		}
	}
	return slices.Collect(slices.Chunk(all, len(chains)))
}

// mutateAll changes each column of many events once.
func (n *node) mutateAll() (cases int) {
	n.t.Helper()
	columns := n.columns()
	for seq := range int64(200) {
		if seq >= 3 && seq < 197 && seq%12 != 0 {
			continue
		}
		for shift := range columns {
			some := make([]mutation, len(chains))
			for i := range some {
				column := columns[(shift+i)%len(columns)]
				values := mutations[column]
				some[i] = mutation{column, values[int(seq)%len(values)]}
			}
			n.mutate(seq+1, some)
			cases += len(some)
		}
	}
	return cases
}

// columns are those of the table as it is, so that a new one needs a mutation.
func (n *node) columns() (names []string) {
	n.t.Helper()
	query := `SELECT name FROM pragma_table_info('audit_events')`
	if n.db.Dialect() == sqldb.Postgres {
		query = `SELECT column_name FROM information_schema.columns WHERE table_name = 'audit_events'`
	}
	err := n.db.Read(n.t.Context(), func(tx *sqldb.Tx) error {
		names = nil
		rows, err := tx.Query(query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		return rows.Err()
	})
	if err != nil {
		n.t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// mutate changes one value of the event of that seq in each chain, expects just these to be blamed, and puts them back.
func (n *node) mutate(seq int64, some []mutation) {
	n.t.Helper()
	want := map[string]int64{}
	for i, m := range some {
		if chains[i] == "" && m == (mutation{"scope", "''"}) {
			continue // it is that
		}
		want[chains[i]] = seq
		args := []any{chains[i], seq}
		if m.value == "$3" {
			args = append(args, []byte("not a hash"))
		}
		n.exec(`UPDATE audit_events SET `+m.column+` = `+m.value+` WHERE chain = $1 AND seq = $2`, args...)
	}
	blamed := map[string]int64{}
	for _, f := range n.verify().Faults {
		if !strings.HasPrefix(f.Chain, "eve:") {
			blamed[f.Chain] = f.Seq
		}
	}
	if !maps.Equal(blamed, want) {
		n.t.Errorf("%v of event %d: blamed %v", some, seq, blamed)
	}
	n.exec(`DELETE FROM audit_events WHERE seq = $1 OR seq > 100000`, seq)
	n.exec(`INSERT INTO audit_events SELECT * FROM spare WHERE seq = $1`, seq)
}

// tampered is what somebody does with SQL, and the first event that Verify must name for it. With a checkpoint or without
// is the same, unless it is found by a checkpoint alone.
type tampered struct {
	name           string
	statements     []string
	seq            int64
	checkpointOnly bool
}

const inAda = ` chain = '` + ada + `'`

var hostileSQL = []tampered{
	{"delete the first", []string{`DELETE FROM audit_events WHERE seq = 1 AND` + inAda}, 1, false},
	{"delete one", []string{`DELETE FROM audit_events WHERE seq = 40 AND` + inAda}, 40, false},
	{"delete a range", []string{`DELETE FROM audit_events WHERE seq BETWEEN 40 AND 60 AND` + inAda}, 40, false},
	{"delete one and close the gap", []string{
		`DELETE FROM audit_events WHERE seq = 40 AND` + inAda,
		`UPDATE audit_events SET seq = seq + 1000000 WHERE seq > 40 AND` + inAda,
		`UPDATE audit_events SET seq = seq - 1000001 WHERE seq > 1000000 AND` + inAda,
		`UPDATE audit_heads SET seq = seq - 1 WHERE` + inAda,
	}, 40, false},
	{"delete the last ten", []string{`DELETE FROM audit_events WHERE seq > 90 AND` + inAda}, 91, false},
	{"delete all events of a chain", []string{`DELETE FROM audit_events WHERE` + inAda}, 1, false},
	{"delete the head", []string{`DELETE FROM audit_heads WHERE` + inAda}, 100, false},
	{"set the head back", []string{`UPDATE audit_heads SET seq = 90 WHERE` + inAda}, 91, false},
	{"set the head forward", []string{`UPDATE audit_heads SET seq = 101 WHERE` + inAda}, 101, false},
	{"change the hash of the head", []string{`UPDATE audit_heads SET hash = (SELECT prev_hash FROM audit_events WHERE seq = 50 AND` + inAda + `) WHERE` + inAda}, 100, false},
	{"rename the head", []string{`UPDATE audit_heads SET chain = 'users/eve/new' WHERE` + inAda}, 100, false},
	{"move the first before the beginning", []string{`UPDATE audit_events SET seq = 0 WHERE seq = 1 AND` + inAda}, 0, false},
	{"move one before the beginning", []string{`UPDATE audit_events SET seq = -5 WHERE seq = 50 AND` + inAda}, -5, false},
	{"swap two", []string{
		`UPDATE audit_events SET seq = 1000000 WHERE seq = 20 AND` + inAda, `UPDATE audit_events SET seq = 20 WHERE seq = 30 AND` + inAda,
		`UPDATE audit_events SET seq = 30 WHERE seq = 1000000 AND` + inAda,
	}, 20, false},
	{"swap two neighbours", []string{
		`UPDATE audit_events SET seq = 1000000 WHERE seq = 20 AND` + inAda, `UPDATE audit_events SET seq = 20 WHERE seq = 21 AND` + inAda,
		`UPDATE audit_events SET seq = 21 WHERE seq = 1000000 AND` + inAda,
	}, 20, false},
	{"swap the contents of two", []string{
		`UPDATE audit_events SET target_id = (SELECT target_id FROM spare WHERE seq = 31 AND` + inAda + `) WHERE seq = 30 AND` + inAda,
		`UPDATE audit_events SET target_id = (SELECT target_id FROM spare WHERE seq = 30 AND` + inAda + `) WHERE seq = 31 AND` + inAda,
	}, 30, false},
	{"append a copy without its head", []string{copied(100, "seq + 1", ada)}, 101, false},
	{"append a copy with its head", []string{copied(100, "seq + 1", ada), `UPDATE audit_heads SET seq = 101 WHERE` + inAda}, 101, false},
	{"append a copy that follows, with the wrong hash", []string{
		copied(100, "seq + 1", ada), `UPDATE audit_events SET prev_hash = (SELECT hash FROM spare WHERE seq = 100 AND` + inAda + `) WHERE seq = 101 AND` + inAda,
		`UPDATE audit_heads SET seq = 101 WHERE` + inAda,
	}, 101, false},
	{"insert a copy in the middle", []string{
		`UPDATE audit_events SET seq = seq + 1000000 WHERE seq > 50 AND` + inAda,
		`UPDATE audit_events SET seq = seq - 999999 WHERE seq > 1000000 AND` + inAda,
		copied(50, "seq + 1", ada), `UPDATE audit_heads SET seq = 101 WHERE` + inAda,
	}, 51, false},
	{"put an event of another chain in place", []string{
		`DELETE FROM audit_events WHERE seq = 10 AND` + inAda,
		`UPDATE audit_events SET chain = '` + ada + `' WHERE seq = 10 AND chain = '` + bo + `'`,
	}, 10, false},
	{"cut off the last ten", []string{
		`DELETE FROM audit_events WHERE seq > 90 AND` + inAda,
		`UPDATE audit_heads SET seq = 90, hash = (SELECT hash FROM spare WHERE seq = 90 AND` + inAda + `) WHERE` + inAda,
	}, 91, true},
	{"cut off all but the first", []string{
		`DELETE FROM audit_events WHERE seq > 1 AND` + inAda,
		`UPDATE audit_heads SET seq = 1, hash = (SELECT hash FROM spare WHERE seq = 1 AND` + inAda + `) WHERE` + inAda,
	}, 2, true},
	{"let a chain vanish", []string{`DELETE FROM audit_events WHERE` + inAda, `DELETE FROM audit_heads WHERE` + inAda}, 1, true},
	{"let every chain vanish", []string{`DELETE FROM audit_events`, `DELETE FROM audit_heads`}, 1, true},
}

// copied inserts a copy of an event of ada's under another seq.
func copied(of int, seq, chain string) string {
	return fmt.Sprintf(`INSERT INTO audit_events SELECT '%s', %s, at, actor_kind, actor_id, actor_name, subject_kind, subject_id, subject_name,
impersonator_kind, impersonator_id, impersonator_name, authority, surface, action, target_kind, target_id, scope, outcome, request_id, ip,
user_agent, changes, count, prev_hash, hash FROM spare WHERE seq = %d AND`+inAda, chain, seq, of)
}

func TestTamperingIsFoundAndTheFirstBadEventNamed(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 100)
		n.fill(bo, 15)
		n.exec(`CREATE TABLE spare AS SELECT * FROM audit_events`)
		n.exec(`CREATE TABLE spare_heads AS SELECT * FROM audit_heads`)
		n.mustHold()
		for _, c := range hostileSQL {
			n.tamper(c, false)
		}
		n.checkpoint()
		n.mustHold()
		for _, c := range hostileSQL {
			n.tamper(c, true)
		}
		n.mustHold()
	})
}

func (n *node) tamper(c tampered, checkpoint bool) {
	n.t.Helper()
	for _, s := range c.statements {
		n.exec(s)
	}
	r := n.verify()
	i := slices.IndexFunc(r.Faults, func(f audit.Fault) bool { return f.File == "" && f.Chain == ada })
	switch {
	case c.checkpointOnly && !checkpoint:
		if !r.OK() || !strings.Contains(r.Note, "cannot be seen") {
			n.t.Errorf("%s, no checkpoint: %v, note %q", c.name, r.Faults, r.Note)
		}
	case i < 0:
		n.t.Errorf("%s, checkpoint %v: not found", c.name, checkpoint)
	case r.Faults[i].Seq != c.seq:
		n.t.Errorf("%s, checkpoint %v: blamed %d, want %d: %s", c.name, checkpoint, r.Faults[i].Seq, c.seq, r.Faults[i].Reason)
	}
	for _, s := range []string{
		`DELETE FROM audit_events`, `INSERT INTO audit_events SELECT * FROM spare`,
		`DELETE FROM audit_heads`, `INSERT INTO audit_heads SELECT * FROM spare_heads`,
	} {
		n.exec(s)
	}
}

// TestChainWrittenAnewIsFoundByCheckpoint does what one can who knows how the hashes are made: an edit, and all that
// follows made to fit.
func TestChainWrittenAnewIsFoundByCheckpoint(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		n.fill(ada, 50)
		n.checkpoint()
		n.fill(ada, 50)
		forged := n.events(ada)
		n.exec(`DELETE FROM audit_events`)
		n.exec(`DELETE FROM audit_heads`)
		for i, e := range forged {
			if i == 30 {
				e.Actor.ID = "acc_somebody_else"
			}
			err := n.db.Write(t.Context(), func(tx *sqldb.Tx) error {
				return n.Append(audit.With(t.Context(), e.Source), tx, e)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		n.mustBlame(ada, 50)
		n.checkpoint() // and a later one does not cover it up
		n.mustBlame(ada, 50)
		if r, err := audit.Verify(t.Context(), n.db, n.PublicKey()); err != nil || !r.OK() {
			t.Errorf("without checkpoints it is a good chain: %v %v", r.Faults, err)
		}
	})
}

func TestLogIsVerifiedWhileItIsWritten(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		n := open(t, address)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 10 {
				n.fill(ada, 100)
				if i%5 == 4 {
					if _, err := n.Trim(t.Context(), ada, n.clock.Now().Add(-3e9)); err != nil {
						t.Error(err)
					}
				}
				if err := n.Checkpoint(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			n.mustHold()
		}
	})
}

func TestReportSaysWhatItCannotSee(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	n.fill(ada, 3)
	if r := n.verify(); !strings.Contains(r.Note, "no checkpoint") || r.Events != 3 || r.Chains != 1 {
		t.Errorf("report %+v", r)
	}
	n.checkpoint()
	if r := n.verify(); !strings.Contains(r.Note, "end of a chain are found by checkpoints alone") || r.Checkpoints != 1 || !r.Last.Equal(n.clock.Now()) {
		t.Errorf("report %+v", r)
	}
}

func TestVerifyNeedsAKey(t *testing.T) {
	n := open(t, sqldbtest.SQLite(t))
	if _, err := audit.Verify(t.Context(), n.db, nil); err == nil {
		t.Error("verified without a key")
	}
}
