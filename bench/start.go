package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// The targets of a start.
const (
	coldStart  = 100 * time.Millisecond
	memoryIdle = 40 << 20
)

// measureStart builds the product and starts it, again and again.
func measureStart(ctx context.Context, b *Bench, _ Database) error {
	binary, err := b.build(ctx)
	if err != nil {
		return err
	}
	n := pick(b, 5, 3)
	var healthy, ready []time.Duration
	var rss []int64
	for i := range n {
		folder, rest := filepath.Join(b.Folder, fmt.Sprint("start-", i)), pick(b, time.Second, 300*time.Millisecond)
		one, err := startOnce(ctx, binary, folder, rest)
		if err != nil {
			return err
		}
		healthy, ready, rss = append(healthy, one.Healthy), append(ready, one.Ready), append(rss, one.RSS)
	}
	slices.Sort(rss)
	first, memory := sorted(healthy).p50(), rss[len(rss)/2]
	b.Report.add(Row{
		Measurement: fmt.Sprintf("cold start of svc serve, empty folder, median of %d", n),
		Figure:      "first 200 of /healthz after " + ms(first),
		Beside:      "of /readyz after " + ms(sorted(ready).p50()),
		Target:      "< " + ms(coldStart), Met: met(first < coldStart),
	})
	b.Report.add(Row{
		Measurement: "memory after the start",
		Figure:      mib(memory) + " RSS",
		Target:      "< " + mib(memoryIdle), Met: met(memory < memoryIdle),
	})
	return nil
}

// build makes the product's binary.
func (b *Bench) build(ctx context.Context) (binary string, err error) {
	binary = filepath.Join(b.Folder, "svc")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "svc.dev/svc/cmd/svc").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return binary, nil
}

// Started is one start of the product on an empty folder.
type Started struct {
	Healthy time.Duration // from the start of the process to the first 200 of /healthz
	Ready   time.Duration // and of /readyz: migrated, and taking work
	RSS     int64         // when nothing has been asked of it yet
}

// startOnce starts the product, asks every millisecond until it is well, and stops it again.
func startOnce(ctx context.Context, binary, folder string, rest time.Duration) (s Started, err error) {
	operations, err := freePort()
	if err != nil {
		return s, err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "serve", "--data", folder, "--listen", "127.0.0.1:0", "--ops-listen", operations)
	cmd.Stderr, cmd.SysProcAttr = &said, endsWithUs()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	defer func() {
		err = errors.Join(err, end(cmd, func() error { return cmd.Process.Signal(syscall.SIGTERM) }))
		if err != nil {
			err = fmt.Errorf("%w: %s", err, said.Bytes()[max(0, said.Len()-500):])
		}
	}()
	if s.Healthy, err = until200(ctx, "http://"+operations+"/healthz", began); err != nil {
		return s, err
	}
	if s.Ready, err = until200(ctx, "http://"+operations+"/readyz", began); err != nil {
		return s, err
	}
	time.Sleep(rest)
	s.RSS, _, err = memoryOf(cmd.Process.Pid)
	return s, err
}

// freePort is an address on which nobody listens, a moment ago at least.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func until200(ctx context.Context, url string, began time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return time.Since(began), nil
			}
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("%s does not answer 200: %w", url, ctx.Err())
		}
		time.Sleep(time.Millisecond)
	}
}
