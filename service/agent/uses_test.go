package agent_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/agent"
)

// TestWhatAgentsUseIsKnownOfAllWhoAreThere has agents in code, in files and in the database, some of them in the place of others.
func TestWhatAgentsUseIsKnownOfAllWhoAreThere(t *testing.T) {
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		w, folder := accounttest.New(t, address, accounttest.Options{}), t.TempDir()
		put(t, folder, "reader.md", "---\nmcps: [search]\ntools: [ask_agent:writer, mail__send]\n---\nFrom a file.")
		c := config(w)
		c.Folder = folder
		c.MCPs = func(context.Context, string) ([]string, error) { return []string{"search", "mail"}, nil }
		c.Tools = func(_ context.Context, scope string) ([]string, error) {
			if scope == "" {
				return []string{"ask_agent", "read_file"}, nil
			}
			return []string{"ask_agent", "read_file", "search__find"}, nil
		}
		s, ctx, ok := opened(t, w, c), t.Context(), must(t)
		if err := s.Load(ctx); err != nil {
			t.Fatal(err)
		}
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"writer","tools":["search__find","ask_agent","ask_agent:critic"],"mcps":["search"]}`)))
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"reader","mcps":["mail"]}`)))   // the file is used in its place
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"coded","mcps":["mail"]}`)))    // the code is used in its place
		ok(s.Create(ctx, ada, shop, draft(t, `{"name":"deleted","mcps":["mail"]}`)))  // it is gone
		ok(s.Create(ctx, ada, other, draft(t, `{"name":"another","mcps":["mail"]}`))) // it is elsewhere
		if err := s.Delete(ctx, ada, shop, "deleted", 0); err != nil {
			t.Fatal(err)
		}
		declared := []svc.AgentInfo{{Name: "coded"}}
		got, err := s.Uses(ctx, shop, declared)
		want := agent.Uses{
			Agents: map[string][]string{"writer": {"reader"}, "critic": {"writer"}},
			MCPs:   map[string][]string{"search": {"reader", "writer"}, "mail": {"reader"}},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("uses %+v, %v", got, err)
		}
		if one := ok(s.Get(ctx, shop, "writer", declared)); !slices.Equal(one.UsedBy, []string{"reader"}) {
			t.Errorf("the writer is used by %v", one.UsedBy)
		}
		all, err := s.List(ctx, shop, declared, listing.Query{})
		for _, l := range all.Items {
			if used := slices.Equal(l.UsedBy, []string{"reader"}); l.UsedBy == nil || used != (l.Name == "writer") {
				t.Errorf("%s is used by %v", l.Name, l.UsedBy)
			}
		}
		if err != nil || len(all.Items) < 4 {
			t.Errorf("listed %+v, %v", all, err)
		}
	})
}
