package secret

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"svc.dev/svc/internal/sqldb"
)

// OpenIn is a secret's value as the caller's transaction sees it; the caller clears it after use. One that is not there is
// ErrNotFound, and one that does not open is fault secret_unreadable, never an empty value.
func (s *Store) OpenIn(tx *sqldb.Tx, o Owner, name string) ([]byte, error) {
	if !o.exists(name) {
		return nil, ErrNotFound
	}
	h, e, err := read(tx, o, name)
	if err != nil {
		return nil, fmt.Errorf("open secret: %w", err)
	}
	return s.reveal(o, name, h, e)
}

// With calls fn with a secret's value and clears it after; fn keeps no part of it. Its errors are those of OpenIn and fn.
func (s *Store) With(ctx context.Context, o Owner, name string, fn func(value []byte) error) error {
	if !o.exists(name) {
		return ErrNotFound
	}
	var h head
	var e envelope
	err := s.db.Read(ctx, func(tx *sqldb.Tx) (err error) {
		h, e, err = read(tx, o, name)
		return err
	})
	if err != nil {
		return fmt.Errorf("open secret: %w", err)
	}
	value, err := s.reveal(o, name, h, e)
	if err != nil {
		return err
	}
	defer clear(value)
	return fn(value)
}

func (s *Store) reveal(o Owner, name string, h head, e envelope) ([]byte, error) {
	if !h.genuine(s.root, o, name, e) {
		return nil, s.unreadable(o, name, h.id, errors.New("row was changed"))
	}
	value, err := e.open(s.Keys(), binding{owner: o, name: name, id: h.id, version: h.version})
	if err != nil {
		return nil, s.unreadable(o, name, h.id, err)
	}
	s.learn(value)
	s.notes.used(h.id, s.now())
	return value, nil
}

// Find is what may be known of one secret, or ErrNotFound.
func (s *Store) Find(ctx context.Context, o Owner, name string) (Entry, error) {
	return sqldb.Read(ctx, s.db, func(tx *sqldb.Tx) (Entry, error) { return s.FindIn(tx, o, name) })
}

// FindIn is Find as the caller's transaction sees it.
func (s *Store) FindIn(tx *sqldb.Tx, o Owner, name string) (Entry, error) {
	if !o.exists(name) {
		return Entry{}, ErrNotFound
	}
	e, found, err := sqldb.First(tx, "find secret", scanEntry, entriesOf+" AND h.name = $3", o.Kind, o.Scope, name)
	if err == nil && !found {
		err = ErrNotFound
	}
	return e, err
}

// FindSome is FindIn of several names, the oldest secret first. Names without one are left out.
func (s *Store) FindSome(tx *sqldb.Tx, o Owner, names ...string) ([]Entry, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !o.exists(name) })
	if len(names) == 0 {
		return nil, nil
	}
	marks, args := sqldb.List(names)
	kind := len(names) + 1
	all, err := sqldb.Collect(tx, scanEntry, fmt.Sprintf("SELECT h.name, "+headColumns+" FROM secrets h WHERE h.name IN (%s) AND h.owner_kind = $%d AND h.scope = $%d ORDER BY h.created_at, h.name",
		marks, kind, kind+1), append(args, o.Kind, o.Scope)...)
	if err != nil {
		return nil, fmt.Errorf("find secrets: %w", err)
	}
	return all, nil
}

// List is what may be known of all secrets of an owner, by name; those with names of rooms are among them (see Name).
func (s *Store) List(ctx context.Context, o Owner) ([]Entry, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	all, err := sqldb.ReadAll(ctx, s.db, scanEntry, entriesOf+" ORDER BY h.name", o.Kind, o.Scope)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	return all, nil
}

const entriesOf = "SELECT h.name, " + headColumns + " FROM secrets h WHERE h.owner_kind = $1 AND h.scope = $2"

func scanEntry(row sqldb.Row) (Entry, error) {
	var name string
	var h head
	err := row.Scan(append([]any{&name}, h.fields()...)...)
	return h.entry(name), err
}
