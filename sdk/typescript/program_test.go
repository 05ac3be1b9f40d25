package typescript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a program may take, so that one that hangs says where, and ends before this one is ended.
func patience(t *testing.T) time.Duration {
	most := 5 * time.Minute
	if soak {
		most = 25 * time.Minute
	}
	if end, bounded := t.Deadline(); bounded {
		most = min(most, time.Until(end)-10*time.Second)
	}
	return most
}

// run runs a program, and fails the test with what it said if it fails.
func run(t *testing.T, settings []string, program string, args ...string) string {
	t.Helper()
	// An interrupt at a terminal does not reach the program itself, which is in a group of its own.
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, patience(t))
	defer cancel()
	out, err := execute(ctx, settings, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return out
}

// execute runs a program, and says what it said. What it started ends with it, however it ends.
func execute(ctx context.Context, settings []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // one that left the group may hold on to what we read
	cmd.Env = append(os.Environ(), settings...)
	out, err := cmd.CombinedOutput()
	if cmd.Process != nil {
		_ = cmd.Cancel()
	}
	return string(out), errors.Join(err, context.Cause(ctx))
}

// TestWhatAProgramStartedEndsWithIt lets one end, and takes the time of another away, while what they started goes on.
func TestWhatAProgramStartedEndsWithIt(t *testing.T) {
	for name, script := range map[string]string{
		"ends":  `sleep 600 >/dev/null 2>&1 & echo $! >"$0"`,
		"hangs": `sleep 600 & echo $! >"$0"; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := execute(ctx, nil, "sh", "-c", script, file)
				ended <- err
			}()
			started := 0
			eventually(t, "it has started something", func() bool {
				text, _ := os.ReadFile(file)
				started, _ = strconv.Atoi(strings.TrimSpace(string(text)))
				return started > 0
			})
			if name == "hangs" {
				cancel()
			}
			if err := <-ended; errors.Is(err, context.Canceled) != (name == "hangs") {
				t.Errorf("ended with %v", err)
			}
			eventually(t, "what it started is gone", func() bool { return isGone(started) })
		})
	}
}

// isGone reports whether a process has ended, though nobody may have asked how.
func isGone(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || strings.Contains(string(stat), ") Z ")
}

// eventually waits for something to come true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not yet: %s", what)
		}
	}
}
