package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
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

// Started is one start of the product on an empty folder.
type Started struct {
	Healthy time.Duration // from the start of the process to the first 200 of /healthz
	Ready   time.Duration // and of /readyz: migrated, and taking work
	RSS     int64         // when nothing has been asked of it yet
}

// measureStart builds the product and starts it, again and again.
func measureStart(ctx context.Context, b *Bench) error {
	binary := filepath.Join(b.Folder, "svc")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "svc.dev/svc/cmd/svc")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	var all []Started
	for i := range pick(b, 5, 3) {
		one, err := startOnce(ctx, binary, filepath.Join(b.Folder, fmt.Sprint("start-", i)), pick(b, time.Second, 300*time.Millisecond))
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	healthy := median(all, func(s Started) time.Duration { return s.Healthy })
	ready := median(all, func(s Started) time.Duration { return s.Ready })
	rss := median(all, func(s Started) int64 { return s.RSS })
	b.Report.add(Row{
		Measurement: fmt.Sprintf("cold start of svc serve, empty folder, median of %d", len(all)),
		Figure:      "first 200 of /healthz after " + ms(healthy),
		Beside:      "of /readyz after " + ms(ready),
		Target:      "< " + ms(coldStart), Met: met(healthy < coldStart),
		Values: map[string]float64{"healthyMillis": float64(healthy) / 1e6, "readyMillis": float64(ready) / 1e6},
	})
	b.Report.add(Row{
		Measurement: "memory after the start",
		Figure:      mib(rss) + " RSS",
		Target:      "< " + mib(memoryIdle), Met: met(rss < memoryIdle),
		Values: map[string]float64{"rss": float64(rss)},
	})
	return nil
}

func median[T int64 | time.Duration](all []Started, of func(Started) T) T {
	var values []T
	for _, s := range all {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return quantile(values, 0.5)
}

// startOnce starts the product, asks every millisecond until it is well, and stops it again.
func startOnce(ctx context.Context, binary, folder string, rest time.Duration) (s Started, err error) {
	operations, err := freePort()
	if err != nil {
		return s, err
	}
	said, err := os.Create(folder + ".log")
	if err != nil {
		return s, err
	}
	defer said.Close()
	cmd := exec.CommandContext(ctx, binary, "serve", "--data", folder, "--listen", "127.0.0.1:0", "--ops-listen", operations)
	cmd.Stderr, cmd.SysProcAttr = said, endsWithUs()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, stopProduct(cmd)) }()
	if s.Healthy, err = until200(ctx, "http://"+operations+"/healthz", began); err != nil {
		return s, fmt.Errorf("%w: %s", err, tailOf(said.Name()))
	}
	if s.Ready, err = until200(ctx, "http://"+operations+"/readyz", began); err != nil {
		return s, fmt.Errorf("%w: %s", err, tailOf(said.Name()))
	}
	time.Sleep(rest)
	s.RSS, _, err = memoryOf(cmd.Process.Pid)
	return s, err
}

func stopProduct(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	late := time.AfterFunc(stopTimeout, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	return cmd.Wait()
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

// tailOf is the end of what a process has logged.
func tailOf(file string) []byte {
	text, _ := os.ReadFile(file)
	return text[max(0, len(text)-500):]
}
