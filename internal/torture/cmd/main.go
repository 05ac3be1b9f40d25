// Command cmd runs a torture proxy for tests in another language. It prints a line of JSON with the addresses of the proxy, of its
// control routes (see torture.Proxy.Control) and of the server, and ends when its standard input does.
//
//	go run ./internal/torture/cmd                            before a contract program of its own
//	go run ./internal/torture/cmd -target 127.0.0.1:3583     before one that runs
//	go run ./internal/torture/cmd -db postgres://… -node a   before one of several on a database
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"svc.dev/svc/internal/contract/program"
	"svc.dev/svc/internal/torture"
)

func main() {
	var own program.Config
	target := flag.String("target", "", "host:port of the server; empty: a contract program of its own")
	flag.StringVar(&own.Database, "db", "", "the database of that program. Defaults to one that is gone afterwards")
	flag.StringVar(&own.Node, "node", "", "its name in leases. Defaults to contract")
	flag.DurationVar(&own.Lease, "lease", 0, "how long it holds work without a word. Defaults to that of the runtime")
	flag.Parse()
	if err := run(*target, own, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// addresses is what is printed.
type addresses struct {
	Proxy   string `json:"proxy"`
	Control string `json:"control"`
	Server  string `json:"server"`
}

func run(target string, own program.Config, in io.Reader, out io.Writer) (err error) {
	if target == "" {
		server, clean, startErr := serve(own)
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, clean()) }()
		target = server
	}
	proxy, err := torture.New(target)
	if err != nil {
		return err
	}
	defer proxy.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	control := &http.Server{Handler: proxy.Control()}
	defer control.Close()
	go func() { _ = control.Serve(listener) }()
	if err := json.NewEncoder(out).Encode(addresses{proxy.URL(), "http://" + listener.Addr().String(), "http://" + target}); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// serve runs a contract program.
func serve(own program.Config) (address string, clean func() error, err error) {
	remove := func() error { return nil }
	if own.Database == "" {
		folder, err := os.MkdirTemp("", "svc-torture-")
		if err != nil {
			return "", nil, err
		}
		own.Database = "sqlite:" + filepath.Join(folder, "svc.db")
		remove = func() error { return os.RemoveAll(folder) }
	}
	p, err := program.Start(context.Background(), own)
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return strings.TrimPrefix(p.URL, "http://"), func() error { return errors.Join(p.Stop(), remove()) }, nil
}
