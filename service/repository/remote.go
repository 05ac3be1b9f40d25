package repository

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/service/strictjson"
)

const (
	// askTimeout is how long a provider may take to say where a branch is.
	askTimeout = 30 * time.Second
	// maxRefs is more than the answer about one branch has.
	maxRefs = 64 << 10
	// sizeEvery is how often what git has fetched is measured.
	sizeEvery = 100 * time.Millisecond
)

// unavailable is the refusal of a provider that does not give what it should; the reason is for machines.
func unavailable(reason string, cause error) error {
	details := map[string]string{
		"unauthorized": "It does not accept our credentials. Connect the repository again.",
		"not_found":    "It does not show us the repository. Perhaps it was renamed or deleted, or the app may not see it any more. Connect it again.",
		"moved":        "The repository has another address now. Connect it again under its new name.",
		"timeout":      "It took too long.",
	}[reason]
	return fault.New(fault.ProviderUnavailable, "The provider did not give us the repository.", details).With("reason", reason).Because(cause)
}

// signs are what git says when a provider refuses, and the reason that it stands for.
var signs = []struct{ text, reason string }{
	{"error: 401", "unauthorized"}, {"error: 403", "unauthorized"}, {"authentication failed", "unauthorized"},
	{"could not read username", "unauthorized"}, {"could not read password", "unauthorized"},
	{"error: 404", "not_found"}, {"not found", "not_found"},
	{"error: 301", "moved"}, {"error: 302", "moved"}, {"error: 307", "moved"}, {"error: 308", "moved"}, {"redirect", "moved"},
	{"timed out", "timeout"}, {"too slow", "timeout"},
}

// refusal says in our words why the provider was asked in vain.
func refusal(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return unavailable("timeout", err)
	}
	t, ok := errors.AsType[*trouble](err)
	if !ok {
		return err
	}
	said := strings.ToLower(t.said)
	for _, sign := range signs {
		if strings.Contains(said, sign.text) {
			return unavailable(sign.reason, err)
		}
	}
	return unavailable("failed", err)
}

func noBranch() error {
	return fault.From(strictjson.Wrong("branch", strictjson.Invalid)).Because(errors.New("the repository has no such branch"))
}

// ref is the name of the branch at the provider.
func (f *remote) ref() string {
	if f.branch == "" {
		return "HEAD"
	}
	return "refs/heads/" + f.branch
}

var objectName = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

// head is the commit that the branch is at. A repository without it is refused.
func (f *remote) head(ctx context.Context) (string, error) {
	out, err := f.run(ctx, true, maxRefs, "ls-remote", "--quiet", "--", f.url, f.ref())
	if err != nil {
		return "", refusal(err)
	}
	for line := range strings.Lines(out) {
		commit, ref, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ref == f.ref() && objectName.MatchString(commit) {
			return commit, nil
		}
	}
	return "", noBranch()
}

// fetch brings the newest commit of the branch, without its history, and refuses more than so many bytes.
func (f *remote) fetch(ctx context.Context, most int64) (commit string, err error) {
	if _, err := f.run(ctx, false, maxSaid, "init", "--quiet", "--bare", "--template="); err != nil {
		return "", err
	}
	watched, end := context.WithCancelCause(ctx)
	defer end(nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.watch(watched, most, end)
	}()
	_, err = f.run(watched, true, maxSaid, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", "--no-auto-maintenance", "--", f.url, "+"+f.ref()+":refs/heads/pulled")
	end(nil)
	<-done
	if err != nil && strings.Contains(err.Error(), "couldn't find remote ref") {
		return "", noBranch()
	}
	if err != nil {
		return "", refusal(err)
	}
	if size := f.size(); size > most {
		return "", errTooMuch(size)
	}
	out, err := f.run(ctx, false, maxRefs, "rev-parse", "--verify", "--quiet", "refs/heads/pulled^{commit}")
	if commit = strings.TrimSpace(out); err != nil || !objectName.MatchString(commit) {
		return "", unavailable("failed", fmt.Errorf("what was fetched is not a commit: %w", err))
	}
	return commit, nil
}

// errTooMuch says how many bytes had come when there were too many.
type errTooMuch int64

func (e errTooMuch) Error() string {
	return fmt.Sprintf("fetched %d bytes, which is too much", int64(e))
}

// watch ends a fetch that brings too much.
func (f *remote) watch(ctx context.Context, most int64, end context.CancelCauseFunc) {
	tick := time.NewTicker(sizeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if size := f.size(); size > most {
				end(errTooMuch(size))
				return
			}
		}
	}
}
