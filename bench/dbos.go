package main

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

const dbosName = "dbos"

// openDBOS is DBOS with the settings of its documentation: 20 connections to PostgreSQL, SQLite with synchronous=NORMAL.
func openDBOS(ctx context.Context, address string, log *slog.Logger, _ *http.ServeMux) (e engine, err error) {
	ctx = context.WithoutCancel(ctx) // it ends by Shutdown
	// A version that is given spares it a hash of the binary.
	c, err := dbos.NewContext(ctx, dbos.Config{DatabaseURL: address, AppName: "bench", ApplicationVersion: "bench", Logger: log})
	if err != nil {
		return e, err
	}
	dbos.RegisterWorkflow(c, dbosTrivial)
	dbos.RegisterWorkflow(c, dbosSteps)
	if err := dbos.Launch(c); err != nil {
		return e, err
	}
	e.work = func(_ context.Context, _, steps int) error {
		if steps == 0 {
			return dbosResult(dbos.RunWorkflow(c, dbosTrivial, struct{}{}))
		}
		return dbosResult(dbos.RunWorkflow(c, dbosSteps, steps))
	}
	e.close = func() error { return dbos.Shutdown(c, stopTimeout/3) }
	return e, nil
}

func dbosResult[R any](h dbos.WorkflowHandle[R], err error) error {
	if err == nil {
		_, err = h.GetResult()
	}
	return err
}

func dbosTrivial(dbos.Context, struct{}) (map[string]bool, error) {
	return map[string]bool{"ok": true}, nil
}

func dbosSteps(c dbos.Context, n int) (int, error) {
	for i := range n {
		if _, err := dbos.RunAsStep(c, func(context.Context) (int, error) { return i, nil }, dbos.WithStepName("step")); err != nil {
			return 0, err
		}
	}
	return n, nil
}
