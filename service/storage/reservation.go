package storage

import (
	"cmp"
	"context"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
)

const (
	// StepBytes is how much is reserved at once for what nobody knows the length of.
	StepBytes = 8 << 20
	// reservationLife is how long bytes stay reserved for an operation that is not heard of.
	reservationLife = 15 * time.Minute
	// renewEvery is how often an operation that writes says so.
	renewEvery = time.Minute
	// expiredAtOnce is how many reservations are looked at together.
	expiredAtOnce = 200
)

// TakenBack refuses an upload whose reservation somebody else took back.
func TakenBack() error {
	return fault.New(fault.RuntimeTimeout, "The upload took too long.", "Begin it again.")
}

// Reservation is bytes that an operation may write to a project. It has the operation's id, which also names its temporary
// files.
type Reservation struct {
	ID      string
	Project string
	Bytes   int64 // as of the last time we looked

	quotas *Quotas
	scope  string
	until  time.Time // when to renew it
}

// Reserve reserves bytes for an operation on a project, or refuses.
func (s *Quotas) Reserve(ctx context.Context, scope, project, op string, n int64) (*Reservation, error) {
	if err := s.Refresh(ctx, scope); err != nil {
		return nil, err
	}
	var refused error
	err := s.Lock(ctx, scope, func(tx *sqldb.Tx, q *Quota) error {
		refused = nil
		if ok, err := s.take(tx, q, n); err != nil || !ok {
			refused = q.Refuse(n)
			return err
		}
		return tx.Do("reserve bytes", "INSERT INTO storage_reservations (id, scope, project, bytes, expires_at) VALUES ($1, $2, $3, $4, $5)",
			op, scope, project, n, s.Now().Add(reservationLife).UnixMilli())
	})
	if err := cmp.Or(err, refused); err != nil {
		return nil, err
	}
	return &Reservation{ID: op, Project: project, Bytes: n, quotas: s, scope: scope, until: s.Now().Add(renewEvery)}, nil
}

// take reserves bytes, unless there are not so many even without the reservations that nobody renewed. An operation that takes
// none may be over the limit.
func (s *Quotas) take(tx *sqldb.Tx, q *Quota, n int64) (bool, error) {
	if n > 0 && n > q.Free() {
		if err := expire(tx, q, s.Now()); err != nil {
			return false, err
		}
		if n > q.Free() {
			return false, nil
		}
	}
	return true, q.count(tx, 0, n)
}

// expire lets go of the bytes that operations reserved which are not heard of any more. What is announced keeps its bytes until
// it is completed or forgotten.
func expire(tx *sqldb.Tx, q *Quota, now time.Time) error {
	const which = `scope = $1 AND dead = 0 AND expires_at <= $2 AND NOT EXISTS (SELECT 1 FROM project_changes c WHERE c.op = storage_reservations.id)`
	bytes, err := sumReserved(tx, which, q.scope, now.UnixMilli())
	if err != nil {
		return err
	}
	return cmp.Or(
		tx.Do("expire reservations", "UPDATE storage_reservations SET dead = 1, bytes = 0 WHERE "+which, q.scope, now.UnixMilli()),
		q.count(tx, 0, -bytes),
	)
}

// sumReserved is the bytes of the reservations that a condition holds for.
func sumReserved(tx *sqldb.Tx, which string, args ...any) (int64, error) {
	return sqldb.Value[int64](tx, "sum reservations", "SELECT COALESCE(SUM(bytes), 0) FROM storage_reservations WHERE "+which, args...)
}

// held is the bytes of a reservation that is alive, whose scope is locked; false says that somebody took it back.
func (v *Reservation) held(tx *sqldb.Tx) (bytes int64, alive bool, err error) {
	return sqldb.First(tx, "find reservation", sqldb.Column[int64], "SELECT bytes FROM storage_reservations WHERE id = $1 AND dead = 0", v.ID)
}

// extend gives a reservation bytes that have been taken, and a new life.
func (v *Reservation) extend(tx *sqldb.Tx, by int64) error {
	return tx.Do("extend reservation", "UPDATE storage_reservations SET bytes = bytes + $2, expires_at = $3 WHERE id = $1",
		v.ID, by, v.quotas.Now().Add(reservationLife).UnixMilli())
}

// Cover takes what the reservation lacks of so many bytes, in a transaction that has locked its scope. It is refused where
// there are not so many, or somebody took the reservation back.
func (v *Reservation) Cover(tx *sqldb.Tx, q *Quota, need int64) (refused, err error) {
	bytes, alive, err := v.held(tx)
	switch {
	case err != nil:
		return nil, err
	case !alive:
		return TakenBack(), nil
	case need <= bytes:
		return nil, nil
	}
	if ok, err := v.quotas.take(tx, q, need-bytes); err != nil || !ok {
		return q.Refuse(need), err
	}
	return nil, v.extend(tx, need-bytes)
}

// Grow reserves up to so many bytes more, as many as there are, and refuses when there are none. 0 renews the reservation.
func (v *Reservation) Grow(ctx context.Context, most int64) error {
	if err := v.quotas.Refresh(ctx, v.scope); err != nil {
		return err
	}
	var refused error
	var bytes int64
	err := v.quotas.Lock(ctx, v.scope, func(tx *sqldb.Tx, q *Quota) (err error) {
		var alive bool
		bytes, alive, err = v.held(tx)
		more := max(min(most, q.Free()), 0)
		switch refused = nil; {
		case err != nil:
			return err
		case !alive:
			refused = TakenBack()
			return nil
		case most > 0 && more == 0:
			refused = q.Refuse(bytes + most)
			return nil
		}
		bytes += more
		return cmp.Or(q.count(tx, 0, more), v.extend(tx, more))
	})
	if err := cmp.Or(err, refused); err != nil {
		return err
	}
	v.Bytes, v.until = bytes, v.quotas.Now().Add(renewEvery)
	return nil
}

// Renew keeps the reservation of an operation that still writes.
func (v *Reservation) Renew(ctx context.Context) error {
	if v.quotas.Now().Before(v.until) {
		return nil
	}
	return v.Grow(ctx, 0)
}

// Release lets go of what was reserved and not used, in a transaction that has locked the scope. The row stays dead until
// Forget, unless there are no temporary files.
func (v *Reservation) Release(tx *sqldb.Tx, q *Quota, clean bool) error {
	bytes, alive, err := v.held(tx)
	if alive {
		err = cmp.Or(
			tx.Do("release reservation", "UPDATE storage_reservations SET dead = 1, bytes = 0 WHERE id = $1", v.ID),
			q.count(tx, 0, -bytes),
		)
	}
	if clean {
		err = cmp.Or(err, v.forget(tx))
	}
	return err
}

func (v *Reservation) forget(tx *sqldb.Tx) error {
	return tx.Do("forget reservation", "DELETE FROM storage_reservations WHERE id = $1 AND dead = 1", v.ID)
}

// Forget deletes the row of a reservation that is dead and whose temporary files are deleted.
func (v *Reservation) Forget(ctx context.Context) error { return v.quotas.DB.Write(ctx, v.forget) }

// Expired are some reservations that nobody renewed, dead or not.
func (s *Quotas) Expired(ctx context.Context, now time.Time) ([]*Reservation, error) {
	return sqldb.ReadAll(ctx, s.DB, func(row sqldb.Row) (*Reservation, error) {
		v := &Reservation{quotas: s}
		return v, row.Scan(&v.ID, &v.scope, &v.Project)
	}, "SELECT id, scope, project FROM storage_reservations WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2", now.UnixMilli(), expiredAtOnce)
}

// Expire lets go of a reservation that nobody renewed, and reports false for one that something is announced for.
func (v *Reservation) Expire(ctx context.Context, now time.Time) (dead bool, err error) {
	err = v.quotas.Lock(ctx, v.scope, func(tx *sqldb.Tx, q *Quota) error {
		if err := expire(tx, q, now); err != nil {
			return err
		}
		return tx.QueryRow("SELECT EXISTS (SELECT 1 FROM storage_reservations WHERE id = $1 AND dead = 1)", v.ID).Scan(&dead)
	})
	if err != nil {
		return false, err
	}
	return dead, nil
}

// Reserved reports whether there is a reservation of that id, dead or not.
func (s *Quotas) Reserved(ctx context.Context, id string) (bool, error) {
	all, err := sqldb.ReadAll(ctx, s.DB, sqldb.Column[string], "SELECT id FROM storage_reservations WHERE id = $1", id)
	return len(all) > 0, err
}
