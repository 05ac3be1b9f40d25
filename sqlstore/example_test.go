package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
)

// One address says which database: a file, or "postgres://…" for a service of several nodes.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "svc-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(folder, "svc.db"), sqlstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = store.Tail(ctx, svc.Stream{Kind: svc.KindAgent, Name: "support", ID: "customer-1"})
	fmt.Println(errors.Is(err, svc.ErrNoStream))
	fmt.Println(store.Close())
	// Output:
	// true
	// <nil>
}
