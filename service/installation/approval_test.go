package installation_test

import (
	"slices"
	"testing"
	"time"

	"svc.dev/svc/service/account/accounttest"
	"svc.dev/svc/service/account/githubtest"
)

// asks is somebody who asked an owner at GitHub for an installation, and waits.
func (h *hub) asks(t *testing.T, login string) installer {
	t.Helper()
	i := h.installer(t, login)
	h.GitHub.RequestInstall(true)
	defer h.GitHub.RequestInstall(false)
	if done, err := i.comeBack(t, i.leave(t)); err != nil || !done.Pending {
		t.Fatalf("%+v, %v", done, err)
	}
	return i
}

// approves delivers that an owner made an installation that somebody had asked for.
func (h *hub) approves(t *testing.T, hook string, body any) {
	t.Helper()
	if status, typ := h.Deliver(t, githubtest.Delivery{Event: "installation", Body: body, To: hook}); status != 202 {
		t.Errorf("approval: %d %s", status, typ)
	}
}

// ids are the installations that a workspace works with, 0 for one that it waits for.
func (i *installer) ids(t *testing.T) (all []int64) {
	t.Helper()
	for _, each := range i.bound(t) {
		all = append(all, each.ID)
	}
	return all
}

func (i *installer) works(t *testing.T, with ...int64) bool {
	t.Helper()
	return slices.Equal(i.ids(t), with)
}

func TestAnApprovalBindsTheInstallationThatWasWaitedFor(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		i := h.asks(t, "octocat")
		eve := h.asks(t, "hubot")
		id := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Acme})
		var r runtime
		courier(t, h.World, &r)
		h.approves(t, hook, h.GitHub.ApprovedPayload(id, githubtest.Octocat))
		accounttest.Eventually(t, "it is bound", func() bool { return i.works(t, id) })
		h.wantWaiting(t, 0, 0)
		if all := i.bound(t); all[0].Account != "acme" || all[0].By != i.Who(t).Account.ID {
			t.Errorf("bound: %+v", all)
		}
		if !eve.works(t, 0) {
			t.Errorf("another's: %v", eve.ids(t))
		}
		if told := h.Actions(t, "users/octocat/personal"); !slices.Equal(told[len(told)-2:], []string{"installation.requested", "installation.bound"}) {
			t.Errorf("told: %v", told)
		}
		// What is told of it from now on is the workspace's.
		h.Deliver(t, githubtest.Delivery{Event: "push", Body: h.GitHub.PushPayload(id, githubtest.Widgets), To: hook})
		accounttest.Eventually(t, "it is passed on", func() bool { return len(r.got()) == 1 })
	})
}

func TestAnApprovalBindsNothingThatIsNotItsPersons(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		eve := h.asks(t, "hubot") // no member of acme
		octo := h.installer(t, "octocat")
		acmes := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Acme})
		named := h.GitHub.ApprovedPayload(acmes, githubtest.Octocat)
		named["requester"] = map[string]any{"id": githubtest.Octocat, "login": "hubot", "type": "User"}
		unnamed := h.GitHub.InstallationPayload("created", acmes)
		foreign := h.GitHub.ApprovedPayload(acmes, githubtest.Hubot)
		foreign["installation"].(map[string]any)["app_id"] = h.App + 1
		late := h.GitHub.ApprovedPayload(acmes, githubtest.Hubot)
		late["action"] = "new_permissions_accepted"
		for name, body := range map[string]any{
			"requested by another": h.GitHub.ApprovedPayload(acmes, githubtest.Octocat), "another of the same name": named, "by nobody": unnamed,
			"of another app": foreign, "not an approval": late,
		} {
			h.approves(t, hook, body)
			if dispatches, _ := h.waiting(t); dispatches != 0 {
				t.Errorf("%s: something is done about it", name)
			}
		}
		// Somebody who asked and is no member of the organization any more gets nothing, however often it is looked at.
		h.approves(t, hook, h.GitHub.ApprovedPayload(acmes, githubtest.Hubot))
		var r runtime
		courier(t, h.World, &r)
		accounttest.Eventually(t, "it is given up", func() bool {
			h.Clock.Pass(time.Minute)
			h.Installations.WakeCourier()
			return h.Count(t, "SELECT count(*) FROM dispatches WHERE state = 'dead' AND trouble = 'installation_not_yours'") == 1
		})
		if !eve.works(t, 0) || len(octo.bound(t)) != 0 {
			t.Errorf("bound: %v, %v", eve.ids(t), octo.ids(t))
		}
		if told := h.Actions(t, "users/hubot/personal"); !slices.Contains(told, "delivery.failed") || slices.Contains(told, "installation.bound") {
			t.Errorf("told: %v", told)
		}
	})
}

func TestAnApprovalIsLookedAtWhenItIsActedOn(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, h *hub, i *installer){
		"role lost": func(t *testing.T, h *hub, i *installer) {
			h.Execute(t, "UPDATE members SET role = 'viewer' WHERE account = $1", i.Who(t).Account.ID)
		},
		"no member": func(t *testing.T, h *hub, i *installer) {
			h.Execute(t, "DELETE FROM members WHERE account = $1", i.Who(t).Account.ID)
		},
		"account suspended": func(t *testing.T, h *hub, i *installer) {
			h.Execute(t, "UPDATE accounts SET suspended_at = 1 WHERE id = $1", i.Who(t).Account.ID)
		},
		"nobody waits": func(t *testing.T, h *hub, _ *installer) {
			h.Execute(t, "DELETE FROM installation_bindings")
		},
		"another waits": func(t *testing.T, h *hub, _ *installer) {
			h.Execute(t, "UPDATE installation_bindings SET account = 'acc_other'")
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHook(t, func(t *testing.T, h *hub, hook string) {
				i := h.asks(t, "octocat")
				id := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Acme})
				h.approves(t, hook, h.GitHub.ApprovedPayload(id, githubtest.Octocat))
				change(t, h, &i)
				courier(t, h.World, &runtime{})
				h.wantWaiting(t, 0, 0)
				if slices.Contains(i.ids(t), id) {
					t.Error("it is bound")
				}
			})
		})
	}
}

func TestWhoWaitsInTwoWorkspacesIsAskedWhichWasMeant(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		i := h.asks(t, "octocat")
		h.Execute(t, `INSERT INTO installation_bindings (workspace, provider, installation, scope, account, created_at)
			VALUES ('wsp_second', 'github', 0, 'users/octocat/second', $1, 1)`, i.Who(t).Account.ID)
		id := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Acme})
		h.approves(t, hook, h.GitHub.ApprovedPayload(id, githubtest.Octocat))
		if dispatches, _ := h.waiting(t); dispatches != 0 || !i.works(t, 0) {
			t.Errorf("%d are done about it, bound %v", dispatches, i.ids(t))
		}
		// They come again, and it is theirs.
		if _, err := i.comeBack(t, i.leaveFor(t, "acme")); err != nil || !i.works(t, id) {
			t.Errorf("bound: %v, %v", i.ids(t), err)
		}
	})
}

func TestAnApprovalWaitsWhileGitHubDoesNotAnswer(t *testing.T) {
	eachHook(t, func(t *testing.T, h *hub, hook string) {
		i := h.asks(t, "octocat")
		id := h.GitHub.AddInstallation(githubtest.Installation{App: h.App, Account: githubtest.Acme})
		for range 3 {
			h.GitHub.FailOnce(accounttest.InstallsRoute, githubtest.Status(503))
		}
		h.approves(t, hook, h.GitHub.ApprovedPayload(id, githubtest.Octocat))
		var r runtime
		courier(t, h.World, &r)
		accounttest.Eventually(t, "it is bound", func() bool {
			h.Clock.Pass(time.Second)
			h.Installations.WakeCourier()
			return i.works(t, id)
		})
		// Told again by another delivery, nothing waits for it any more.
		h.approves(t, hook, h.GitHub.ApprovedPayload(id, githubtest.Octocat))
		h.wantWaiting(t, 0, 0)
		if told := h.Actions(t, "users/octocat/personal"); len(told) == 0 || slices.Contains(told, "delivery.failed") {
			t.Errorf("told: %v", told)
		}
	})
}
