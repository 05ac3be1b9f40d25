package secret

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc.dev/svc/internal/sqldb"
)

// rewrapBatch is how many rows one transaction of Rewrap holds.
const rewrapBatch = 32

// Progress is what one Rewrap did.
type Progress struct {
	Rewrapped  int64 // now under the active kid
	Overtaken  int64 // somebody else was faster: a new version, or another Rewrap
	Unreadable int64 // whose wrapped key does not open; they keep their kid in use
}

// Active is the kid that new values are sealed under.
func (s *Store) Active() string { return s.Keys().Active() }

// Rows is how many values each kid wraps, with 0 for a kid of the ring that wraps none.
func (s *Store) Rows(ctx context.Context) (map[string]int64, error) {
	used, err := sqldb.Read(ctx, s.db, countKids)
	if err != nil {
		return nil, fmt.Errorf("count rows by kid: %w", err)
	}
	for _, kid := range s.Keys().Kids() {
		used[kid] += 0
	}
	return used, nil
}

// Reload goes on with other keys, after the same proof as Open. To rotate: reload everywhere with one key more, reload
// everywhere with that one active, Rewrap, and when Rows says 0 of the old one reload without it. A ring without a key that
// values need, or without the one that is active here, is refused with ErrKeyInUse, and nothing changes.
func (s *Store) Reload(ctx context.Context, keys KeyProvider) error {
	have, want := s.Keys(), keys.Kids()
	// Somebody may be sealing under it right now.
	if !slices.Contains(want, have.Active()) {
		return fmt.Errorf("reload keys: %s is the active one here: %w", have.Active(), ErrKeyInUse)
	}
	dropping := slices.ContainsFunc(have.Kids(), func(kid string) bool { return !slices.Contains(want, kid) })
	root, err := s.attach(ctx, keys, dropping)
	if err != nil {
		return fmt.Errorf("reload keys: %w", err)
	}
	if root.Reveal() != s.root.Reveal() {
		return fmt.Errorf("reload keys: %w: the root secret is another", ErrKeyMismatch)
	}
	s.keys.Store(&keys)
	return nil
}

// Rewrap puts every value's key under the active kid, in small batches with a rest between them, and returns when it has
// found nothing more to do. The values are not touched. It may be killed anywhere and run again, or twice at once: each row
// is under one kid or the other. Rows that do not open are left, and are an error at the end.
func (s *Store) Rewrap(ctx context.Context) (Progress, error) {
	var p Progress
	for {
		pass, err := s.rewrapPass(ctx)
		p.Rewrapped += pass.Rewrapped
		p.Overtaken += pass.Overtaken
		p.Unreadable = pass.Unreadable
		if err != nil {
			return p, fmt.Errorf("rewrap secrets: %w", err)
		}
		// A node that was not reloaded yet may have sealed behind this pass.
		if pass.Rewrapped+pass.Overtaken > 0 {
			continue
		}
		if p.Unreadable > 0 {
			return p, fmt.Errorf("rewrap secrets: %d do not open", p.Unreadable)
		}
		return p, nil
	}
}

// rewrapPass goes once through all rows in the order of their ids.
func (s *Store) rewrapPass(ctx context.Context) (p Progress, err error) {
	after := ""
	for {
		keys := s.Keys()
		batch, err := sqldb.ReadAll(ctx, s.db, scanWrapping, `SELECT secret, version, kid, wrapped FROM secret_values
WHERE kid <> $1 AND secret > $2 ORDER BY secret LIMIT $3`, keys.Active(), after, rewrapBatch)
		if err != nil || len(batch) == 0 {
			return p, err
		}
		if err := s.rewrapRows(ctx, keys, batch, &p); err != nil {
			return p, err
		}
		after = batch[len(batch)-1].id
		select {
		case <-ctx.Done():
			return p, context.Cause(ctx)
		case <-time.After(s.config.RewrapPause):
		}
	}
}

// wrapping is a row of secret_values without its value.
type wrapping struct {
	id string
	envelope
}

func scanWrapping(row sqldb.Row) (w wrapping, err error) {
	err = row.Scan(&w.id, &w.version, &w.kid, &w.wrapped)
	return w, err
}

// rewrapRows asks the keys outside of the transaction, which then only writes where nothing has changed since.
func (s *Store) rewrapRows(ctx context.Context, keys KeyProvider, batch []wrapping, p *Progress) error {
	var from, to []wrapping
	for _, old := range batch {
		e, err := old.rewrap(keys, old.id)
		if err != nil {
			p.Unreadable++
			s.config.Log.Error("key of a secret does not open", "id", old.id, "kid", old.kid, "error", err)
			continue
		}
		from, to = append(from, old), append(to, wrapping{old.id, e})
	}
	s.notes.wrapped(keys.Active(), int64(len(to)))
	moved, err := sqldb.Write(ctx, s.db, func(tx *sqldb.Tx) (moved int64, err error) {
		for i, w := range to {
			n, err := tx.Exec(`UPDATE secret_values SET wrapped = $1, kid = $2 WHERE secret = $3 AND version = $4 AND kid = $5`,
				w.wrapped, w.kid, w.id, w.version, from[i].kid)
			if err != nil {
				return 0, err
			}
			moved += n
		}
		return moved, nil
	})
	if err != nil {
		return err
	}
	p.Rewrapped += moved
	p.Overtaken += int64(len(to)) - moved
	return nil
}
