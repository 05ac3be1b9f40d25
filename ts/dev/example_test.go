package dev_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts/dev"
)

// A project is served while its files change. What is wrong with it is told, and the last good build goes on serving.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "project")
	check(err)
	defer os.RemoveAll(dir)
	app := filepath.Join(dir, "app.ts")
	check(os.WriteFile(app, []byte(`export default { fetch: () => new Response("hello") };`), 0o644))

	ctx, stop := context.WithCancel(context.Background())
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, ".svc.db"), sqlstore.Config{})
	check(err)
	builds := make(chan dev.Build, 10)
	s, err := dev.Open(ctx, dev.Config{Folder: filepath.Clean(dir), Store: store, Told: func(b dev.Build) { builds <- b }})
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	fmt.Println("build", (<-builds).Number)

	check(os.WriteFile(app, []byte(`export default {`), 0o644))
	b := <-builds
	fmt.Println("build", b.Number, b.Err != nil, b.Serving)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Body)

	stop()
	check(<-ended)
	check(store.Close())
	// Output:
	// build 1
	// build 2 true true
	// hello
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
