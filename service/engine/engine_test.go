package engine_test

import (
	"path/filepath"
	"testing"

	"svc.dev/svc"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
	"svc.dev/svc/service/agent"
	"svc.dev/svc/service/engine"
	"svc.dev/svc/service/scope"
	"svc.dev/svc/sqlstore"
)

func TestCodeDeclaresNoAgentThatIsBuiltIn(t *testing.T) {
	db, err := sqldb.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "svc.db"), sqldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context(), sqlstore.Migrations); err != nil {
		t.Fatal(err)
	}
	store, err := sqlstore.New(t.Context(), db, sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	agents, err := agent.New(agent.Config{DB: db, BuiltIn: engine.BuiltIn()})
	if err != nil {
		t.Fatal(err)
	}
	for name, refused := range map[string]bool{"central": true, "other": false} {
		rt, err := svc.New(svc.Config{Store: store, Model: model.Providers{"scripted": scripted.Words()}.Find})
		if err != nil {
			t.Fatal(err)
		}
		rt.AddAgent(&svc.Agent{Name: name, Model: "scripted/words"})
		_, guard := scope.NewPair()
		func() {
			defer func() {
				if said := recover(); (said != nil) != refused {
					t.Errorf("%s: %v", name, said)
				}
			}()
			engine.New(engine.Config{Runtime: rt, Guard: guard, Agents: agents})
		}()
	}
}
