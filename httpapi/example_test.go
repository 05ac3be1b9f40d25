package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"svc.dev/svc"
	"svc.dev/svc/httpapi"
	"svc.dev/svc/sqlstore"
)

// The API is mounted beside what else a program serves.
func ExampleNew() {
	folder, err := os.MkdirTemp("", "svc-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := sqlstore.Open(context.Background(), "sqlite:"+filepath.Join(folder, "svc.db"), sqlstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	rt, err := svc.New(svc.Config{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	double := svc.NewWorkflow("double", func(_ context.Context, _ *svc.Work, in struct {
		N int `json:"n"`
	}) (int, error) {
		return 2 * in.N, nil
	})
	double.Route = svc.Open // without a guard it is not served
	rt.AddWorkflow(double)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	defer func() { cancel(); <-ended }()

	mux := http.NewServeMux()
	mux.Handle("/api/", http.StripPrefix("/api", httpapi.New(rt, httpapi.Config{})))
	server := httptest.NewServer(mux)
	defer server.Close()

	for _, path := range []string{"/api/workflows/double?wait=result", "/api/workflows/triple"} {
		answer, err := http.Post(server.URL+path, "application/json", strings.NewReader(`{"n": 21}`))
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		fmt.Println(answer.StatusCode, strings.Contains(string(body), `"result":42`), strings.Contains(string(body), `"workflow_not_found"`))
	}
	// Output:
	// 200 true false
	// 404 false true
}
