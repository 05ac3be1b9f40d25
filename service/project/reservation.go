package project

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"svc.dev/svc/internal/sqldb"
)

const (
	// stepBytes is how much is reserved at once for what nobody knows the length of.
	stepBytes = 8 << 20
	// reservationLife is how long bytes stay reserved for somebody who is not heard of.
	reservationLife = 15 * time.Minute
	// renewEvery is how often somebody who writes says so.
	renewEvery = time.Minute
)

// reservation is bytes that an operation may write. Its id also names the operation and its temporary files.
type reservation struct {
	id    string
	scope string
	bytes int64     // as of the last time we looked
	until time.Time // when to renew it
}

// reserve reserves bytes for an operation on a project, or refuses.
func (p *Projects) reserve(ctx context.Context, r record, id string, n int64) (*reservation, error) {
	if err := p.measure(ctx, r.Scope); err != nil {
		return nil, err
	}
	var refused error
	err := p.DB.Write(ctx, func(tx *sqldb.Tx) error {
		refused = nil
		q, err := p.lockQuota(tx, r.Scope)
		if err != nil {
			return err
		}
		ok, err := p.takeOrExpire(tx, r.Scope, n)
		if err != nil {
			return err
		}
		if !ok {
			refused = q.refuse(n)
			return nil
		}
		_, err = tx.Exec("INSERT INTO storage_reservations (id, scope, project, bytes, expires_at) VALUES ($1, $2, $3, $4, $5)",
			id, r.Scope, r.ID, n, p.Now().Add(reservationLife).UnixMilli())
		if err != nil {
			return fmt.Errorf("reserve bytes: %w", err)
		}
		return nil
	})
	if err := cmp.Or(err, refused); err != nil {
		return nil, err
	}
	return &reservation{id: id, scope: r.Scope, bytes: n, until: time.Now().Add(renewEvery)}, nil
}

// takeOrExpire lets go of reservations that nobody renewed before it gives up.
func (p *Projects) takeOrExpire(tx *sqldb.Tx, scope string, n int64) (bool, error) {
	ok, err := p.take(tx, scope, n)
	if ok || err != nil {
		return ok, err
	}
	if gone, err := p.expire(tx, scope, p.Now()); err != nil || gone == 0 {
		return false, err
	}
	return p.take(tx, scope, n)
}

// expire lets go of the bytes that were reserved by those who are not heard of any more, whose row is locked. What is
// announced keeps its bytes until it is completed or forgotten.
func (p *Projects) expire(tx *sqldb.Tx, scope string, now time.Time) (int64, error) {
	const which = `scope = $1 AND dead = 0 AND expires_at <= $2 AND NOT EXISTS (SELECT 1 FROM project_changes c WHERE c.op = storage_reservations.id)`
	var bytes int64
	if err := tx.QueryRow("SELECT COALESCE(SUM(bytes), 0) FROM storage_reservations WHERE "+which, scope, now.UnixMilli()).Scan(&bytes); err != nil {
		return 0, fmt.Errorf("expire reservations: %w", err)
	}
	n, err := tx.Exec("UPDATE storage_reservations SET dead = 1, bytes = 0 WHERE "+which, scope, now.UnixMilli())
	if err != nil {
		return 0, fmt.Errorf("expire reservations: %w", err)
	}
	return n, count(tx, scope, 0, -bytes)
}

// held is the bytes of a reservation that is alive, whose scope is locked; false says that somebody took it back.
func held(tx *sqldb.Tx, id string) (bytes int64, alive bool, err error) {
	err = tx.QueryRow("SELECT bytes FROM storage_reservations WHERE id = $1 AND dead = 0", id).Scan(&bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("find reservation: %w", err)
	}
	return bytes, true, nil
}

// extend gives a reservation bytes that have been taken, and a new life.
func (p *Projects) extend(tx *sqldb.Tx, id string, by int64) error {
	_, err := tx.Exec("UPDATE storage_reservations SET bytes = bytes + $2, expires_at = $3 WHERE id = $1",
		id, by, p.Now().Add(reservationLife).UnixMilli())
	if err != nil {
		return fmt.Errorf("extend reservation: %w", err)
	}
	return nil
}

// grow reserves up to so many bytes more, as many as there are, and refuses when there are none. 0 renews the reservation.
func (p *Projects) grow(ctx context.Context, v *reservation, most int64) error {
	if err := p.measure(ctx, v.scope); err != nil {
		return err
	}
	var refused error
	var bytes int64
	err := p.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		refused = nil
		q, err := p.lockQuota(tx, v.scope)
		if err != nil {
			return err
		}
		var alive bool
		if bytes, alive, err = held(tx, v.id); err != nil {
			return err
		}
		more := max(min(most, q.free()), 0)
		switch {
		case !alive:
			refused = expired()
			return nil
		case most > 0 && more == 0:
			refused = q.refuse(bytes + most)
			return nil
		}
		bytes += more
		if err := count(tx, v.scope, 0, more); err != nil {
			return err
		}
		return p.extend(tx, v.id, more)
	})
	if err := cmp.Or(err, refused); err != nil {
		return err
	}
	v.bytes, v.until = bytes, time.Now().Add(renewEvery)
	return nil
}

// release lets go of what an operation has reserved and not used, whose scope is locked. The row stays dead until its
// temporary files are deleted.
func release(tx *sqldb.Tx, scope, id string) error {
	bytes, alive, err := held(tx, id)
	if err != nil || !alive {
		return err
	}
	if _, err := tx.Exec("UPDATE storage_reservations SET dead = 1, bytes = 0 WHERE id = $1", id); err != nil {
		return fmt.Errorf("release reservation: %w", err)
	}
	return count(tx, scope, 0, -bytes)
}

func forgetReservation(tx *sqldb.Tx, id string) error {
	if _, err := tx.Exec("DELETE FROM storage_reservations WHERE id = $1 AND dead = 1", id); err != nil {
		return fmt.Errorf("forget reservation: %w", err)
	}
	return nil
}
