package workspace_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/service/workspace"
)

// TestAnImportedWorkspaceIsThereWhenItIsOpened looks for one that is being imported wherever workspaces are found.
func TestAnImportedWorkspaceIsThereWhenItIsOpened(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		one, err := w.Reserve(t.Context(), ada.ID, "ada", "moved", "Moved")
		must(t, err)
		_, err = w.Get(t.Context(), ada, one.Scope)
		refused(t, err, fault.WorkspaceNotFound)
		_, err = w.Restore(t.Context(), ada, one.Scope)
		refused(t, err, fault.WorkspaceNotFound)
		w.expectDeleted(t, ada, 0)
		admin := staff(w.somebody(t), workspace.StaffAdmin)
		all, err := w.All(t.Context(), admin, listing.Query{Q: "moved"})
		must(t, err)
		if len(all.Items) != 0 {
			t.Errorf("staff see %+v", all.Items)
		}
		for _, do := range []func() error{
			func() error { _, err := w.Suspend(t.Context(), admin, one.ID, "why"); return err },
			func() error { _, err := w.Reinstate(t.Context(), admin, one.ID); return err },
		} {
			refused(t, do(), fault.WorkspaceNotFound)
		}
		_, err = w.Create(t.Context(), ada, "moved", "")
		refused(t, err, fault.NameTaken)
		if _, err := w.Reserve(t.Context(), ada.ID, "ada", "moved", ""); err == nil {
			t.Error("it is imported twice at a time")
		}
		w.pass(14 * day)
		must(t, w.Renew(t.Context(), one))
		_, err = w.Erase(t.Context())
		must(t, err)
		refusal := errors.New("no")
		if err := w.Open(t.Context(), one, func(*sqldb.Tx) error { return refusal }); !errors.Is(err, refusal) {
			t.Errorf("opened: %v", err)
		}
		must(t, w.Open(t.Context(), one, func(*sqldb.Tx) error { return nil }))
		m, err := w.Get(t.Context(), ada, one.Scope)
		must(t, err)
		if m.Role != workspace.Owner || m.Name != "Moved" || !m.EraseAt.IsZero() {
			t.Errorf("got %+v", m)
		}
		list, err := w.List(t.Context(), ada, listing.Query{})
		must(t, err)
		if len(list.Items) != 2 {
			t.Errorf("got %+v", list.Items)
		}
		if got := w.actions(t, one.Scope); !slices.Equal(got, []string{"workspace.imported"}) {
			t.Errorf("the chain says %v", got)
		}
	})
}

// TestAnImportThatDiedIsDestroyed has another process find what one has left: the next import there, and the sweeper.
func TestAnImportThatDiedIsDestroyed(t *testing.T) {
	var destroyed []string
	edit := func(c *workspace.Config) {
		destroyed = nil
		c.Destroy = func(_ context.Context, one workspace.Workspace) error {
			destroyed = append(destroyed, one.Scope)
			return nil
		}
	}
	eachWith(t, edit, func(t *testing.T, w *world) {
		ada := w.person(t, "ada")
		dead, err := w.Reserve(t.Context(), ada.ID, "ada", "dead", "")
		must(t, err)
		swept, err := w.Reserve(t.Context(), ada.ID, "ada", "swept", "")
		must(t, err)
		next, err := workspace.New(w.Config)
		must(t, err)
		if w.DB.Shared() { // another process may be at it still
			if _, err := next.Reserve(t.Context(), ada.ID, "ada", "dead", ""); err == nil {
				t.Error("an import that goes on is taken away")
			}
		}
		w.pass(11 * time.Minute)
		again, err := next.Reserve(t.Context(), ada.ID, "ada", "dead", "")
		must(t, err)
		_, err = next.Erase(t.Context())
		must(t, err)
		if want := []string{dead.Scope, swept.Scope}; !slices.Equal(destroyed, want) {
			t.Errorf("destroyed %v, want %v", destroyed, want)
		}
		for _, gone := range []workspace.Workspace{dead, swept} {
			if err := w.Renew(t.Context(), gone); err == nil {
				t.Errorf("%s goes on", gone.Scope)
			}
			if err := w.Open(t.Context(), gone, func(*sqldb.Tx) error { return nil }); err == nil {
				t.Errorf("%s was opened", gone.Scope)
			}
		}
		must(t, w.Discard(t.Context(), dead)) // is another's by now
		must(t, next.Renew(t.Context(), again))
		must(t, next.Discard(t.Context(), again))
		for _, business := range []string{"dead", "swept"} {
			_, err := next.Create(t.Context(), ada, business, "")
			must(t, err)
		}
	})
}
