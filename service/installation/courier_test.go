package installation_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/sqldb"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
	"svc.dev/svc/service/installation"
)

// runtime takes deliveries, or refuses them.
type runtime struct {
	mu    sync.Mutex
	taken []installation.Passing
	tried int
	fail  error
}

func (r *runtime) pass(_ context.Context, p installation.Passing) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tried++; r.fail != nil {
		return r.fail
	}
	r.taken = append(r.taken, p)
	return nil
}

// refuse lets everything fail from now on; nil lets it pass.
func (r *runtime) refuse(with error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = with
}

// got are the deliveries that were taken, as scope, event and id.
func (r *runtime) got() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.taken {
		all = append(all, p.Scope+" "+p.Event+" "+p.Delivery)
	}
	return all
}

func (r *runtime) attempts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tried
}

// courier passes on what is delivered, to a runtime, until the test ends or it is stopped.
func courier(t *testing.T, w *accounttest.World, r *runtime) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Installations.PassOn(ctx, r.pass) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("pass on: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// installed is somebody whose workspace works with an installation on their account.
func (h *hub) installed(t *testing.T, login string) (installer, int64) {
	t.Helper()
	i := h.installer(t, login)
	if _, err := i.comeBack(t, i.leave(t)); err != nil {
		t.Fatal(err)
	}
	return i, i.bound(t)[0].ID
}

// comments delivers what somebody wrote about an issue of octocat/hello-world.
func (h *hub) comments(t *testing.T, hook string, installation int64, id, text string) {
	t.Helper()
	d := githubtest.Delivery{Event: "issue_comment", Body: h.GitHub.CommentPayload(installation, githubtest.Hello, 12, text), To: hook, ID: id}
	if status, typ := h.Deliver(t, d); status != 202 {
		t.Errorf("comment: %d %s", status, typ)
	}
}

// waiting is how many deliveries wait, and how many bodies are kept.
func (h *hub) waiting(t *testing.T) (dispatches, bodies int64) {
	t.Helper()
	return h.Count(t, "SELECT count(*) FROM dispatches"), h.Count(t, "SELECT count(*) FROM delivery_bodies")
}

func (h *hub) wantWaiting(t *testing.T, dispatches, bodies int64) {
	t.Helper()
	accounttest.Eventually(t, fmt.Sprintf("%d wait, with %d bodies", dispatches, bodies), func() bool {
		d, b := h.waiting(t)
		return d == dispatches && b == bodies
	})
}

// takes is what takes its time in a scene. Nothing is waited for.
func takes(d time.Duration) { time.Sleep(d) }

func number(n int) string { return fmt.Sprintf("00000000-0000-4000-a000-%012d", n) }

func TestADeliveryIsPassedOnToEveryWorkspaceOfItsInstallationAndToNoOther(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		octo, id := h.installed(t, "octocat")
		_, other := h.installed(t, "hubot")
		h.Execute(t, `INSERT INTO workspaces (id, owner, scope, business, name, created_at, updated_at) VALUES ('wsp_second', $1, 'users/octocat/second', 'second', 'Second', 0, 0)`, octo.Who(t).Account.ID)
		h.Execute(t, `INSERT INTO installation_bindings (workspace, provider, installation, scope, account, created_at) VALUES ('wsp_second', 'github', $1, 'users/octocat/second', $2, 1)`, id, octo.Who(t).Account.ID)
		var r runtime
		courier(t, h.World, &r)
		h.comments(t, hook, id, number(1), "for both")
		accounttest.Eventually(t, "both took it", func() bool { return len(r.got()) == 2 })
		h.wantWaiting(t, 0, 0)
		d := githubtest.Delivery{Event: "push", Body: h.GitHub.PushPayload(other, githubtest.Scripts), To: hook, ID: number(2)}
		h.Deliver(t, d)
		accounttest.Eventually(t, "hubot took it", func() bool { return len(r.got()) == 3 })
		seen := strings.Join(r.got(), "\n")
		for _, want := range []string{
			"users/octocat/personal issue_comment " + number(1), "users/octocat/second issue_comment " + number(1), "users/hubot/personal push " + number(2),
		} {
			if strings.Count(seen, want) != 1 {
				t.Errorf("%s is not once in\n%s", want, seen)
			}
		}
		for _, p := range r.taken {
			if p.Event == "issue_comment" && (!strings.Contains(string(p.Body), "for both") || p.Owner != octo.Who(t).Account.ID || p.Provider != "github") {
				t.Errorf("passed on: %+v", p)
			}
		}
	})
}

func TestWhatIsOfNoWorkspaceIsStoredAndDropped(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		_, id := h.installed(t, "octocat")
		nobodys := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Acme})
		for _, d := range []githubtest.Delivery{
			{Event: "push", Body: h.GitHub.PushPayload(nobodys, githubtest.Widgets)},
			{Event: "push", Body: `{"installation":{"id":999999}}`},
			{Event: "push", Body: `{"ref":"refs/heads/main"}`},
			{Event: "ping", Body: h.GitHub.PingPayload(h.App)},
			{Event: "installation", Body: h.GitHub.InstallationPayload("new_permissions_accepted", id)},
			{Event: "installation_repositories", Body: h.GitHub.RepositoriesPayload(id, []int64{githubtest.Hello}, nil)},
			{Event: "github_app_authorization", Body: h.GitHub.RevokedPayload(githubtest.Hubot)},
		} {
			d.To = hook
			if status, typ := h.Deliver(t, d); status != 202 {
				t.Errorf("%s: %d %s", d.Event, status, typ)
			}
		}
		if dispatches, bodies := h.waiting(t); dispatches != 0 || bodies != 0 {
			t.Errorf("%d wait, with %d bodies", dispatches, bodies)
		}
		if n := h.Count(t, "SELECT count(*) FROM deliveries"); n != 7 {
			t.Errorf("%d deliveries are stored", n)
		}
	})
}

func TestADeliveryIsQueuedOnceHoweverOftenItComes(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		_, id := h.installed(t, "octocat")
		var r runtime
		courier(t, h.World, &r)
		d := githubtest.Delivery{Event: "issue_comment", Body: h.GitHub.CommentPayload(id, githubtest.Hello, 12, "once"), To: hook, ID: guid}
		var sending sync.WaitGroup
		for range 50 {
			sending.Go(func() { h.Deliver(t, d) })
		}
		sending.Wait()
		h.wantWaiting(t, 0, 0)
		if status, _ := h.Deliver(t, d); status != 200 {
			t.Errorf("again, when it is done: %d", status)
		}
		if got := r.got(); len(got) != 1 || r.attempts() != 1 {
			t.Errorf("taken: %v, tried %d times", got, r.attempts())
		}
	})
}

func TestWhatWasPromisedIsPassedOnAfterACrash(t *testing.T) {
	t.Parallel()
	sqldbtest.EachSchema(t, func(t *testing.T, address string) {
		it, hook := accounttest.NewHook(t, address)
		h := &hub{it}
		_, id := h.installed(t, "octocat")
		// One is on disk and was never tried, one was tried and failed, one was claimed by a node that is no more.
		var dead runtime
		dead.refuse(errors.New("no"))
		h.comments(t, hook, id, number(1), "tried")
		stop := courier(t, h.World, &dead)
		accounttest.Eventually(t, "it was tried", func() bool { return dead.attempts() > 0 })
		stop()
		h.comments(t, hook, id, number(2), "claimed")
		h.Execute(t, "UPDATE dispatches SET attempts = 1, next_at = $2 WHERE delivery = $1", number(2), h.Clock.Now().Add(2*time.Minute).UnixMilli())
		h.comments(t, hook, id, number(3), "untried")
		if err := h.DB.Close(); err != nil {
			t.Fatal(err)
		}
		later := accounttest.New(t, address, accounttest.Options{After: h.World, GitHub: h.GitHub.URL})
		var r runtime
		stop = courier(t, later, &r)
		accounttest.Eventually(t, "the untried is taken", func() bool { return len(r.got()) >= 1 })
		accounttest.Eventually(t, "that is on record", func() bool {
			return later.Count(t, "SELECT count(*) FROM dispatches WHERE delivery = $1", number(3)) == 0
		})
		h.Clock.Pass(3 * time.Minute)
		accounttest.Eventually(t, "all are taken", func() bool { return len(r.got()) == 3 })
		h.World = later
		h.wantWaiting(t, 0, 0)
		stop()
		if n := len(r.got()); n != 3 {
			t.Errorf("%d were taken", n)
		}
	})
}

func TestWhileTheRuntimeIsAwayNothingIsLostAndLittleIsTried(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		_, id := h.installed(t, "octocat")
		var r runtime
		r.refuse(fmt.Errorf("%w: nobody listens", installation.ErrAway))
		courier(t, h.World, &r)
		for n := range 40 {
			h.comments(t, hook, id, number(n), "waits")
		}
		takes(400 * time.Millisecond)
		if tried := r.attempts(); tried > 12 {
			t.Errorf("%d attempts at a runtime that is away", tried)
		}
		r.refuse(nil)
		accounttest.Eventually(t, "all are taken", func() bool { return len(r.got()) == 40 })
		h.wantWaiting(t, 0, 0)
	})
}

func TestWhatFailsIsTriedAgainAndGivenUpInTheEnd(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		_, id := h.installed(t, "octocat")
		var r runtime
		r.refuse(fault.New("storage_quota_exceeded", "Full.", ""))
		courier(t, h.World, &r)
		h.comments(t, hook, id, guid, "once more")
		for n := range 12 {
			next := h.Clock.Now().Add(min(time.Second<<n, 10*time.Minute))
			accounttest.Eventually(t, fmt.Sprintf("attempt %d, and the next at %s", n+1, next), func() bool {
				return r.attempts() == n+1 && h.Count(t, "SELECT count(*) FROM dispatches WHERE state = 'queued' AND next_at = $1", next.UnixMilli()) == 1
			})
			h.Clock.Pass(next.Sub(h.Clock.Now()))
			h.Installations.WakeCourier()
		}
		accounttest.Eventually(t, "the last attempt is on record", func() bool {
			return h.Count(t, "SELECT count(*) FROM dispatches WHERE attempts = 13 AND next_at = $1", h.Clock.Now().Add(10*time.Minute).UnixMilli()) == 1
		})
		h.wantWaiting(t, 1, 1)
		h.Clock.Pass(3 * 24 * time.Hour)
		h.Installations.WakeCourier()
		h.givenUp(t, "storage_quota_exceeded")
		// It is kept for a while that it failed, and no longer.
		h.Clock.Pass(31 * 24 * time.Hour)
		if _, err := h.Installations.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.wantWaiting(t, 0, 0)
	})
}

// givenUp wants one delivery to be given up, its workspace told, and its body kept no longer.
func (h *hub) givenUp(t *testing.T, why string) {
	t.Helper()
	accounttest.Eventually(t, "it is given up for "+why, func() bool {
		return h.Count(t, "SELECT count(*) FROM dispatches WHERE state = 'dead' AND trouble = $1", why) == 1
	})
	h.wantWaiting(t, 1, 0)
	if told := h.Actions(t, "users/octocat/personal"); !slices.Contains(told, "delivery.failed") {
		t.Errorf("told: %v", told)
	}
}

func TestWhatWasGivenUpIsPassedOnWhenGitHubTellsItAgain(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		_, id := h.installed(t, "octocat")
		var r runtime
		r.refuse(fmt.Errorf("%w: %w", installation.ErrUndeliverable, fault.Invalid("no")))
		courier(t, h.World, &r)
		d := githubtest.Delivery{Event: "issue_comment", Body: h.GitHub.CommentPayload(id, githubtest.Hello, 12, "again"), To: hook, ID: guid}
		h.Deliver(t, d)
		h.givenUp(t, fault.InvalidRequest)
		if r.attempts() != 1 {
			t.Errorf("%d attempts at what is hopeless", r.attempts())
		}
		r.refuse(nil)
		if status, _ := h.Deliver(t, d); status != 202 {
			t.Errorf("told again: %d", status)
		}
		accounttest.Eventually(t, "it is taken", func() bool { return len(r.got()) == 1 })
		h.wantWaiting(t, 0, 0)
		if status, _ := h.Deliver(t, d); status != 200 {
			t.Errorf("told a third time: %d", status)
		}
	})
}

func TestWhoIsToldTooMuchIsRefusedAndTakesNothingFromOthers(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		_, id := h.installed(t, "octocat")
		_, other := h.installed(t, "hubot")
		h.Installations.SetMostWaiting(3, 5)
		push := func(n int, installation, repository int64) (int, string) {
			return h.Deliver(t, githubtest.Delivery{Event: "push", Body: h.GitHub.PushPayload(installation, repository), To: hook, ID: number(n)})
		}
		for n, want := range []int{202, 202, 202, 400} {
			if status, typ := push(n, id, githubtest.Hello); status != want || status == 400 && typ != fault.Busy {
				t.Errorf("%d of one: %d %s", n, status, typ)
			}
		}
		for n, want := range []int{202, 202, 400} {
			if status, _ := push(10+n, other, githubtest.Scripts); status != want {
				t.Errorf("%d of another: %d", n, status)
			}
		}
		// What the accounts themselves live by always has room.
		if status, _ := h.Deliver(t, githubtest.Delivery{Event: "installation", Body: h.GitHub.InstallationPayload("suspend", other), To: hook}); status != 202 {
			t.Errorf("suspend: %d", status)
		}
		var r runtime
		courier(t, h.World, &r)
		// One that was refused was not promised, and counts when it is told again and there is room.
		accounttest.Eventually(t, "there is room", func() bool {
			status, _ := push(3, id, githubtest.Hello)
			return status == 202
		})
		accounttest.Eventually(t, "it is taken", func() bool { return len(r.got()) == 4 })
		if got := strings.Join(r.got(), " "); strings.Contains(got, "hubot") {
			t.Errorf("of an installation that sleeps: %s", got)
		}
		h.Deliver(t, githubtest.Delivery{Event: "installation", Body: h.GitHub.InstallationPayload("unsuspend", other), To: hook})
		accounttest.Eventually(t, "it is awake", func() bool {
			h.Clock.Pass(time.Second) // an attempt that began while it slept is made again later by this clock
			h.Installations.WakeCourier()
			return len(r.got()) == 6
		})
	})
}

func TestWhatALostWorkspaceWasToldIsDropped(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, h *hub, hook string, id int64){
		"installation deleted": func(t *testing.T, h *hub, hook string, id int64) {
			h.Deliver(t, githubtest.Delivery{Event: "installation", Body: h.GitHub.InstallationPayload("deleted", id), To: hook})
		},
		"workspace suspended": func(t *testing.T, h *hub, _ string, _ int64) {
			h.Execute(t, "UPDATE workspaces SET suspended_at = 1")
		},
		"workspace deleted": func(t *testing.T, h *hub, _ string, _ int64) {
			h.Execute(t, "UPDATE workspaces SET deleted_at = 1")
		},
		"scope given to another": func(t *testing.T, h *hub, _ string, _ int64) {
			h.Execute(t, "UPDATE workspaces SET id = 'wsp_other' WHERE scope = 'users/octocat/personal'")
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHook(t, func(t *testing.T, h *hub, hook string) {
				_, id := h.installed(t, "octocat")
				h.comments(t, hook, id, guid, "too late")
				lose(t, h, hook, id)
				var r runtime
				courier(t, h.World, &r)
				h.wantWaiting(t, 0, 0)
				if r.attempts() != 0 {
					t.Errorf("taken: %v", r.got())
				}
			})
		})
	}
}

func TestWhatIsToldLiesInTheDatabaseSealed(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		_, id := h.installed(t, "octocat")
		h.comments(t, hook, id, number(1), "a plan that nobody may know")
		h.comments(t, hook, id, number(2), "another")
		var text string
		if err := h.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
			return tx.QueryRow("SELECT sealed FROM delivery_bodies WHERE delivery = $1", number(1)).Scan(&text)
		}); err != nil {
			t.Fatal(err)
		}
		plain, _ := base64.StdEncoding.DecodeString(text)
		if strings.Contains(string(plain), "plan") || strings.Contains(text, "plan") || len(plain) < 100 {
			t.Errorf("stored: %s", plain)
		}
		// A body that was moved to another delivery is not believed.
		h.Execute(t, "UPDATE delivery_bodies SET sealed = $2 WHERE delivery = $1", number(2), text)
		var r runtime
		courier(t, h.World, &r)
		accounttest.Eventually(t, "the first is taken", func() bool { return len(r.got()) == 1 })
		h.givenUp(t, fault.Internal)
		if got := r.got(); len(got) != 1 || !strings.HasSuffix(got[0], number(1)) {
			t.Errorf("taken: %v", got)
		}
	})
}
