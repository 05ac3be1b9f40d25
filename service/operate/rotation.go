package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/audit"
	"svc.dev/svc/service/secret"
)

// progressEvery is how often a rotation tells how far it is.
const progressEvery = 500 * time.Millisecond

// Rotate is what an operator asks of a rotation.
type Rotate struct {
	// RemoveOld removes the keys that nothing needs any more. Where there are such from an earlier rotation, no new key is
	// made.
	RemoveOld bool `json:"removeOld"`
	// OnlyNode says that no other node works on the database, so that nobody must learn of the new key first.
	OnlyNode bool `json:"onlyNode"`
}

// Rotation is what was done, or how far it is.
type Rotation struct {
	Active    string           `json:"active"`            // the key that seals
	Added     string           `json:"added,omitempty"`   // the key that was made
	Removed   []string         `json:"removed,omitempty"` // the keys that were removed
	Rewrapped int64            `json:"rewrapped"`         // values that were moved to the active key
	Rows      map[string]int64 `json:"rowsByKid"`
	Todo      []string         `json:"todo,omitempty"` // what is left to the operator, in this order
}

// Left is how many values are not under the active key.
func (r Rotation) Left() (left int64) {
	for kid, n := range r.Rows {
		if kid != r.Active {
			left += n
		}
	}
	return left
}

// unused are the keys of the ring that no value needs, but the active one.
func (r Rotation) unused() (kids []string) {
	for kid, n := range r.Rows {
		if kid != r.Active && n == 0 {
			kids = append(kids, kid)
		}
	}
	slices.Sort(kids)
	return kids
}

// RotateKeys adds a key to the ring's file, makes it the active one, moves every value to it, and sees that none is left
// under the old one, which it removes if asked. It goes on where another was interrupted. On PostgreSQL there may be other
// nodes, which must have the key before it is used: then it stops after the first step and says what to do.
func (m *Machine) RotateKeys(ctx context.Context, q Rotate, tell func(Rotation)) (Rotation, error) {
	m.Keys.changing.Lock()
	defer m.Keys.changing.Unlock()
	return m.rotate(asOperator(ctx), q, tell)
}

// rotate is RotateKeys for whoever the context says. The caller holds the mutex of the keys.
func (m *Machine) rotate(ctx context.Context, q Rotate, tell func(Rotation)) (Rotation, error) {
	r := &rotating{Keys: m.Keys, audit: m.Audit, tell: tell}
	if err := r.begin(ctx); err != nil {
		return r.Rotation, err
	}
	err := r.do(ctx, q)
	if err == nil {
		err = r.look(ctx)
	}
	return r.Rotation, errors.Join(err, m.Keys.Secrets.Flush(sqldb.Regardless(ctx)))
}

// rotating is a rotation under way.
type rotating struct {
	*Keys
	Rotation
	audit *audit.Log
	tell  func(Rotation)
}

// begin takes the ring of the file, where there is one: somebody may have changed it since it was read.
func (r *rotating) begin(ctx context.Context) error {
	if !r.config.Fixed {
		if err := r.goOnWithFile(ctx); err != nil {
			return err
		}
	}
	return r.look(ctx)
}

// look sees what stands under which key.
func (r *rotating) look(ctx context.Context) (err error) {
	r.Active = r.Secrets.Active()
	r.Rows, err = r.Secrets.Rows(ctx)
	return err
}

func (r *rotating) do(ctx context.Context, q Rotate) error {
	several := r.config.DB.Shared() && !q.OnlyNode
	switch {
	case r.Left() > 0:
		return r.finish(ctx, q, several)
	case q.RemoveOld && len(r.unused()) > 0:
		return r.end(ctx, q, several)
	case r.config.Fixed:
		r.Todo = byHand()
		return nil
	case several && len(r.unused()) > 0:
		r.Todo = activateOrRemove(r.config.File, r.unused())
		return nil
	}
	if err := r.add(ctx); err != nil {
		return err
	}
	if several {
		r.Todo = activateEverywhere(r.config.File, r.Added)
		return nil
	}
	if err := r.activate(ctx, r.Added); err != nil {
		return err
	}
	return r.finish(ctx, q, several)
}

func (r *rotating) finish(ctx context.Context, q Rotate, several bool) error {
	if err := r.rewrap(ctx); err != nil {
		return err
	}
	return r.end(ctx, q, several)
}

// add makes a key that only opens. The file has it before anybody uses it.
func (r *rotating) add(ctx context.Context) error {
	more, kid, err := r.ring().Add()
	if err != nil {
		return err
	}
	if err := r.replace(ctx, more, "keys.added", kid); err != nil {
		return err
	}
	r.Added = kid
	return nil
}

func (r *rotating) activate(ctx context.Context, kid string) error {
	ring, err := r.ring().Activate(kid)
	if err != nil {
		return err
	}
	return r.replace(ctx, ring, "keys.activated", kid)
}

// replace writes a ring that has all keys of the one before, and goes on with it.
func (r *rotating) replace(ctx context.Context, ring *secret.Ring, action, kid string) error {
	if err := ring.Replace(r.config.File); err != nil {
		return err
	}
	if err := r.Secrets.Reload(ctx, ring); err != nil {
		return err
	}
	return r.told(ctx, action, kid)
}

// told appends to the audit log what was done to a key.
func (r *rotating) told(ctx context.Context, action, kid string) error {
	err := r.config.DB.Write(ctx, func(tx *sqldb.Tx) error {
		return r.audit.Append(ctx, tx, audit.Event{Action: action, Target: audit.Target{Kind: "key", ID: kid}})
	})
	if err != nil {
		return err
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	r.tell(r.Rotation)
	return nil
}

// rewrap moves every value to the active key, and tells how far it is.
func (r *rotating) rewrap(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() {
		p, err := r.Secrets.Rewrap(ctx)
		r.Rewrapped += p.Rewrapped
		ended <- err
	}()
	every := time.NewTicker(progressEvery)
	defer every.Stop()
	for {
		select {
		case err := <-ended:
			return errors.Join(err, r.look(ctx))
		case <-every.C:
			if rows, err := r.Secrets.Rows(ctx); err == nil {
				r.tell(Rotation{Active: r.Secrets.Active(), Rows: rows})
			}
		}
	}
}

// end sees that nothing is left under the other keys, and removes them if asked.
func (r *rotating) end(ctx context.Context, q Rotate, several bool) error {
	if left := r.Left(); left > 0 {
		return fmt.Errorf("%d values are still under another key than %s: run it again", left, r.Active)
	}
	old := r.unused()
	if !q.RemoveOld {
		if len(old) > 0 {
			r.Todo = []string{"svc secrets rotate --remove-old, once no backup is left that needs the old key"}
		}
		return nil
	}
	if r.config.Fixed {
		r.Todo = []string{fmt.Sprintf("remove %v from SVC_KEYS of every node, and start each again", old)}
		return nil
	}
	if err := r.remove(ctx, old); err != nil {
		return err
	}
	if several {
		r.Todo = []string{"give " + r.config.File + " to every other node, and send each SIGHUP"}
	}
	return nil
}

// remove takes keys out of the ring. The store is asked before the file changes: it refuses while a value needs one.
func (r *rotating) remove(ctx context.Context, kids []string) error {
	ring := r.ring()
	for _, kid := range kids {
		var err error
		if ring, err = ring.Remove(kid); err != nil {
			return err
		}
	}
	if err := r.Secrets.Reload(ctx, ring); err != nil {
		return err
	}
	if err := ring.Replace(r.config.File); err != nil {
		return err
	}
	r.Removed = kids
	for _, kid := range kids {
		if err := r.told(ctx, "keys.removed", kid); err != nil {
			return err
		}
	}
	return nil
}

// byHand is how a ring is changed that no file holds.
func byHand() []string {
	return []string{
		"make a key: openssl rand -base64 32",
		"add it to \"keys\" in SVC_KEYS of every node under a new name, and start each again",
		"make that name \"active\" in SVC_KEYS of every node, and start each again",
		"svc secrets rotate, which moves every secret to the new key",
	}
}

// activateEverywhere is how a new key gets to several nodes.
func activateEverywhere(file, kid string) []string {
	return []string{
		"give " + file + " to every other node, and send each SIGHUP",
		fmt.Sprintf("set \"active\" in it to %q, give it to every node again, and send each SIGHUP, this one too", kid),
		"svc secrets rotate, which moves every secret to the new key",
		"or, if there is no other node: svc secrets rotate --only-node",
	}
}

// activateOrRemove says what keys may be for that nothing needs: new ones look like old ones.
func activateOrRemove(file string, kids []string) []string {
	return []string{
		fmt.Sprintf("nothing needs %v: if they are old, svc secrets rotate --remove-old", kids),
		fmt.Sprintf("if one is new and every node has it: set \"active\" to it in %s, give that to every node, send each SIGHUP, and run svc secrets rotate", file),
	}
}
