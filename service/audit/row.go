package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// columns are those of audit_events, in the order of row.fields.
const columns = `chain, seq, at, actor_kind, actor_id, actor_name, subject_kind, subject_id, subject_name,
impersonator_kind, impersonator_id, impersonator_name, authority, surface, action, target_kind, target_id, scope, outcome,
request_id, ip, user_agent, changes, count, prev_hash, hash`

// insert is the statement for row.values.
var insert = `INSERT INTO audit_events (` + columns + `) VALUES (` + places(strings.Count(columns, ",")+1) + `)`

func places(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(list, ", ")
}

// row is an event as it lies in the table: nobody is three empty texts, names are a JSON array.
type row struct {
	event                 Event
	at                    int64
	subject, impersonator Actor
	changes               string
}

func rowOf(e Event) *row {
	return &row{
		event: e, at: e.At.UnixMilli(), changes: string(arrayOf(e.Changes, appendText)),
		subject: *cmp.Or(e.Subject, &Actor{}), impersonator: *cmp.Or(e.Source.Impersonator, &Actor{}),
	}
}

// fields are where the columns are scanned to.
func (r *row) fields() []any {
	e, s := &r.event, &r.event.Source
	return []any{
		&e.Chain, &e.Seq, &r.at, &e.Actor.Kind, &e.Actor.ID, &e.Actor.Username,
		&r.subject.Kind, &r.subject.ID, &r.subject.Username, &r.impersonator.Kind, &r.impersonator.ID, &r.impersonator.Username,
		&s.Authority, &s.Surface, &e.Action, &e.Target.Kind, &e.Target.ID, &e.Scope, &e.Outcome,
		&s.RequestID, &s.IP, &s.UserAgent, &r.changes, &e.Count, &e.PrevHash, &e.Hash,
	}
}

// values are what the columns are made from.
func (r *row) values() []any {
	all := r.fields()
	for i, field := range all {
		all[i] = reflect.ValueOf(field).Elem().Interface()
	}
	return all
}

// read is the event of a row that was scanned. It reports false when the names are not as the log writes them; another
// text that means the same must not pass for it.
func (r *row) read() (Event, bool) {
	e := r.event
	e.At = time.UnixMilli(r.at).UTC()
	e.Subject, e.Source.Impersonator = somebody(r.subject), somebody(r.impersonator)
	e.Source.Actor = e.Actor
	if err := json.Unmarshal([]byte(r.changes), &e.Changes); err != nil {
		return e, false
	}
	return e, string(arrayOf(e.Changes, appendText)) == r.changes
}

func somebody(a Actor) *Actor {
	if a == (Actor{}) {
		return nil
	}
	return &a
}

func scanRow(from sqldb.Row) (*row, error) {
	r := &row{}
	err := from.Scan(r.fields()...)
	return r, err
}
